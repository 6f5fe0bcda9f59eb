"""Write the command that builds a converted model.

https://docs.nvidia.com/deeplearning/tensorrt/latest/reference/command-line-programs.html
"""

from __future__ import annotations

from collections.abc import Sequence

from trtlint.target.target import Target

_WEAK = "<11.0"


def build_line(targets: Sequence[Target]) -> str:
    """Return the build command for the first target, with the placeholder ``{model}`` for the file.

    Before TensorRT 11, the command needs ``--stronglyTyped`` for a strongly typed network.
    """
    target = next(iter(targets), None)
    if target is not None and target.product == "tensorrt-rtx":
        return "tensorrt_rtx --onnx={model}"
    if target is not None and target.version is not None and target.matches(_WEAK, "tensorrt") is not True:
        return "trtexec --onnx={model}"
    return "trtexec --onnx={model} --stronglyTyped"
