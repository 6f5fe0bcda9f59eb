"""Add an epsilon to the divisor of a division by a root or norm.

A root or norm is zero if all elements of its operand are zero. The epsilon, whose size trtlint chooses,
changes results slightly.
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.facts.of_model.division import Division
from trtlint.fixes.patch import Draft, NotApplicable, Patch
from trtlint.model.load import Model
from trtlint.model.protos import FLOAT_DTYPES

_EPSILON = {"f16": 1e-4, "bf16": 1e-6}
"""Epsilon by element type.

For FP16, the epsilon is a normal number, because kernels may flush subnormal numbers to zero.
"""
_USUAL = 1e-6


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that inserts an Add before the divisor of a division."""
    node = fact.node
    if not isinstance(fact, Division) or node is None:
        raise NotApplicable("there is no division at this place")
    port = 1 if node.op == "Div" else 0
    divisor = node.input(port)
    if divisor is None or divisor.dtype not in FLOAT_DTYPES:
        raise NotApplicable("the type of the divisor is not known")
    epsilon = _EPSILON.get(divisor.dtype or "", _USUAL)
    draft = Draft(model, node)
    shifted = draft.op("Add", divisor, draft.like(epsilon, divisor, "epsilon"))
    title = f"adds {epsilon:g} to the divisor"
    return draft.patch(title, [], rewire=[(node, port, shifted)], changes_results=True)
