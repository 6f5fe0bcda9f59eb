"""Find cumulative sums, and count similar sums.  One TensorRT release confuses similar sums."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from trtlint.facts.base import Fact, Step
from trtlint.facts.blocks.sizes import whole
from trtlint.model.graph import Node
from trtlint.model.protos import ElementType

if TYPE_CHECKING:
    from trtlint.facts.facts import Facts


class CumulativeSum(Fact, frozen=True):
    """A ``CumSum`` node.

    Attributes:
        axis: the axis of the sum, counted from the front if the rank is known; None if the axis is known only
            at run time.
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
    nodes = facts.model.graph.of_onnx("CumSum")
    manners = {node: (_axis(facts, node), *_flags(node)) for node in nodes}
    alike: dict[str, list[Node]] = defaultdict(list)
    for node in nodes:
        alike[_type(node)].append(node)
    for node in nodes:
        axis, reverse, exclusive = manners[node]
        data = node.input(0)
        yield CumulativeSum(
            node=node,
            chain=(Step(node, "sum", detail=f"axis {'?' if axis is None else axis}"),),
            axis=axis,
            reverse=reverse,
            exclusive=exclusive,
            dtype=None if data is None else data.dtype,
            unlike=sum(
                manners[other] != manners[node] and manners[other][0] is not None and axis is not None
                for other in alike[_type(node)]
            ),
        )


def _type(node: Node) -> str:
    data = node.input(0)
    return "" if data is None else data.type_text


def _flags(node: Node) -> tuple[bool, bool]:
    return bool(node.number("reverse", 0)), bool(node.number("exclusive", 0))


def _axis(facts: Facts, node: Node) -> int | None:
    data, axis = node.input(0), whole(facts.model.constants.scalar(node.input(1)))
    if axis is None:
        return None
    rank = None if data is None else data.rank
    return axis % rank if rank else axis
