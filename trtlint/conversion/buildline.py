"""Write the command that builds a converted model, and find targets that cannot build the model.

https://docs.nvidia.com/deeplearning/tensorrt/latest/reference/command-line-programs.html
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from trtlint.buildcommand import BuildCommand
from trtlint.facts.blocks.sizes import shape_text
from trtlint.knowledge.flags import flag_histories
from trtlint.knowledge.gpus import architecture
from trtlint.measurement.formats import FORMATS
from trtlint.model.graph import Value
from trtlint.target.parsing import typing_of
from trtlint.target.target import Target

_WEAK = "<11.0"
_STRONGLY_TYPED = "--stronglyTyped"
_TYPES = frozenset({"precision", "calibration", "layer-precision"})
"""Groups of options that set types. They are omitted, because a converted model already has its types."""
_DROPPED = frozenset({"--onnx", "--loadEngine", _STRONGLY_TYPED, "--inputIOFormats", "--outputIOFormats"})
_SHAPES = ("--minShapes", "--optShapes", "--maxShapes")


def unbuildable(type_: str, targets: Iterable[Target]) -> str:
    """Return why a target cannot build a converted model, or an empty text if no target is known to fail.

    Args:
        type_: ``fp16`` or ``bf16``.
        targets: the targets.
    """
    label = FORMATS[type_].label
    for target in targets:
        if typing_of(target.version, target.product) == "weak":
            since = flag_histories()[_STRONGLY_TYPED].since
            strong = "strongly typed networks"
            lacks = f"neither {strong} nor BF16" if type_ == "bf16" else f"no {strong}"
            return (
                f"{target.words} has {lacks}; convert for TensorRT {since} or newer, or build the FP32 model "
                "with --fp16"
            )
        gpu = None if target.sm is None else architecture(target.sm)
        if type_ == "bf16" and gpu is not None and gpu.bf16 is False:
            return f"{target.words}: this GPU does not compute in {label}; use --to fp16"
    return ""


def build_line(targets: Sequence[Target], command: BuildCommand | None = None) -> str:
    """Return the build command for the first target, with the placeholder ``{model}`` for the file.

    Before TensorRT 11, the command needs ``--stronglyTyped`` for a strongly typed network.

    Args:
        targets: the targets.
        command: the build command of the source model; None if unknown. Its options are kept, except options
            that set types.
    """
    target = next(iter(targets), None)
    words = ["trtexec", "--onnx={model}"]
    if target is not None and target.product == "tensorrt-rtx":
        words[0] = "tensorrt_rtx"
    elif target is None or target.version is None or target.matches(_WEAK, "tensorrt") is True:
        words.append(_STRONGLY_TYPED)
    if command is not None and command.tool in ("trtexec", "tensorrt_rtx"):
        words += [shlex.quote(option.text) for option in command.options if _is_kept(option.name)]
    return " ".join(words)


def _is_kept(option: str) -> bool:
    history = flag_histories().get(option)
    return option not in _DROPPED and (history is None or history.group not in _TYPES)


def with_shapes(command: str, inputs: Iterable[Value]) -> str:
    """Add the options for the shapes of dynamic inputs to a build command that sets no shapes.

    The sizes are the names of the dynamic dimensions, and ``?`` for a dimension without a name.
    """
    dynamic = [value for value in inputs if not value.is_static]
    if not command or not dynamic or "hapes=" in command:
        return command
    shapes = ",".join(f"{value.name}:{shape_text(value.shape or ('?',))}" for value in dynamic)
    return " ".join([command, *(shlex.quote(f"{option}={shapes}") for option in _SHAPES)])
