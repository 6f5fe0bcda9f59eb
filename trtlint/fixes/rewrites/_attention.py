"""An attention block that is written out, as its rewrites need it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trtlint.facts.base import Fact
from trtlint.facts.blocks.operand import Operand, trace
from trtlint.facts.blocks.scores import ScorePath, Weighting, score_path, weighting
from trtlint.facts.blocks.walk import Scaled
from trtlint.fixes.patch import Draft, NotApplicable
from trtlint.lean import dataclass
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.operators import QUANTIZE

_TERMS = 3
"""Of an Einsum of two operands: these, and the result."""


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

    @property
    def ports(self) -> tuple[int, int]:
        """The ports at which Q and K enter their product; they can be one tensor."""
        query = self.port(self.path.product.query)
        return query, 1 - query

    @property
    def features(self) -> tuple[int, int] | None:
        """The axes of Q and K that their product sums over; None where they cannot be told."""
        query, _ = self.ports
        if self.product.op != "Einsum":
            return (-1, -2)
        terms = letters(self.product)
        summed = (
            [] if terms is None else [x for x in terms[query] if x in terms[1 - query] and x not in terms[2]]
        )
        if terms is None or len(summed) != 1:
            return None
        return terms[query].index(summed[0]), terms[1 - query].index(summed[0])

    @property
    def value_features(self) -> tuple[int, int] | None:
        """The axis of V that its product keeps, there and in the result; None where they cannot be told."""
        node = self.weights.node
        port = node.inputs.index(self.weights.value)
        if node.op != "Einsum":
            return (-1, -1) if port else (-2, -2)
        terms = letters(node)
        kept = [] if terms is None else [x for x in terms[port] if x not in terms[1 - port] and x in terms[2]]
        if terms is None or len(kept) != 1:
            return None
        return terms[port].index(kept[0]), terms[2].index(kept[0])


def letters(node: Node) -> tuple[str, str, str] | None:
    """The axes of the operands and of the result of an Einsum, a letter each; None for other forms of it.

    https://onnx.ai/onnx/operators/onnx__Einsum.html
    """
    equation = str(node.attribute("equation", "")).replace(" ", "")
    operands, arrow, result = equation.partition("->")
    terms = (*operands.split(","), result)
    plain = (
        arrow
        and len(terms) == _TERMS
        and all(each.isalpha() and len(set(each)) == len(each) for each in terms)
    )
    return (terms[0], terms[1], terms[2]) if plain else None


def block_of(fact: Fact, model: Model) -> Block:
    """The block that a fact about attention found."""
    softmax = next((step.node for step in fact.chain if step.role == "softmax"), None)
    path = None if softmax is None else score_path(softmax, model.constants)
    weights = None if softmax is None else weighting(softmax)
    if softmax is None or path is None or weights is None:
        raise NotApplicable("the attention is one operator, or cannot be followed")
    product = path.product
    return Block(
        softmax,
        path,
        weights,
        trace(product.query, product.query_last, model.constants),
        trace(product.key, product.key_last, model.constants),
    )


def require_way_down(scale: Scaled, end: Node) -> None:
    """Refuse a scaling whose result something else reads on the way to an operator."""
    value = scale.node.output
    for _ in range(len(end.inputs) * 64):
        readers = {node for node, _ in value.uses}
        if value.is_output:
            raise NotApplicable("what is scaled is an output of the model")
        if len(readers) != 1:
            raise NotApplicable("what is scaled is also read elsewhere")
        reader = readers.pop()
        if reader.scope != scale.node.scope:
            raise NotApplicable("what is scaled is read in the body of an If or a loop")
        if reader is end:
            return
        if reader.op in QUANTIZE:
            raise NotApplicable("what is scaled is quantized")
        value = reader.output
    raise NotApplicable("the way from the scaling to the product is too long")


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


def product_again(
    draft: Draft, node: Node, operands: Sequence[str | Value | None], *, front: str = "", out: str = ""
) -> str:
    """Write a product again, under its name, between other operands; returns the name of its result.

    Args:
        draft: where it goes.
        node: the MatMul or Einsum.
        operands: what it reads.
        front: of an Einsum: the letter of one more axis in front of all operands, empty for none.
        out: the name of the result, empty for a new one.
    """
    names = ["" if each is None else each if isinstance(each, str) else each.name for each in operands]
    again = draft.again(node, names, [out or draft.name(node.op.lower())])
    terms = letters(node) if node.op == "Einsum" else None
    if terms is not None:
        one, other, result = (front + term for term in terms)
        (equation,) = (each for each in again.attribute if each.name == "equation")
        equation.s = f"{one},{other}->{result}".encode()
    return str(again.output[0])
