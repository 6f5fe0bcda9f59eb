"""Read the shapes in a command line: the optimization profiles of each input.

The syntax is ``--minShapes=x:1x3x224x224,y:1``:

- ``x:scalar`` and ``x:`` are scalars.
- Names may be quoted and may contain one ``*``.
- ``--profile=N`` begins another profile.
- ``--shapes=x:1x3`` sets a profile for exactly this shape. It has no effect together with ``--minShapes``,
  ``--optShapes`` or ``--maxShapes``.

https://github.com/NVIDIA/TensorRT/blob/v10.16/samples/common/sampleOptions.cpp

ONNX Runtime uses the same syntax. If no shapes are given, ONNX Runtime builds for the shapes of the inputs at
run time.
https://onnxruntime.ai/docs/execution-providers/TensorRT-ExecutionProvider.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from trtlint.buildcommand.command import BuildCommand, matches

Bound = Literal["min", "opt", "max"]
Shape = tuple[int, ...]

_BOUNDS: Mapping[str, tuple[Bound, ...]] = {
    "--minShapes": ("min",),
    "--optShapes": ("opt",),
    "--maxShapes": ("max",),
    "trt_profile_min_shapes": ("min",),
    "trt_profile_opt_shapes": ("opt",),
    "trt_profile_max_shapes": ("max",),
    "nv_profile_min_shapes": ("min",),
    "nv_profile_opt_shapes": ("opt",),
    "nv_profile_max_shapes": ("max",),
}
_ANY: tuple[Bound, ...] = ("min", "opt", "max")
_PROFILE = re.compile(r"\d{1,9}")
_DIMENSIONS = re.compile(r"\d{1,19}(?:x\d{1,19})*")
"""Pattern of sizes such as ``1x3x224x224``.  TensorRT stores each size in 64 bits."""


class ShapeSpec(Struct, frozen=True):
    """The shapes of one input in one profile.

    Attributes:
        name: the name of the input as written, possibly with a ``*``.
        profile: index of the optimization profile.
        min: the smallest shape; None if unset.
        opt: the shape for which the builder optimizes; None if unset.
        max: the largest shape; None if unset.
        options: the options that set these shapes, such as ``--minShapes``.
    """

    name: str
    profile: int
    min: Shape | None
    opt: Shape | None
    max: Shape | None
    options: tuple[str, ...]

    @property
    def varies(self) -> bool:
        """True if the smallest and the largest shape differ."""
        return self.min is not None and self.max is not None and self.min != self.max

    def means(self, name: str) -> bool:
        """Return whether the shapes are for the input ``name``."""
        return matches(name, self.name)


class Shapes(Struct, frozen=True):
    """The shapes in a command.

    Attributes:
        specs: the shapes of each input in each profile, in order.
        complete: whether all shapes are known. False if a shape is a variable or unreadable, or if the inputs
            at run time decide the shapes.
        unreadable: values that are not shapes, as written.
    """

    specs: tuple[ShapeSpec, ...]
    complete: bool
    unreadable: tuple[str, ...]


def shapes_of(command: BuildCommand) -> Shapes:
    """Return the shapes for which a command builds. ``--minShapes`` and the like override ``--shapes``."""
    found: dict[tuple[int, str], dict[Bound, Shape]] = {}
    options: dict[tuple[int, str], dict[str, None]] = {}
    unreadable: list[str] = []
    complete = command.complete and command.tool not in ("triton", "onnxruntime")
    profile = 0
    own = any(option.name in _BOUNDS for option in command.options)
    for option in command.options:
        if option.name == "--profile" and _PROFILE.fullmatch(option.value or ""):
            profile = int(option.value or 0)
        bounds = _BOUNDS.get(option.name)
        if bounds is None and option.name == "--shapes" and not own:
            bounds = _ANY
        if bounds is None:
            continue
        complete &= option.known
        for part in _parts(option.value or ""):
            name, shape = _read(part)
            if shape is None:
                unreadable.append(f"{option.name}={part}")
                continue
            key = profile, name
            found.setdefault(key, {}).update(dict.fromkeys(bounds, shape))
            options.setdefault(key, {})[option.name] = None
    specs = (
        ShapeSpec(name, index, by.get("min"), by.get("opt"), by.get("max"), tuple(options[index, name]))
        for (index, name), by in found.items()
    )
    return Shapes(tuple(specs), complete and not unreadable, tuple(unreadable))


def read_shapes(text: str) -> list[tuple[str, Shape | None]]:
    """Parse ``x:1x3,y:1`` to names and shapes.  An unreadable shape is None."""
    return [_read(part) for part in _parts(text)]


def _parts(value: str) -> list[str]:
    """Split a text at its commas, except inside single quotes."""
    return [part.strip() for part in re.findall(r"(?:'[^']*'|[^,])+", value) if part.strip()]


def _read(part: str) -> tuple[str, Shape | None]:
    """Parse ``x:1x3`` to a name and a shape.  An unreadable shape is None."""
    name, colon, dims = part.rpartition(":")
    if not colon:
        return part.strip("'"), None
    name = name.strip().strip("'\"")
    if dims in ("", "scalar"):
        return name, ()
    if not _DIMENSIONS.fullmatch(dims):
        return name, None
    return name, tuple(int(size) for size in dims.split("x"))
