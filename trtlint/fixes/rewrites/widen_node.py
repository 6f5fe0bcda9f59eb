"""Compute one 16-bit operator in FP32, with Casts at its inputs and outputs."""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.keep_fp32 import in_fp32, obstacle
from trtlint.fixes.patch import NotApplicable, Patch
from trtlint.model.load import Model


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that computes the operator of a finding in FP32."""
    if fact.node is None:
        raise NotApplicable("there is no operator here")
    why = obstacle(fact.node, model)
    if why:
        raise NotApplicable(why)
    return in_fp32(model, [fact.node], f"computes {fact.node.op} in FP32")
