"""Compute one 16-bit operator in FP32, with Casts at its inputs and outputs."""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.keep_fp32 import in_fp32, obstacle
from trtlint.fixes.patch import NotApplicable, Patch, operator_of
from trtlint.model.load import Model


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that computes the operator of a finding in FP32."""
    node = operator_of(fact, model)
    why = obstacle(node, model)
    if why:
        raise NotApplicable(why)
    return in_fp32(model, [node], f"computes {node.op} in FP32")
