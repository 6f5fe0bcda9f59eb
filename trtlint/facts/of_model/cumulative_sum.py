"""Find cumulative sums, and count similar ones.  One TensorRT release mixes up similar cumulative sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import ClassVar

from trtlint.facts.base import Fact, Step
from trtlint.facts.blocks.sizes import whole
from trtlint.facts.facts import Facts
from trtlint.model.graph import Node
from trtlint.model.protos import ElementType


class CumulativeSum(Fact, frozen=True):
    """A ``CumSum`` node.

    Attributes:
        axis: the axis of the sum, counted from the front if the rank is known; None if the graph computes the
            axis at run time.
        reverse: whether the sum starts at the end of the axis.
        exclusive: True if the sum at each position excludes the element at this position.
        dtype: element type; None if unknown.
        unlike: number of CumSum operators in the model whose input has the same type and shape, but whose
            axis or attributes differ.
    """

    roles: ClassVar[Mapping[str, str]] = {"sum": "the cumulative sum"}

    axis: int | None
    reverse: bool
    exclusive: bool
    dtype: ElementType | None
    unlike: int


def find(facts: Facts) -> Iterator[CumulativeSum]:
    """Yield the cumulative sums of a model, in graph order."""
    manners = {node: _manner(node, facts) for node in facts.model.graph.of_onnx("CumSum")}
    alike = Counter(manners.values())
    comparable = Counter(type_ for type_, axis, *_ in manners.values() if axis is not None)
    for node, manner in manners.items():
        type_, axis, reverse, exclusive = manner
        data = node.input(0)
        yield CumulativeSum(
            node=node,
            chain=(Step(node, "sum", detail=f"axis {'?' if axis is None else axis}"),),
            axis=axis,
            reverse=reverse,
            exclusive=exclusive,
            dtype=None if data is None else data.dtype,
            unlike=0 if axis is None else comparable[type_] - alike[manner],
        )


def _manner(node: Node, facts: Facts) -> tuple[str, int | None, bool, bool]:
    """Return the input type, axis, ``reverse`` and ``exclusive`` of a ``CumSum``."""
    data, axis = node.input(0), whole(facts.model.constants.scalar(node.input(1)))
    if axis is not None and data is not None and data.rank:
        axis %= data.rank
    type_ = "" if data is None else data.type_text
    return type_, axis, bool(node.number("reverse", 0)), bool(node.number("exclusive", 0))
