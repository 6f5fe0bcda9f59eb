"""Find unrolled loops.

An unrolled loop consists of products of one weight with different pieces of one tensor.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import ClassVar

from trtlint.facts.base import Fact, Step
from trtlint.facts.facts import Facts
from trtlint.model.graph import Node, Value
from trtlint.model.operators import TRANSPARENT
from trtlint.model.values import Constants
from trtlint.model.walks import behind

_PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
_CUTS = frozenset({"Gather", "Slice", "Split"})
_SHOWN = 6
"""Largest number of products that a report shows for one group."""


class Unrolled(Fact, frozen=True):
    """Convolutions or matrix products that read one stored weight and pieces of one tensor.

    ``node`` is the first of these convolutions or products.

    Attributes:
        op: the operator type of the convolutions or products.
        count: number of the convolutions or products.
        cut: the operator that cuts the tensor into pieces: ``Gather``, ``Slice`` or ``Split``.
        weight: name of the stored weight.
    """

    roles: ClassVar[Mapping[str, str]] = {"product": "one of the products"}

    op: str
    count: int
    cut: str
    weight: str


def find(facts: Facts) -> Iterator[Unrolled]:
    """Yield, in graph order, the unrolled loops of a model.

    A loop is a group of at least two convolutions or matrix products. They read the same weight, and pieces
    of the same tensor.
    """
    constants = facts.model.constants
    weights: dict[tuple[str, Value], list[Node]] = defaultdict(list)
    for node in facts.model.graph.by_op(*_PRODUCTS):
        value = None if node.domain else node.input(1)
        if value is not None and (base := behind(value, TRANSPARENT)) and constants.stored(base) is not None:
            weights[node.op, base].append(node)
    groups: dict[tuple[str, Value, Value, str], list[Node]] = defaultdict(list)
    for (op, base), nodes in weights.items():
        if len(nodes) < 2:
            continue
        for node in nodes:
            piece = _piece(node, constants)
            if piece is not None:
                source, cut = piece
                groups[op, base, source, cut].append(node)
    found = [(*key, nodes) for key, nodes in groups.items() if len(nodes) > 1]
    for op, base, _, cut, nodes in sorted(found, key=lambda group: group[4][0].index):
        shown = [Step(node, "product", label="the same weight") for node in nodes[:_SHOWN]]
        yield Unrolled(node=nodes[0], chain=tuple(shown), op=op, count=len(nodes), cut=cut, weight=base.name)


def _piece(node: Node, constants: Constants) -> tuple[Value, str] | None:
    """Return the tensor from which the input of a node is cut, and the cutting operator.

    The second result is the type of this operator. The result is None if the input is not a piece of a
    computed tensor.
    """
    data = node.input(0)
    cut = None if data is None else behind(data, TRANSPARENT).producer
    if cut is None or cut.domain or cut.op not in _CUTS:
        return None
    source = cut.input(0)
    return None if source is None or constants.foldable(source) else (source, cut.op)
