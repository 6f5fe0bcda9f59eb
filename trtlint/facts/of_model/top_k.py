"""Find TopK operators, and the number of elements that they return."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal

from trtlint.facts.base import Fact, Step
from trtlint.facts.blocks.sizes import whole
from trtlint.facts.facts import Facts
from trtlint.model.graph import Node, Value
from trtlint.model.values import Constants
from trtlint.model.walks import upstream

_VIEWS = frozenset({"Identity", "Cast", "Reshape", "Squeeze", "Unsqueeze", "Concat", "Gather", "Slice"})


class TopK(Fact, frozen=True):
    """A ``TopK`` node.

    Attributes:
        count: number of returned elements (K); None if the file does not fix K.
        source: the source of K: ``file`` (stored, or computed from static sizes), ``shape`` (computed from
            sizes, including dynamic sizes) or ``data`` (computed from input data).
        at_most: the upper bound of K; None if there is none. If the file stores K, it is ``count``. If a
            ``Min`` computes K, it is the smallest operand of the ``Min`` that is stored in the file.
    """

    roles: ClassVar[Mapping[str, str]] = {"top": "takes the greatest elements"}

    count: int | None
    source: Literal["file", "shape", "data"]
    at_most: int | None


def find(facts: Facts) -> Iterator[TopK]:
    """Yield the TopK operators of a model, in graph order."""
    constants = facts.model.constants
    for node in facts.model.graph.of_onnx("TopK"):
        yield _fact(node, constants)


def _fact(node: Node, constants: Constants) -> TopK:
    asked = node.input(1)
    written = node.number("k", None)  # before opset 10
    count = whole(constants.scalar(asked) if written is None else written)
    known = count is not None or asked is None or constants.foldable(asked)
    return TopK(
        node=node,
        chain=(Step(node, "top"),),
        count=count,
        source="file" if known else "shape" if constants.data_free(asked) else "data",
        at_most=_bound(asked, constants) if count is None and asked is not None else count,
    )


def _bound(value: Value, constants: Constants) -> int | None:
    """Return the upper bound of a value that a ``Min`` computes, or None if there is none.

    The bound is the smallest operand of the ``Min`` that is stored in the file.
    """
    for before in upstream(value, _VIEWS):
        node = before.producer
        if node is not None and node.op == "Min" and not node.domain:
            numbers = [number for v in node.inputs if (number := whole(constants.scalar(v))) is not None]
            return min(numbers, default=None)
    return None
