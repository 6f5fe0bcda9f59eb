"""Split a matrix product that computes Q, K and V together into three products.

The new products may have different types. If the attention scores are large, Q and K need FP32, but V does
not. Each new product computes some columns of the old product, so the results in FP32 do not change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from trtlint.fixes.patch import MOST_ELEMENTS, Draft, NotApplicable, Patch
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.payload import Array

_MATRIX = 2
_MOST_PARTS = 8
SINCE = 13
"""The first opset in which the sizes of Split and the axes of Squeeze are inputs."""

_Write = Callable[[Draft, str], object]
"""Function that gets the name of a new product's result, and inserts the operators that read this result."""


class _Columns(Struct, frozen=True):
    """The columns that a new product computes, and a function that inserts the readers of these columns.

    Attributes:
        begin, end: the range of columns in the old product.
        write: function that gets the name of the new product's result, and inserts the operators that read
            this result.
    """

    begin: int
    end: int
    write: _Write


class _Split(Struct, frozen=True):
    """The matrix products that replace one larger matrix product.

    Attributes:
        parts: the columns of each new product.
        removed: the operators after the old product that are no longer needed.
    """

    parts: Sequence[_Columns]
    removed: Sequence[Node]


def split_product(node: Node, model: Model) -> Patch:
    """Create a patch that replaces a product by several products.

    The patch also replaces the Split or the Gathers after the product.

    Raises:
        NotApplicable: the result of the product is not split into columns.
    """
    weights = _stored(node.input(1), model)
    transposed = node.op == "Gemm" and bool(node.number("transB", 0))
    if node.op not in ("MatMul", "Gemm") or weights is None or weights.ndim != _MATRIX or not weights.size:
        raise NotApplicable("the second operand of the matrix product is not a stored matrix")
    if node.op == "Gemm" and (node.number("transA", 0), node.number("alpha", 1)) != (0, 1):
        raise NotApplicable("the matrix product is transposed or scaled")
    count = weights.shape[0 if transposed else 1]
    value, removed = node.output, [node]
    bias = None
    reader = _reader(value)
    if reader.op == "Add":
        bias = next((held for each in reader.inputs if (held := _stored(each, model)) is not None), None)
        if bias is None or bias.shape != (count,):
            raise NotApplicable("the Add after the matrix product does not add a stored bias")
        removed.append(reader)
        value, reader = reader.output, _reader(reader.output)
    found = _split(value, reader, count, model)
    given = _stored(node.input(2), model) if node.op == "Gemm" else None
    if node.input(2) is not None and (given is None or given.shape != (count,)):
        raise NotApplicable("the bias does not have one number for each column")
    if any(each.scope for each in (*removed, *found.removed)):
        raise NotApplicable("an operator is inside a subgraph")
    draft = Draft(model, node)
    for part in found.parts:
        columns = slice(part.begin, part.end)
        own = weights[columns] if transposed else weights[:, columns]
        inputs: list[str | Value | None] = [node.input(0), draft.constant(own, "weights")]
        if given is not None:
            inputs.append(draft.constant(given[columns], "bias"))
        result = draft.op(node.op, *inputs, transB=1) if transposed else draft.op(node.op, *inputs)
        if bias is not None:
            result = draft.op("Add", result, draft.constant(bias[columns], "bias"))
        part.write(draft, result)
    title = f"splits {node.path} into {len(found.parts)} products"
    return draft.patch(title, [*removed, *found.removed])


def _split(value: Value, reader: Node, count: int, model: Model) -> _Split:
    """Return how the model splits the result of a product into parts.

    Args:
        value: the result of the product.
        reader: the only operator that reads the result: a Split or a Reshape.
        count: number of columns of the result.
        model: the model.

    Raises:
        NotApplicable: the model does not split the result into columns.
    """
    if reader.op == "Split":
        shape = model.constants.dimensions(value)
        if shape is None or _axis(reader, len(shape)) != len(shape) - 1:
            raise NotApplicable("the result is not split into columns")
        return _Split(_columns_of_split(reader, _sizes(reader, len(shape) - 1, model)), [reader])
    shape, before = model.constants.dimensions(reader.output), model.constants.dimensions(value)
    if reader.op != "Reshape" or shape is None or before is None or bool(reader.number("allowzero", 0)):
        raise NotApplicable("the result is neither split nor reshaped")
    place = len(before) - 1
    inner = [size for size in shape[place:] if isinstance(size, int)]
    if (
        not inner
        or inner != list(shape[place:])
        or shape[:place] != before[:place]
        or np.prod(inner) != count
    ):
        raise NotApplicable("the Reshape after the matrix product must divide only the last axis")
    parts, axis, behind, removed = inner[0], place, reader, [reader]
    transpose = None
    uses = reader.output.uses
    if not reader.output.is_output and len(uses) == 1 and uses[0][0].op == "Transpose":
        transpose = _reader(reader.output)
        order = list(transpose.attribute("perm", ()))
        if sorted(order) != list(range(len(shape))):
            raise NotApplicable("the attribute perm of the Transpose is missing or invalid")
        axis, behind = order.index(place), transpose
        removed.append(transpose)
    if not 1 < parts <= _MOST_PARTS:
        raise NotApplicable("the result has too many parts")
    width = count // parts
    reshaped = [0] * place + [1, *inner[1:]]

    def moved(write: _Write) -> _Write:
        def written(draft: Draft, name: str) -> None:
            name = draft.op("Reshape", name, draft.ints(*reshaped))
            if transpose is not None:
                name = draft.op("Transpose", name, perm=list(transpose.attribute("perm", ())))
            write(draft, name)

        return written

    ends = _readers_of_parts(behind.output, axis, parts, model)
    found = [
        _Columns(part.begin * width, part.end * width, moved(part.write))
        for part in sorted(ends.parts, key=lambda part: part.begin)
    ]
    return _Split(found, [*removed, *ends.removed])


def _readers_of_parts(value: Value, axis: int, parts: int, model: Model) -> _Split:
    """Find the Split or Gather operators that divide a tensor into parts of size one.

    Args:
        value: the tensor.
        axis: the axis along which the tensor must be divided.
        parts: size of the axis.
        model: the model.

    Raises:
        NotApplicable: an operator of another type reads the tensor.
    """
    rank = len(model.constants.dimensions(value) or ())
    readers = list(dict.fromkeys(node for node, _ in value.uses))
    if value.is_output or not readers:
        raise NotApplicable("the result is an output of the model")
    if len(readers) == 1 and readers[0].op == "Split" and _axis(readers[0], rank) == axis:
        (reader,) = readers
        if len(reader.outputs) != parts or set(_sizes(reader, axis, model)) != {1}:
            raise NotApplicable("an output of the Split has a size other than 1")
        return _Split(_columns_of_split(reader, [1] * parts), readers)
    found: list[_Columns] = []
    for reader in readers:
        index = _stored(reader.input(1), model)
        if reader.op != "Gather" or reader.domain or _axis(reader, rank) != axis or index is None:
            raise NotApplicable("the result is not split")
        if index.ndim or index.dtype.kind != "i" or not -parts <= int(index) < parts:
            raise NotApplicable("the index of a Gather is not a single stored integer within the axis")
        begin = int(index) % parts
        found.append(_Columns(begin, begin + 1, _squeezed(reader, axis)))
    if len({part.begin for part in found}) != len(found):
        raise NotApplicable("two Gathers select the same index")
    return _Split(found, readers)


def _columns_of_split(reader: Node, sizes: Sequence[int]) -> list[_Columns]:
    """Return the columns of each used output of a Split.

    Args:
        reader: the Split. The new products get the names of the Split's outputs.
        sizes: number of columns of each output.
    """

    def named(value: Value) -> _Write:
        return lambda draft, name: draft.op("Identity", name, out=value.name)

    ends = np.cumsum([0, *sizes]).tolist()
    return [
        _Columns(ends[index], ends[index + 1], named(value))
        for index, value in enumerate(reader.outputs)
        if value.uses or value.is_output
    ]


def _squeezed(reader: Node, axis: int) -> _Write:
    return lambda draft, name: draft.op("Squeeze", name, draft.ints(axis), out=reader.output.name)


def _sizes(reader: Node, axis: int, model: Model) -> list[int]:
    """Return the sizes of all outputs of a Split along an axis."""
    found: list[int] = []
    for value in reader.outputs:
        shape = model.constants.dimensions(value)
        size = None if shape is None or axis >= len(shape) else shape[axis]
        if not isinstance(size, int):
            raise NotApplicable("the output sizes of the Split are known only at run time")
        found.append(size)
    return found


def _axis(node: Node, rank: int) -> int:
    axis = node.integer("axis", 0)
    return axis + rank if axis < 0 else axis


def _reader(value: Value) -> Node:
    """Return the only operator that reads a value."""
    if value.is_output or len(value.uses) != 1:
        raise NotApplicable("several operators read the result")
    node = value.uses[0][0]
    if node.domain:
        raise NotApplicable("the operator after the product is not an ONNX operator")
    return node


def _stored(value: Value | None, model: Model) -> Array | None:
    """Return the elements of a stored tensor, or None if the tensor is not stored or is too large."""
    if value is None:
        return None
    if value.initializer is None:
        found = model.constants.array(value)
    elif np.prod([max(0, int(dim)) for dim in value.initializer.dims], dtype=np.float64) <= MOST_ELEMENTS:
        found = model.tensors.array(value.initializer)
    else:
        found = None
    return None if found is None else np.asarray(found)
