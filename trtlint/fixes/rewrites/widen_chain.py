"""Compute a chain of 16-bit operators in FP32, with Casts at the inputs and outputs of the chain.

The chain includes the element-wise arithmetic before the operators of the finding. For example, the argument
of a sine must not be rounded to 16 bits. For a sum of squares, the chain ends at the division by the root.
Only two kinds of matrix products are part of the chain: outer products, and products with a matrix of
coordinates.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from trtlint.facts.base import Fact
from trtlint.facts.of_model.rounded_integer import RoundedInteger
from trtlint.facts.of_model.sum_of_squares import SumOfSquares
from trtlint.fixes.keep_fp32 import NARROW, in_fp32, obstacle
from trtlint.fixes.patch import NotApplicable, Patch
from trtlint.model.equation import terms_of
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.walks import search

_MOST_NODES = 64
_VIEWS = frozenset(
    {"Cast", "Identity", "Unsqueeze", "Squeeze", "Reshape", "Transpose", "Expand", "Concat", "Slice", "Split"}
)
_ARITHMETIC = frozenset(
    {"Add", "Sub", "Mul", "Div", "Neg", "Exp", "Pow", "Reciprocal", "Sqrt", "Clip", "Min", "Max", "Range"}
    | {"MatMul", "Einsum", "Floor", "Ceil", "Round", "Abs"}
)
_DEEPEST = 4
"""Largest inner dimension of a matrix product that the rewrite computes in FP32.

Products of homogeneous coordinates have the inner dimension 4: three coordinates and the number 1.
"""
_ROUNDED = {"Sin": 0, "Cos": 0, "GridSample": 1}
"""Operators with an operand that must not be rounded, each with the input index of the operand."""
_SMALLER = frozenset({"Sqrt", "Reciprocal", "Log", "Div", "Mul", "Pow"})
"""Operators that can make the value of a preceding sum of squares smaller."""
_BEHIND = _SMALLER | {"Add", "Clip", "Max", "Expand", "Unsqueeze", "Squeeze", "Reshape"}
"""Operators between a sum of squares and the division by the root of this sum."""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that computes the operators of a finding, and the arithmetic before them, in FP32."""
    core = list(dict.fromkeys(step.node for step in fact.chain)) or [node for node in (fact.node,) if node]
    if not core:
        raise NotApplicable("there is no operator at this place")
    for node in core:
        why = obstacle(node, model)
        if why:
            raise NotApplicable(why)
    chosen = dict.fromkeys(core)
    more = (
        _operators_to_division(core, model)
        if isinstance(fact, SumOfSquares)
        else _arithmetic_before(core, model)
    )
    if more is None:
        raise NotApplicable(f"more than {_MOST_NODES} operators would have to change to FP32")
    chosen.update(dict.fromkeys(more))
    if isinstance(fact, SumOfSquares) and not _is_reduced(fact.node, chosen):
        raise NotApplicable(
            "the sum is stored in 16 bits, so it overflows even if an FP32 operator computes it"
        )
    if isinstance(fact, RoundedInteger) and not _has_path(core[0], core[-1], chosen):
        raise NotApplicable(
            "there are operators other than arithmetic between the Cast to a float type and the Cast back"
        )
    for node in core:
        given = _rounded_operand(node, chosen)
        if given is not None:
            raise NotApplicable(f"{given.name} is already rounded to 16 bits before the operator")
    nodes = sorted(chosen, key=lambda node: node.index)
    return in_fp32(model, nodes, "computes the operator and the arithmetic before it in FP32")


def _is_reduced(total: Node | None, chosen: Iterable[Node]) -> bool:
    """Return whether an operator of ``chosen`` makes a sum smaller before the sum is rounded to 16 bits.

    ``total`` is the operator that computes the sum.
    """
    return total is not None and any(node.op in _SMALLER and node.index > total.index for node in chosen)


def _has_path(first: Node, last: Node, chosen: Iterable[Node]) -> bool:
    """Return whether a path from ``first`` to ``last`` contains only operators of ``chosen``."""
    inside = set(chosen)
    before = search(last.output, lambda node: node.inputs if node in inside else (), sys.maxsize)
    return any(value.producer is first for value, _ in before)


def _arithmetic_before(core: Iterable[Node], model: Model) -> list[Node] | None:
    """Return the 16-bit arithmetic operators that compute the operands of the operators in ``core``.

    The result is None if there are too many such operators.
    """
    found: dict[Node, None] = {}
    pending = [value for node in core for value in _operands(node)]
    while pending:
        value = pending.pop()
        node = value.producer
        if node is None or node in found or value.dtype not in NARROW or not _is_cheap(node):
            continue
        if obstacle(node, model):
            continue
        found[node] = None
        if len(found) > _MOST_NODES:
            return None
        pending += _operands(node)
    return list(found)


def _is_cheap(node: Node) -> bool:
    """Return whether an operator is cheap enough to compute in FP32 as part of a chain."""
    if node.domain or node.op not in _ARITHMETIC | _VIEWS:
        return False
    if node.op == "MatMul":
        depths = [shape[-1] for value in node.inputs[:1] if value is not None and (shape := value.shape)]
        return any(isinstance(depth, int) and depth <= _DEEPEST for depth in depths)
    if node.op == "Einsum":
        terms, result = terms_of(str(node.attribute("equation", "")))
        return result is not None and set("".join(terms)) <= set(result)
    return True


def _operands(node: Node) -> list[Value]:
    """Return the operands of an operator. For Sin, Cos and GridSample, return only the angle or positions."""
    port = _ROUNDED.get(node.op)
    values = node.inputs if port is None else node.inputs[port : port + 1]
    return [value for value in values if value is not None]


def _rounded_operand(node: Node, chosen: dict[Node, None]) -> Value | None:
    """Return the operand that is rounded to 16 bits before a Sin, Cos or GridSample.

    The result is None if the arithmetic before the operator already runs in FP32.
    """
    port = _ROUNDED.get(node.op)
    value = None if port is None else node.input(port)
    first = value
    seen = 0
    while value is not None and seen < _MOST_NODES:
        producer = value.producer
        if producer is None or producer not in chosen:
            return first
        if producer.op not in _VIEWS or (producer.op == "Cast" and _is_wide(producer.input(0))):
            return None
        value, seen = producer.input(0), seen + 1
    return None


def _is_wide(value: Value | None) -> bool:
    return value is not None and value.dtype not in NARROW


def _operators_to_division(core: list[Node], model: Model) -> list[Node]:
    """Return the operators after a sum of squares, up to the division by the root of this sum."""
    found: list[Node] = []
    tensors = {value for node in core for value in node.inputs}
    for _ in range(_MOST_NODES):
        last = max((*core, *found), key=lambda node: node.index)
        value = last.output
        if value.is_output or value.leaves_body or len(value.uses) != 1:
            break
        reader = value.uses[0][0]
        others = [each for each in reader.inputs if each is not None and each is not value]
        if reader.domain or obstacle(reader, model):
            break
        if reader.op in _BEHIND and all(model.constants.data_free(each) for each in others):
            found.append(reader)
            continue
        if reader.op in ("Div", "Mul") and all(each in tensors for each in others):
            found.append(reader)
        break
    return found
