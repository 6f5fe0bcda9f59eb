"""Count the elements and bytes of tensors, in the file and at the largest shapes of the build command."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from math import isfinite, prod

from trtlint.buildcommand import BuildCommand
from trtlint.buildcommand.shapes import shapes_of
from trtlint.model.graph import Value
from trtlint.model.load import Model
from trtlint.model.protos import Dimension, ElementType

_BITS: Mapping[ElementType, int] = {
    "f32": 32, "u8": 8, "i8": 8, "u16": 16, "i16": 16, "i32": 32, "i64": 64, "bool": 8, "f16": 16,
    "f64": 64, "u32": 32, "u64": 64, "c64": 64, "c128": 128, "bf16": 16, "f8e4m3fn": 8,
    "f8e4m3fnuz": 8, "f8e5m2": 8, "f8e5m2fnuz": 8, "u4": 4, "i4": 4, "f4e2m1": 4,
}  # fmt: skip
_LONGEST = 200
"""Largest number of characters in a dimension name that trtlint parses as an expression, such as ``2*N``."""


def bits_of(dtype: ElementType | None) -> int | None:
    """Return the number of bits of one element, or None for strings and for an unknown type."""
    return None if dtype is None else _BITS.get(dtype)


def elements_of(value: Value) -> int | None:
    """Return the number of elements of a tensor, or None if a dimension is unknown."""
    return _count(value.shape)


def bytes_of(value: Value) -> int | None:
    """Return the size of a tensor in bytes, or None if it is unknown."""
    return _in_bytes(elements_of(value), value.dtype)


def static_size(dim: Dimension) -> int | None:
    """Return the size of a dimension, or None if the file does not contain the size."""
    return dim if isinstance(dim, int) else None


def total(sizes: Iterable[int | None]) -> int | None:
    """Return the sum of several sizes, or None if a size is unknown."""
    every = tuple(sizes)
    known = [size for size in every if size is not None]
    return sum(known) if len(known) == len(every) else None


def ratio(part: int, base: int) -> float | None:
    """Return ``part`` divided by ``base``, or None if the result is too large for a float."""
    try:
        return part / base
    except OverflowError:
        return None


def whole(number: float | None) -> int | None:
    """Return the integer part of a number, or None if the number is unknown, infinite or NaN."""
    return int(number) if number is not None and isfinite(number) else None


def shape_text(shape: Iterable[Dimension]) -> str:
    """Format a shape, such as ``batchx3x224x224``.  ``?`` is a dynamic dimension without a name."""
    return "x".join("?" if dim is None else str(dim) for dim in shape) or "scalar"


class Sizes:
    """The sizes of a model's tensors at the largest input shapes that the build command gives.

    If the build command gives no shape for an input, the sizes of this input come from the model file.
    """

    def __init__(self, model: Model, command: BuildCommand | None) -> None:
        self._model = model
        self._command = command

    @cached_property
    def _largest(self) -> tuple[Mapping[str, int], Mapping[Value, tuple[Dimension, ...]]]:
        """Return two mappings: the largest size by dimension name, and the largest shape by input."""
        names: dict[str, int] = {}
        shapes: dict[Value, tuple[Dimension, ...]] = {}
        command = self._command
        if command is None or not command.builds:
            return names, shapes
        specs = shapes_of(command).specs
        for value in self._model.graph.inputs:
            declared = value.shape
            for spec in specs:
                if declared is None or spec.max is None or not spec.means(value.name):
                    continue
                if len(spec.max) != len(declared):
                    continue
                before = shapes.get(value, declared)
                merged = (_larger(a, b, c) for a, b, c in zip(declared, before, spec.max, strict=True))
                shapes[value] = tuple(merged)
                for dim, size in zip(declared, shapes[value], strict=True):
                    if isinstance(dim, str) and isinstance(size, int):
                        names[dim] = max(size, names.get(dim, 0))
        return names, shapes

    def shape(self, value: Value) -> tuple[int | None, ...] | None:
        """Return the largest shape of a value, or None if its rank is unknown.

        In the shape, a size is None if it is unknown.
        """
        names, shapes = self._largest
        dims = shapes.get(value) or self._model.constants.dimensions(value)
        return None if dims is None else tuple(_size(dim, names) for dim in dims)

    def elements(self, value: Value) -> int | None:
        """Return the largest number of elements of a value, or None if it is unknown."""
        return _count(self.shape(value))

    def bytes(self, value: Value) -> int | None:
        """Return the largest number of bytes of a value, or None if it is unknown."""
        return _in_bytes(self.elements(value), value.dtype)


def _larger(declared: Dimension, before: Dimension, size: int) -> Dimension:
    if isinstance(declared, int):
        return declared
    return max(size, before) if isinstance(before, int) else size


def _size(dim: Dimension, names: Mapping[str, int]) -> int | None:
    """Return the largest size of a dimension, or None if it is unknown.

    The dimension may be an expression such as ``N+N`` or ``2*N``.  ``names`` contains the largest size of
    each name, such as ``N``.
    """
    if isinstance(dim, int) or dim is None:
        return dim
    if dim in names:
        return names[dim]
    if not names or len(dim) > _LONGEST:
        return None
    terms = [[_factor(word.strip(), names) for word in term.split("*")] for term in dim.split("+")]
    if any(factor is None for term in terms for factor in term):
        return None
    return sum(prod(factor for factor in term if factor is not None) for term in terms)


def _factor(word: str, names: Mapping[str, int]) -> int | None:
    return int(word) if word.isascii() and word.isdigit() else names.get(word)


def _count(shape: Iterable[Dimension] | None) -> int | None:
    if shape is None:
        return None
    dims = tuple(shape)
    sizes = [dim for dim in dims if isinstance(dim, int)]
    return prod(sizes) if len(sizes) == len(dims) else None


def _in_bytes(count: int | None, dtype: ElementType | None) -> int | None:
    bits = bits_of(dtype)
    return None if count is None or bits is None else (count * bits + 7) // 8
