"""Find the nodes of a decomposed attention block, and copy its matrix products."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from trtlint.facts.base import Fact
from trtlint.facts.blocks.operand import Operand, trace
from trtlint.facts.blocks.scores import ScorePath, Weighting, score_path, weighting
from trtlint.facts.blocks.walk import Scaling
from trtlint.fixes.patch import Draft, NotApplicable, name_of
from trtlint.model.equation import terms_of
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.operators import QUANTIZE


class AttentionBlock(Struct, frozen=True):
    """The nodes of a decomposed attention block, which computes softmax(Q·Kᵀ)·V.

    Attributes:
        softmax: the softmax.
        path: the nodes from the product Q·Kᵀ to the softmax.
        weights: the product of the probabilities and V.
        query, key: the operands of the product Q·Kᵀ.
    """

    softmax: Node
    path: ScorePath
    weights: Weighting
    query: Operand
    key: Operand

    @property
    def product(self) -> Node:
        """The node of the product Q·Kᵀ."""
        return self.path.product.node

    def port(self, operand: Value) -> int:
        """Return the input index of ``operand`` in the product Q·Kᵀ."""
        return self.product.inputs.index(operand)

    @property
    def ports(self) -> tuple[int, int]:
        """The input indices of Q and K in the product Q·Kᵀ. Q and K can be the same tensor."""
        query = self.port(self.path.product.query)
        return query, 1 - query

    @property
    def features(self) -> tuple[int, int] | None:
        """The axes of Q and K over which the product Q·Kᵀ sums, or None if unknown."""
        query, key = self.ports
        if self.product.op != "Einsum":
            return (-1, -2)
        return _only_common_axis(self.product, query, key, 2)

    @property
    def value_features(self) -> tuple[int, int] | None:
        """The index of V's feature axis in V, and the index of the same axis in the product with V.

        The result is None if the indices are unknown.
        """
        node = self.weights.node
        port = node.inputs.index(self.weights.value)
        if node.op != "Einsum":
            return (-1, -1) if port else (-2, -2)
        return _only_common_axis(node, port, 2, 1 - port)


def letters(node: Node) -> tuple[str, str, str] | None:
    """Return the axis letters of an Einsum's operands and result, such as ``("bqd", "bkd", "bqk")``.

    The result is None if the equation is not supported.

    https://onnx.ai/onnx/operators/onnx__Einsum.html
    """
    terms, result = terms_of(str(node.attribute("equation", "")))
    if result is None or len(terms) != 2:
        return None
    plain = all(each.isalpha() and len(set(each)) == len(each) for each in (*terms, result))
    return (terms[0], terms[1], result) if plain else None


def _only_common_axis(node: Node, one: int, other: int, without: int) -> tuple[int, int] | None:
    """Return the positions of the only letter that is in two terms of an Einsum but not in a third.

    The first position is in term ``one``, the second in term ``other``. The result is None if there is no
    such letter.
    """
    terms = letters(node)
    shared = [] if terms is None else [x for x in terms[one] if x in terms[other] and x not in terms[without]]
    if terms is None or len(shared) != 1:
        return None
    return terms[one].index(shared[0]), terms[other].index(shared[0])


def block_of(fact: Fact, model: Model) -> AttentionBlock:
    """Return the attention block that a fact describes.

    Raises:
        NotApplicable: the attention is a single fused operator, or has an unsupported form.
    """
    softmax = next((step.node for step in fact.chain if step.role == "softmax"), None)
    path = None if softmax is None else score_path(softmax, model.constants)
    weights = None if softmax is None else weighting(softmax)
    if softmax is None or path is None or weights is None:
        raise NotApplicable("the attention is a single fused operator, or has an unsupported form")
    product = path.product
    return AttentionBlock(
        softmax,
        path,
        weights,
        trace(product.query, product.query_last, model.constants),
        trace(product.key, product.key_last, model.constants),
    )


def require_way_down(scale: Scaling, end: Node) -> None:
    """Raise NotApplicable if another operator reads a value between a scaling and the node ``end``."""
    value = scale.node.output
    for _ in range(len(end.inputs) * 64):
        readers = {node for node, _ in value.uses}
        if value.is_output or value.leaves_body:
            raise NotApplicable("the scaled tensor is an output of the model or of a body")
        if len(readers) != 1:
            raise NotApplicable("another operator also reads the scaled tensor")
        reader = readers.pop()
        if reader.scope != scale.node.scope:
            raise NotApplicable("the scaled tensor is read in the body of an If or a loop")
        if reader is end:
            return
        if reader.op in QUANTIZE:
            raise NotApplicable("the scaled tensor is quantized")
        value = reader.output
    raise NotApplicable("there are too many operators between the scaling and the matrix product of Q and K")


def without(scales: Iterable[Scaling], gone: Iterable[Node] = ()) -> list[tuple[Node, int, str]]:
    """Return entries for ``Patch.rewire`` that connect the readers of removed scalings to unscaled tensors.

    Args:
        scales: the removed scalings.
        gone: further nodes that the patch removes. Readers among these nodes get no entry.
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
    """Insert a copy of a MatMul or Einsum with new operands. Return the name of the result.

    Args:
        draft: the draft.
        node: the MatMul or Einsum to copy.
        operands: the new operands.
        front: letter of a new leading axis of all Einsum operands, such as ``a``; empty for no new axis.
        out: name of the result; empty for a new name.
    """
    names = [name_of(each) for each in operands]
    out = out or draft.name(node.op.lower())
    terms = letters(node) if node.op == "Einsum" else None
    if terms is None:
        draft.again(node, names, [out])
    else:
        one, other, result = (front + term for term in terms)
        draft.again(node, names, [out], equation=f"{one},{other}->{result}")
    return out
