"""Suggest an optimization profile for a model with dynamic inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trtlint.dry_build.shapes import Input, choices
from trtlint.knowledge.frontends import FrontEnd
from trtlint.model.graph import Value

_INTEGERS = frozenset({"i8", "u8", "i32", "i64", "bool"})
_MOST = 8
"""Largest number of inputs in a suggested profile.  A message with more inputs would be unreadable."""


def dynamic_inputs(inputs: Sequence[Value]) -> tuple[Value, ...]:
    """Return the inputs with at least one dynamic dimension.  Inputs of unknown rank are left out."""
    return tuple(value for value in inputs if value.shape is not None and not value.is_static)


def in_brackets(value: Value) -> str:
    """Format an input with its shape, such as ``x[b,3,8,8]``."""
    dims = ",".join("?" if dim is None else str(dim) for dim in value.shape or ())
    return f"{value.name}[{dims}]"


def profile_options(inputs: Sequence[Value], program: FrontEnd) -> str:
    """Return the options that add an optimization profile to a build with ``program``.

    ``program`` is, for example, trtexec.

    trtlint guesses the shapes in the profile.  The result is an empty string if no input is dynamic, or if
    the profile would have too many inputs.
    """
    dynamic = dynamic_inputs(inputs)
    if not dynamic or len(dynamic) > _MOST:
        return ""
    choice = next(choices([_input(value) for value in dynamic], ()))
    shapes = ((name, shape) for name, (_, shape, _) in choice.shapes.items())
    return _options(shapes, program)


def example_profile(program: FrontEnd) -> str:
    """Return the options of ``program`` for an optimization profile of an example input."""
    return _options([("x", (1, 3, 224, 224))], program)


def _options(shapes: Iterable[tuple[str, Sequence[int]]], program: FrontEnd) -> str:
    """Format the shapes of inputs as options for a program such as trtexec."""
    texts = (
        program.shape.replace("{x}", "x".join(map(str, shape)))
        .replace("{list}", _comma(shape, program))
        .replace("{name}", _quoted(name))
        for name, shape in shapes
    )
    return program.profile.replace("{shapes}", program.joined.join(texts))


def _comma(shape: Sequence[int], program: FrontEnd) -> str:
    """Join sizes with commas.  For Python programs, add a comma after a single size, as in a tuple."""
    text = ",".join(map(str, shape))
    return f"{text}," if len(shape) == 1 and "({list})" in program.shape else text


def _input(value: Value) -> Input:
    shape = value.shape or ()
    return Input(
        name=value.name,
        dims=tuple(dim if isinstance(dim, int) else -1 for dim in shape),
        symbols=tuple(dim if isinstance(dim, str) else None for dim in shape),
        integer=value.dtype in _INTEGERS,
        is_shape=False,
    )


def _quoted(name: str) -> str:
    """Put quotes around an input name that contains a colon, a comma or a space.

    trtexec requires these quotes.
    """
    return f"'{name}'" if any(mark in name for mark in ":, ") else name
