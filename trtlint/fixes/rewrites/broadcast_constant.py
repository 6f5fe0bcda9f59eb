"""Remove the Expand or Tile of a stored tensor if all readers of the expanded tensor can broadcast.

https://onnx.ai/onnx/repo-docs/Broadcasting.html
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, operator_of
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.protos import Dimension

_BROADCAST = frozenset(
    {"Add", "Sub", "Mul", "Div", "Pow", "Mod", "Max", "Min", "Mean", "Sum", "Where"}
    | {"And", "Or", "Xor", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"}
)
_SINCE = 8
"""First opset in which the operators in ``_BROADCAST`` broadcast along all dimensions."""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that connects all readers of an Expand or Tile to the unexpanded tensor."""
    node = operator_of(fact, model, "Expand", "Tile", since=_SINCE)
    source, result = node.input(0), node.output
    if result.is_output or result.leaves_body:
        raise NotApplicable("the expanded tensor is an output")
    if source is None or not result.uses:
        raise NotApplicable(f"no operator reads the result of the {node.op}")
    if not _only_enlarges_ones(source, result):
        raise NotApplicable(f"{node.op} repeats a dimension whose size is not 1, or a size is unknown")
    for reader, _ in result.uses:
        if reader.domain or reader.op not in _BROADCAST:
            raise NotApplicable(
                f"{reader.op} reads the expanded tensor, and this operator does not broadcast"
            )
        if reader.scope != node.scope:
            raise NotApplicable("the expanded tensor is read in the body of an If or a loop")
        if not _same_result(reader, result, source):
            raise NotApplicable(f"without {node.op}, the result of {reader.op} would have another shape")
    rewire = [(reader, port, source.name) for reader, port in result.uses]
    title = f"replaces {node.op} of a stored tensor by broadcasting"
    return Draft(model, node).patch(title, [], rewire=rewire, around=[node], folds=True)


def _only_enlarges_ones(source: Value, result: Value) -> bool:
    """Return whether an Expand or Tile only enlarges dimensions of size 1."""
    before, after = source.shape, result.shape
    if before is None or after is None or len(before) > len(after):
        return False
    pairs = zip(before, after[len(after) - len(before) :], strict=True)
    return all(one == 1 or (isinstance(one, int) and one == other) for one, other in pairs)


def _same_result(reader: Node, result: Value, source: Value) -> bool:
    """Return whether the result of ``reader`` keeps its shape without the expansion.

    Args:
        reader: an operator that reads the expanded tensor.
        result: the expanded tensor.
        source: the tensor before the expansion.
    """
    shape = reader.output.shape
    if shape is None:
        return False
    values = [source if value is result else value for value in reader.inputs]
    return all(
        size == 1 or (size is not None and any(_size_from_end(value, place) == size for value in values))
        for place, size in enumerate(reversed(shape), 1)
    ) and any(value is not None and value.rank == len(shape) for value in values)


def _size_from_end(value: Value | None, place: int) -> Dimension:
    """Return the size of dimension ``place``, counted from 1 at the last dimension.

    The result is 1 if there is no such dimension, and None if the size is unknown.
    """
    shape = None if value is None else value.shape
    return None if shape is None else shape[-place] if place <= len(shape) else 1
