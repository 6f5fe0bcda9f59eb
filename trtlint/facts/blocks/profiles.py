"""Missing optimization profile of a model with dynamic inputs."""

from __future__ import annotations

from collections.abc import Sequence

from trtlint.dry_build.shapes import Input, choices
from trtlint.model.graph import Value

_INTEGERS = frozenset({"i8", "u8", "i32", "i64", "bool"})
_MOST = 8
"""Largest number of inputs in a suggested profile; a longer one is not readable in a message."""


def dynamic_inputs(inputs: Sequence[Value]) -> tuple[Value, ...]:
    """Return the inputs of known rank with a dimension whose size is not in the file."""
    return tuple(
        value
        for value in inputs
        if value.shape is not None and any(not isinstance(dim, int) for dim in value.shape)
    )


def in_brackets(value: Value) -> str:
    """Format an input with its shape: ``x[b,3,8,8]``."""
    dims = ",".join("?" if dim is None else str(dim) for dim in value.shape or ())
    return f"{value.name}[{dims}]"


def likely_shapes(inputs: Sequence[Value]) -> str:
    """Return likely shapes of dynamic inputs in trtexec's format: ``x:1x3x8x8,ids:1x128``.

    Empty if there are none, or too many.
    """
    dynamic = dynamic_inputs(inputs)
    if not dynamic or len(dynamic) > _MOST:
        return ""
    choice = next(choices([_input(value) for value in dynamic], ()))
    shapes = ((name, shape) for name, (_, shape, _) in choice.shapes.items())
    return ",".join(f"{_quoted(name)}:{'x'.join(map(str, shape))}" for name, shape in shapes)


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
    """Quote a name with a colon or a comma, as trtexec requires."""
    return f"'{name}'" if any(mark in name for mark in ":, ") else name
