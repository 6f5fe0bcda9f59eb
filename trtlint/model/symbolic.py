"""Dimensions that shape inference leaves open, from the arithmetic on shapes that a file spells out.

``Reshape`` to ``[b, 2, n, -1]``, put together from ``Shape``, ``Slice`` and ``Concat``, is where
exporters lose a size: ONNX's inference gives up on a shape with symbolic parts.  Here names of
dynamic dimensions are carried along, and cancel.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from trtlint.model.folding import ma
from trtlint.model.graph import Node, Value
from trtlint.model.protos import Dimension
from trtlint.model.values import Constants

Dimensions = tuple[Dimension, ...]

_DEEPEST = 24
"""How far operators are followed; the longest chain that an exporter writes has half that length."""
_MOST_DIMENSIONS = 16
_SAME_SHAPE = frozenset(
    {
        *("Identity", "Cast", "Neg", "Relu", "Abs", "Sqrt", "Cos", "Sin", "Sigmoid", "Tanh", "Clip"),
        *(
            "BatchNormalization",
            "GroupNormalization",
            "InstanceNormalization",
            "LayerNormalization",
            "Softmax",
        ),
    }
)


def dimensions(value: Value, constants: Constants) -> Dimensions | None:
    """The shape of a value, with what can be told beyond ONNX's inference; None where it has no rank."""
    shape = value.shape
    if shape is not None and None not in shape:
        return shape
    return _Walk(constants).shape(value, 0)


class _Walk:
    """One look upstream; every value is looked at once."""

    def __init__(self, constants: Constants) -> None:
        self.constants = constants
        self._shapes: dict[Value, Dimensions | None] = {}
        self._elements: dict[Value, Dimensions | None] = {}

    def shape(self, value: Value, depth: int) -> Dimensions | None:
        """The dimensions of a value."""
        if value not in self._shapes:
            known, node = value.shape, value.producer
            told: Dimensions | None = None
            if (known is None or None in known) and node is not None and not node.domain and depth < _DEEPEST:
                told = self._shape_of(node, depth + 1)
            self._shapes[value] = known if told is None else told
        return self._shapes[value]

    def elements(self, value: Value | None, depth: int) -> Dimensions | None:
        """The elements of a tensor of sizes: numbers, names of dimensions, None for unknown ones."""
        if value is None:
            return None
        if value not in self._elements:
            array = self.constants.array(value)
            found: Dimensions | None = None
            if array is not None and not ma.is_masked(array):
                found = tuple(int(x) for x in array.reshape(-1)) if array.dtype.kind in "iu" else None
            elif value.producer is not None and not value.producer.domain and depth < _DEEPEST:
                found = self._elements_of(value.producer, depth + 1)
            self._elements[value] = found
        return self._elements[value]

    def _shape_of(self, node: Node, depth: int) -> Dimensions | None:
        before = node.input(0)
        data = None if before is None else self.shape(before, depth)
        if node.op == "ConstantOfShape":
            return self._sizes(before, depth)
        if node.op == "Reshape":
            return (None if data is None else self._reshaped(node, data, depth)) or self._sizes(
                node.input(1), depth, known=False
            )
        if data is None:
            return None
        if node.op in _SAME_SHAPE:
            return data
        if node.op == "Gather":
            indices, axis = node.input(1), node.attribute("axis", 0)
            single = indices is not None and indices.rank == 0 and -len(data) <= axis < len(data)
            return data[: axis % len(data)] + data[axis % len(data) + 1 :] if single else None
        if node.op == "Unsqueeze":
            axes = node.attribute("axes") or self.elements(node.input(1), depth)
            return (
                None if axes is None else _unsqueezed(data, [axis for axis in axes if isinstance(axis, int)])
            )
        if node.op == "Concat":
            parts = [None if v is None else self.shape(v, depth) for v in node.inputs]
            return _concatenated([part for part in parts if part is not None], len(parts), node)
        return None

    def _sizes(self, shape: Value | None, depth: int, *, known: bool = True) -> Dimensions | None:
        """The dimensions that a tensor of sizes asks for, or no more than how many there are."""
        sizes = self.elements(shape, depth) if known else None
        if sizes is not None:
            return sizes
        dims = None if shape is None else self.shape(shape, depth)
        count = dims[0] if dims is not None and len(dims) == 1 else None
        return (None,) * count if isinstance(count, int) and count <= _MOST_DIMENSIONS else None

    def _reshaped(self, node: Node, data: Dimensions, depth: int) -> Dimensions | None:
        target = self.elements(node.input(1), depth)
        if target is None or None in target or 0 in target or target.count(-1) > 1:
            return None
        if -1 not in target:
            return target
        size = _quotient(data, [dim for dim in target if dim != -1])
        return tuple(size if dim == -1 else dim for dim in target)

    def _elements_of(self, node: Node, depth: int) -> Dimensions | None:
        if node.op == "Shape":
            before = node.input(0)
            data = None if before is None else self.shape(before, depth)
            return None if data is None else data[slice(node.attribute("start", 0), node.attribute("end"))]
        parts = [self.elements(value, depth) for value in node.inputs]
        if not parts or parts[0] is None:
            return None
        if node.op in ("Identity", "Cast", "Unsqueeze", "Squeeze"):
            return parts[0]
        if node.op == "Concat":
            return tuple(dim for part in parts for dim in part or ()) if None not in parts else None
        if node.op == "Gather":
            return _gathered(parts[0], parts[1])
        return _sliced(parts[0], parts[1:]) if node.op == "Slice" else None


def _unsqueezed(data: Dimensions, axes: list[int]) -> Dimensions:
    rank = len(data) + len(axes)
    rest, new = iter(data), {axis % rank for axis in axes}
    return tuple(1 if axis in new else next(rest, None) for axis in range(rank))


def _concatenated(parts: list[Dimensions], count: int, node: Node) -> Dimensions | None:
    axis = node.attribute("axis", 0)
    if len(parts) < count or len({len(part) for part in parts}) != 1 or not parts[0]:
        return None
    sizes = [part[axis % len(part)] for part in parts]
    known = [size for size in sizes if isinstance(size, int)]
    total: Dimension = sum(known) if len(known) == len(sizes) else None
    if total is None and None not in sizes and len(sizes) > 1:
        total = "+".join(map(str, sizes))
    return tuple(total if i == axis % len(parts[0]) else dim for i, dim in enumerate(parts[0]))


def _gathered(data: Dimensions, indices: Dimensions | None) -> Dimensions | None:
    known = [i for i in indices or () if isinstance(i, int) and -len(data) <= i < len(data)]
    return tuple(data[i] for i in known) if indices is not None and len(known) == len(indices) else None


def _sliced(data: Dimensions, bounds: list[Dimensions | None]) -> Dimensions | None:
    """``Slice`` of a vector; its axes can only be 0."""
    numbers = [bound[0] if bound and isinstance(bound[0], int) else None for bound in bounds]
    if len(numbers) < 2 or numbers[0] is None or numbers[1] is None:
        return None
    step = numbers[3] if len(numbers) > 3 else 1
    return data[numbers[0] : numbers[1] : step] if isinstance(step, int) and step > 0 else None


def _quotient(dividend: Dimensions, divisor: list[Dimension]) -> int | None:
    """The product of some dimensions through that of others, None where it cannot be told."""
    if None in dividend or _names(dividend) != _names(divisor):
        return None
    number = math.prod(dim for dim in dividend if isinstance(dim, int))
    through = math.prod(dim for dim in divisor if isinstance(dim, int))
    return number // through if through and number % through == 0 else None


def _names(dims: Iterable[Dimension]) -> Counter[str]:
    return Counter(dim for dim in dims if isinstance(dim, str))
