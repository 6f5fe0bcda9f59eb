"""Releases by the lines of the library's source that its errors give.

An error names the line that it comes from, and that line moves with every release.  Excerpts that say
nothing else of what they were built with can be dated by it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_SEARCHED = 1500
"""Characters of a message that are looked at."""
_OPTIMIZER = re.compile(r"\[optimizer\.cpp::(?:[\w:]{0,120}::)?computeCosts::(\d{1,6})\]")
_GENERATOR = re.compile(r"/codeGenerator\.cpp:(\d{1,6})\b")

_COMPUTE_COSTS: Mapping[str, str] = {
    "3728": "8.5",  # https://github.com/NVIDIA/TensorRT/issues/2881
    "3869": "8.6.1",  # https://github.com/DataXujing/YOLOv7/issues/11
}
"""The line of ``Could not find any implementation``, which TensorRT 8 and 9 give so; from 10.0 on errors give
the call in its place, and TensorRT for RTX never gave it.  Line 2011 is that of 8.2 and of 8.4.0 alike:
https://github.com/xuanandsix/CLRNet-onnxruntime-and-tensorrt-demo/issues/5."""
_COMPILE_GRAPH: Mapping[str, Mapping[str, str]] = {
    "1783": {"tensorrt": "10.16", "tensorrt-rtx": "1.4.0"},
    "1825": {"tensorrt": "11.0.0", "tensorrt-rtx": "1.5.0"},
    "1962": {"tensorrt-rtx": "1.6.1"},
    "2012": {"tensorrt-rtx": "1.7.1"},
}
"""The line of exceptions of Myelin, which both products share: the release of each, where it is known.
Printed by the wheels of these releases, https://pypi.org/project/tensorrt-rtx-cu12-libs/ for one."""


def release_of(message: str) -> Mapping[str, str]:
    """The releases whose source has the line that an error gives, by product.

    A release that is not known is empty; there is no product where the message gives no such line.
    """
    text = message[:_SEARCHED]
    if found := _OPTIMIZER.search(text):
        return {"tensorrt": _COMPUTE_COSTS.get(found[1], "")}
    found = _GENERATOR.search(text)
    return _COMPILE_GRAPH.get(found[1], {}) if found else {}
