"""An attention block that is written out, as its rewrites need it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from trtlint.facts.base import Fact
from trtlint.facts.blocks.operand import Operand, trace
from trtlint.facts.blocks.scores import ScorePath, Weighting, score_path, weighting
from trtlint.facts.blocks.walk import Scaled
from trtlint.fixes.patch import Refusal
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.operators import QUANTIZE


@dataclass(frozen=True, slots=True)
class Block:
    """softmax(Q·Kᵀ)·V in operators.

    Attributes:
        softmax: the softmax.
        path: from the product of Q and K to the softmax.
        weights: the product with V.
        query, key: the operands of the first product.
    """

    softmax: Node
    path: ScorePath
    weights: Weighting
    query: Operand
    key: Operand

    @property
    def product(self) -> Node:
        """The product of Q and K."""
        return self.path.product.node

    def port(self, operand: Value) -> int:
        """The port of the product of Q and K that reads an operand."""
        return self.product.inputs.index(operand)


def block_of(fact: Fact, model: Model) -> Block | Refusal:
    """The block that a fact about attention found."""
    softmax = next((step.node for step in fact.chain if step.role == "softmax"), None)
    path = None if softmax is None else score_path(softmax, model.constants)
    weights = None if softmax is None else weighting(softmax)
    if softmax is None or path is None or weights is None:
        return Refusal("the attention is one operator, or cannot be followed")
    product = path.product
    return Block(
        softmax,
        path,
        weights,
        trace(product.query, product.query_last, model.constants),
        trace(product.key, product.key_last, model.constants),
    )


def way_down(scale: Scaled, end: Node) -> Refusal | None:
    """Whether what a scaling gives is read on the way to an operator alone; a refusal where it is not."""
    value = scale.node.output
    for _ in range(len(end.inputs) * 64):
        readers = {node for node, _ in value.uses}
        if value.is_output:
            return Refusal("what is scaled is an output of the model")
        if len(readers) != 1:
            return Refusal("what is scaled is also read elsewhere")
        reader = readers.pop()
        if reader.scope != scale.node.scope:
            return Refusal("what is scaled is read in the body of an If or a loop")
        if reader is end:
            return None
        if reader.op in QUANTIZE:
            return Refusal("what is scaled is quantized")
        value = reader.output
    return Refusal("the way from the scaling to the product is too long")


def without(scales: Iterable[Scaled], gone: Iterable[Node] = ()) -> list[tuple[Node, int, str]]:
    """How the readers of scalings are rewired where the scalings go.

    Args:
        scales: the scalings.
        gone: further nodes that go, which need no rewiring.
    """
    data = {scale.node.output: scale.data for scale in scales}
    removed = {scale.node for scale in scales} | set(gone)
    rewired = []
    for value in data:
        source: Value = value
        while source in data:
            source = data[source]
        rewired += [(node, port, source.name) for node, port in value.uses if node not in removed]
    return rewired
