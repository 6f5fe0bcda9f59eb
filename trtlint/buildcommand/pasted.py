"""Recognize calls of Torch-TensorRT that the user gives as text in ``--build``.

Every command with ``--build`` imports this module, so it does not import the reader of scripts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

IMPORTS: Mapping[str, str] = {
    "torch": "torch",
    "torch_tensorrt": "torch_tensorrt",
    "torchtrt": "torch_tensorrt",
    "torch_trt": "torch_tensorrt",
    "trt": "torch_tensorrt",
}
"""Imports that are assumed if the user gives only the text of a call."""
_CALL = re.compile(
    rf"\b(?:{'|'.join(IMPORTS)})(?:\.\w+){{0,4}}"
    r"\.(?:\w*compile\w*|convert_\w+_trt_engine|MutableTorchTensorRTModule)\s{0,20}\("
)


def is_call(text: str) -> bool:
    """Return whether the value of ``--build`` is a call of Torch-TensorRT instead of a file or a command."""
    return _CALL.search(text) is not None
