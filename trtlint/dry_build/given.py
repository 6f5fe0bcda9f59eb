"""Collect the input shapes that the user gives for a dry build.

Sources are options, arguments of the Python API and build commands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trtlint.buildcommand.command import BuildCommand
from trtlint.buildcommand.shapes import Shape, shapes_of
from trtlint.dry_build.shapes import ShapeRange


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
