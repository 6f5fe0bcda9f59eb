"""Recognize log messages of TensorRT 7 and older.

TensorRT 8 writes the call and the source line of an error in brackets.  Older releases write errors in two
other forms.

In the first form, the source file and the line are before a dash
(https://github.com/NVIDIA/TensorRT/issues/948): ``../rtSafe/safeRuntime.cpp (25) - Cuda Error in allocate``

In the second form, only the layer is before the error (https://github.com/GeekAlexis/FastMOT/issues/27):
``(Unnamed Layer* 486) [Shuffle]: at most one dimension may be inferred``
"""

from __future__ import annotations

import re

_FORM = re.compile(
    r"\.(?:cpp|cc|cu|h) \(\d{1,6}\) - (?:[A-Z]\w{0,20} )?[Ee]rror in "
    r"|[/\\](?:rel-|release[/\\])[2-7]\.\d"
    r"|Parameter check failed at: \.\./"
    r"|^\(Unnamed Layer\* \d{1,6}\) \[\w{1,30}\]: "
)
_FIRST = 8
"""The first major release that writes the call and the source line of an error in brackets."""


def is_old(message: str, version: str | None, product: str | None = None) -> bool:
    """Return whether a release before TensorRT 8 printed a message.

    ``version`` is the release that the log names.  If ``version`` is None, the form of the message decides.
    No release of TensorRT-RTX is old, because TensorRT-RTX 1.0 is newer than TensorRT 8.
    """
    if product == "tensorrt-rtx":
        return False
    major = (version or "").partition(".")[0]
    if major.isdecimal():
        return int(major[:4]) < _FIRST
    return _FORM.search(message) is not None
