"""Find attention around a softmax: the product of Q and K before it, and the product with V after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct

from trtlint.facts.blocks.operand import Axis
from trtlint.facts.blocks.walk import Scaling, is_parameter, scaling
from trtlint.model.graph import Node, Value
from trtlint.model.operators import CAST, SHAPE_READERS, TRANSPARENT
from trtlint.model.protos import Dimension
from trtlint.model.sizes import Dimensions
from trtlint.model.values import Constants
from trtlint.model.walks import downstream, search

_BETWEEN_SCORES_AND_SOFTMAX = TRANSPARENT | {
    *("Add", "Sub", "Mul", "Div", "Where", "Clip", "Max", "Min", "Tanh"),
}
_BETWEEN_SOFTMAX_AND_PRODUCT = TRANSPARENT | {"Where", "IsNaN"}


class Product(Struct, frozen=True):
    """The product of Q and K.

    Attributes:
        query, key: the operands of the product.
        query_last, key_last: the meaning of the operand's last axis, ``sequence`` or ``feature``; None for
            any other axis.
        heads, head_size: number and size of the attention heads; None if unknown.
    """

    node: Node
    form: Literal["matmul", "einsum"]
    query: Value
    key: Value
    query_last: Axis | None
    key_last: Axis | None
    heads: Dimension
    head_size: Dimension


class ScorePath(Struct, frozen=True):
    """The operators from the product of Q and K to the softmax, in data-flow order.

    Attributes:
        product: the product of Q and K.
        nodes: the operators between the product and the softmax.
        scales: the nodes that scale the scores by a factor other than exactly 1.
        shared: whether operators outside the block read the scores, or the scores are an output of the graph.
    """

    product: Product
    nodes: tuple[Node, ...]
    scales: tuple[Scaling, ...]
    shared: bool

    @property
    def casts(self) -> tuple[Node, ...]:
        """The ``Cast`` nodes between the product and the softmax."""
        return tuple(node for node in self.nodes if node.op in CAST)


class Weighting(Struct, frozen=True):
    """The product of the attention probabilities and V.

    Attributes:
        node: the node that computes the product.
        value: the operand V.
        value_last: the meaning of the last axis of V, ``sequence`` or ``feature``.
        guard: the operator that replaces NaN in the probabilities; None if there is no such operator.
        shared: whether operators outside the block read the probabilities, or the probabilities are an output
            of the graph.
    """

    node: Node
    value: Value
    value_last: Axis
    guard: Node | None
    shared: bool


def score_path(softmax: Node, constants: Constants) -> ScorePath | None:
    """Return the product of Q and K upstream of a softmax, and the operators in between.

    The product of Q and K is the nearest product of two computed tensors.  The result is None if there is no
    such product, or if the softmax is not over the last axis.
    """
    start = softmax.input(0)
    if start is None or softmax.domain or not _over_last_axis(softmax, start):
        return None

    def before(node: Node) -> Iterator[Value | None]:
        if node.domain or node.op not in _BETWEEN_SCORES_AND_SOFTMAX:
            return
        inputs = node.inputs[:1] if node.op in TRANSPARENT else node.inputs
        yield from (value for value in inputs if value is not None and not constants.data_free(value))

    readers: dict[Value, Node] = {}
    for current, reader in search(start, before):
        readers[current] = reader or softmax
        node = current.producer
        product = None if node is None or node.domain else _score_product(node, constants)
        if product is not None:
            return _path(product, current, readers, softmax, constants)
    return None


def _over_last_axis(softmax: Node, value: Value) -> bool:
    axis = softmax.attribute("axis")
    return axis is None or axis == -1 or value.rank is None or axis == value.rank - 1


def _path(
    product: Product, scores: Value, readers: dict[Value, Node], softmax: Node, constants: Constants
) -> ScorePath:
    nodes: list[Node] = []
    values = [scores]
    node = readers[scores]
    while node is not softmax:
        nodes.append(node)
        values.append(node.output)
        node = readers[node.output]
    scales = [scale for node in nodes if (scale := scaling(node, constants)) and scale.factor != 1.0]
    return ScorePath(product, tuple(nodes), tuple(scales), _shared(values, [*nodes, softmax]))


def _shared(values: Iterable[Value], block: list[Node]) -> bool:
    """Return whether one of ``values`` is a model output, or has a reader outside an attention block.

    ``block`` contains the nodes of the block.  Readers that only read the shape of a value do not count.
    """
    return any(
        value.is_output or any(node not in block and node.op not in SHAPE_READERS for node, _ in value.uses)
        for value in values
    )


def _score_product(node: Node, constants: Constants) -> Product | None:
    if node.op not in ("MatMul", "Einsum") or len(node.inputs) != 2:
        return None
    first, second = node.inputs
    if first is None or second is None:
        return None
    free = [value for value in (first, second) if constants.data_free(value)]
    # One operand may be a parameter that the graph computes. But a stored operand, or a constant operand with
    # fewer than three dimensions, is a weight.
    if len(free) == 2 or any(constants.stored(v) is not None or not is_parameter(v) for v in free):
        return None
    if node.op == "MatMul":
        shape = constants.dimensions(first) or ()
        return Product(
            node,
            "matmul",
            first,
            second,
            "feature",
            "sequence",
            heads=shape[-3] if len(shape) >= 4 else None,
            head_size=shape[-1] if shape else None,
        )
    terms = _einsum_terms(node)
    return None if terms is None else _einsum_product(node, first, second, *terms, constants)


def _einsum_terms(node: Node) -> tuple[str, str, str] | None:
    equation = str(node.attribute("equation", "")).replace(" ", "").replace("...", "")
    inputs, arrow, output = equation.partition("->")
    terms = inputs.split(",")
    return (terms[0], terms[1], output) if arrow and len(terms) == 2 and all(terms) and output else None


def _einsum_product(
    node: Node, first: Value, second: Value, a: str, b: str, output: str, constants: Constants
) -> Product | None:
    if len(output) < 2:
        return None
    attended, attending = output[-1], output[-2]
    if attended in b and attending in a:
        query, key, q, k = first, second, a, b
    elif attended in a and attending in b:
        query, key, q, k = second, first, b, a
    else:
        return None
    contracted = [letter for letter in q if letter in k and letter not in output]
    if len(contracted) != 1 or attended in q or attending in k:
        return None
    feature = contracted[0]
    heads = [letter for letter in output[:-2] if letter in q and letter in k]
    shape = constants.dimensions(query)
    return Product(
        node,
        "einsum",
        query,
        key,
        _last(q, attending, feature),
        _last(k, attended, feature),
        heads=_letter_size(shape, q, heads[1]) if len(heads) == 2 else None,
        head_size=_letter_size(shape, q, feature),
    )


def _last(term: str, sequence: str, feature: str) -> Axis | None:
    return "sequence" if term[-1] == sequence else "feature" if term[-1] == feature else None


def _letter_size(shape: Dimensions | None, term: str, letter: str) -> Dimension:
    return shape[term.index(letter)] if shape is not None and len(shape) == len(term) else None


def weighting(softmax: Node) -> Weighting | None:
    """Return the product with V: the nearest product downstream of a softmax.

    The result is None if there is no such product.
    """
    reached = {softmax.output: None}
    guard: Node | None = None
    block: list[Node] = []
    found: tuple[Node, int] | None = None
    for node, port, _ in downstream(softmax.output, lambda node, _: node.op in _BETWEEN_SOFTMAX_AND_PRODUCT):
        if node.op in ("MatMul", "Einsum") and len(node.inputs) == 2:
            found = found or (node, port)
            block.append(node)
        elif node.op in _BETWEEN_SOFTMAX_AND_PRODUCT and node.output not in reached:
            guard = node if node.op == "Where" and any(n.op == "IsNaN" for n in block) else guard
            reached[node.output] = None
            block.append(node)
    if found is None:
        return None
    product, port = found
    v = product.inputs[1 - port]
    if v is None or v in reached:
        return None
    last: Axis = "feature" if port == 0 else "sequence"
    if product.op == "Einsum":
        terms = _einsum_terms(product)
        if terms is None:
            return None
        attended = [letter for letter in terms[port] if letter in terms[1 - port] and letter not in terms[2]]
        last = "sequence" if terms[1 - port][-1] in attended else "feature"
    extra = [node for node in block if node is not product and node.op in ("MatMul", "Einsum")]
    shared = bool(extra) or _shared(reached, block)
    return Weighting(product, v, last, guard, shared)
