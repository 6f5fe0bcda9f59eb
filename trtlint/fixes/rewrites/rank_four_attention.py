"""Add a leading axis to attention of rank 3, and remove this axis after the product with V.

TensorRT's attention kernels support channels-first operands only in rank 4.
"""

from __future__ import annotations

from string import ascii_letters

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, opset_of
from trtlint.fixes.rewrites._attention import AttentionBlock, block_of, letters, product_again
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.operators import CAST

_ELEMENTWISE = frozenset(
    {"Mul", "Div", "Add", "Sub", "Where", "Cast", "Clip", "Max", "Min", "Tanh", "Identity"}
)
_RANK = 3
_SINCE = 13
"""First opset in which Unsqueeze and Squeeze read their axes from an input."""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that adds a leading axis to Q, K and V."""
    block = block_of(fact, model)
    _require_fitting(block, model)
    softmax, weighted = block.softmax, block.weights.node
    draft = Draft(model, block.product)
    product = block.path.product
    rewire: list[tuple[Node, int, str]] = []
    remove = [weighted]
    if product.form == "matmul":
        rewire = [
            (block.product, block.port(value), _with_leading_axis(draft, value))
            for value in (product.query, product.key)
        ]
    else:
        raised: list[str | Value | None] = [
            None if value is None else _with_leading_axis(draft, value) for value in block.product.inputs
        ]
        product_again(
            draft, block.product, raised, front=_unused_letter(block.product), out=block.product.output.name
        )
        remove.insert(0, block.product)
    if softmax.integer("axis", -1) != -1:
        remove.append(softmax)
        draft.again(softmax, axis=-1)
    inputs: list[str | Value | None] = list(weighted.inputs)
    inputs[weighted.inputs.index(block.weights.value)] = _with_leading_axis(draft, block.weights.value)
    result = product_again(draft, weighted, inputs, front=_unused_letter(weighted))
    draft.op("Squeeze", result, draft.ints(0), out=weighted.output.name)
    inner = (block.product, *block.path.nodes, softmax, *_casts(block))
    retyped = [value.name for node in inner for value in node.outputs]
    values = (product.query, product.key, block.weights.value)
    around = [value.producer for value in values if value.producer is not None and _transposed(value)[0]]
    return draft.patch(
        "adds an axis of size 1 in front of Q, K and V", remove, rewire=rewire, retyped=retyped, around=around
    )


def _require_fitting(block: AttentionBlock, model: Model) -> None:
    product, weighted = block.path.product, block.weights.node
    values = (product.query, product.key, block.weights.value)
    if any(node.op == "Einsum" and letters(node) is None for node in (block.product, weighted)):
        raise NotApplicable("an Einsum of the attention is not a matrix product")
    if any(value.rank != 3 for value in values):
        raise NotApplicable("Q, K and V do not have rank 3")
    if opset_of(model) < _SINCE:
        raise NotApplicable("the model's opset is older than 13")
    if block.path.shared or block.weights.shared or block.weights.guard is not None:
        raise NotApplicable(
            "other operators read the scores or probabilities, or the model replaces NaN probabilities"
        )
    if any(node.op not in _ELEMENTWISE for node in block.path.nodes):
        raise NotApplicable("there are operators other than arithmetic between the scores and the softmax")
    last = (block.softmax, *_casts(block))[-1]
    if [node for node, _ in last.output.uses] != [weighted]:
        raise NotApplicable("an operator other than the product with V reads the probabilities")
    if len({node.scope for node in (block.product, block.softmax, weighted)}) > 1:
        raise NotApplicable("the matrix products and the softmax of the attention are in different graphs")


def _casts(block: AttentionBlock) -> list[Node]:
    """Return the Casts directly after the softmax, each with a single reader."""
    found: list[Node] = []
    value = block.softmax.output
    while len(value.uses) == 1 and value.uses[0][0].op in CAST:
        found.append(value.uses[0][0])
        value = found[-1].output
    return found


def _unused_letter(node: Node) -> str:
    """Return a letter that the equation of an Einsum does not use.

    The result is an empty string if the node is not an Einsum.
    """
    terms = letters(node) if node.op == "Einsum" else None
    return "" if terms is None else next(x for x in ascii_letters if not any(x in term for term in terms))


def _with_leading_axis(draft: Draft, value: Value) -> str:
    """Add a leading axis to a value.

    If a Transpose computes the value, the function adds the axis before the Transpose, because kernels expect
    the Transpose directly before the product.
    """
    source, perm = _transposed(value)
    if source is None:
        return draft.op("Unsqueeze", value, draft.ints(0))
    return draft.op("Transpose", draft.op("Unsqueeze", source, draft.ints(0)), perm=perm)


def _transposed(value: Value) -> tuple[Value | None, list[int]]:
    """Find the Transpose that computes a value.

    Return the input of the Transpose, and the permutation with an additional leading axis. The input is None
    if no Transpose computes the value.
    """
    node = value.producer
    perm = None if node is None or node.domain or node.op != "Transpose" else node.attribute("perm")
    if node is None or not isinstance(perm, list | tuple) or len(perm) != _RANK:
        return None, []
    return node.input(0), [0, *(int(axis) + 1 for axis in perm)]
