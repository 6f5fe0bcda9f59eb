"""Collect the input shapes that the user gives for a dry build.

Sources are options, arguments of the Python API and build commands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from trtlint.buildcommand.command import BuildCommand, matches
from trtlint.buildcommand.shapes import Shape, shapes_of
from trtlint.dry_build.shapes import ShapeRange
from trtlint.files.problem import first_few
from trtlint.model.elements import Value

_SHOWN = 4
"""Maximum number of inputs in a message."""


def fixed_shapes(shapes: Iterable[tuple[str, Shape]]) -> Iterator[ShapeRange]:
    """Yield a range for each input shape that the user gave by name.

    The smallest, usual and largest shape of a range are equal.
    """
    for name, shape in shapes:
        yield ShapeRange(name, (shape, shape, shape))


def command_shapes(command: BuildCommand | None) -> Iterator[ShapeRange]:
    """Yield the shapes in the first profile of a build command. Yield nothing if there is no command."""
    if command is None:
        return
    specs = shapes_of(command).specs
    for spec in specs:
        usual = spec.opt or spec.max or spec.min
        if usual is not None and spec.profile == specs[0].profile:
            yield ShapeRange(spec.name, (spec.min or usual, usual, spec.max or usual))


def wrong_shape(shapes: Iterable[ShapeRange], inputs: Sequence[Value], *, named: bool = True) -> str:
    """Return an error about the first shape that contradicts the inputs of a model, or an empty text.

    An integer input with at most one dimension may be a shape tensor.  Its shape is not checked, because the
    user then gives the values of the tensor.

    Args:
        shapes: the shapes that the user gave.
        inputs: the inputs of the model.
        named: True if each shape must belong to an input of this model.
    """
    for given in shapes:
        found = [value for value in inputs if matches(value.name, given.name)]
        size = "x".join(map(str, given.shapes[1]))
        if not found and named:
            known = first_few([value.name for value in inputs], _SHOWN) or "none"
            return f"{given.name}:{size}: the model has no input {given.name!r}; its inputs: {known}"
        for value in found:
            if not _may_have(value, given.shapes[1]):
                return (
                    f"{given.name}:{size}: the model expects {value.type_text} for the input {value.name!r}"
                )
    return ""


def _may_have(value: Value, shape: Shape) -> bool:
    dims = value.shape
    if dims is None or (len(dims) < 2 and value.dtype not in ("f32", "f16", "bf16", "f64")):
        return True
    same = (
        not isinstance(dim, int) or dim < 0 or dim == size for dim, size in zip(dims, shape, strict=False)
    )
    return len(dims) == len(shape) and all(same)
