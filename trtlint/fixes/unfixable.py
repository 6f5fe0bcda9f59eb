"""Why some findings have no rewrite: what was tried, and what it would take."""

from __future__ import annotations

from collections.abc import Mapping

from trtlint.engine.finding import Finding

_DATA_DEPENDENT = "how much it gives is known at run time only, and no other operator gives so much"
_BY_OPERATOR: Mapping[str, str] = dict.fromkeys(
    ("NonZero", "NonMaxSuppression", "Unique", "Compress"), _DATA_DEPENDENT
)
"""Operators for which every rewrite was refused that was tried with TensorRT-RTX 1.7.1."""
_BY_RULE: Mapping[str, str] = {
    "ACC101": "no operator of this release computes such a norm; options of the build keep it in FP32",
    "BLD204": "what has to be stored is known at run time only",
    "BLD216": "which branch is taken, or how often a body runs, is known at run time only",
    "PERF104": "a Cast around the softmax, FP32, scores read elsewhere, or heads of more than 256 keep"
    " it from being fused, and no rewrite that keeps the results mends that",
}
_BY_ITERATION = "its size is another one in each iteration"
_BROADCAST = "the operands do not fit each other: the export is wrong, and no other runtime takes it either"
_TRAINING = "in training mode it gives what chance or the batch make of it, and nothing equal stands for that"
_NONE = "trtlint knows no rewrite for it"


def reason(finding: Finding) -> str:
    """Why a finding is left that names no rewrite; empty for a note of which nothing is known."""
    for site in finding.sites:
        if site.op in _BY_OPERATOR:
            return _BY_OPERATOR[site.op]
    if "from the iteration number" in finding.message:
        return _BY_ITERATION
    if finding.rule in _BY_RULE:
        return _BY_RULE[finding.rule]
    if finding.severity == "note":
        return ""
    if "in training mode" in finding.message:
        return _TRAINING
    return _BROADCAST if "do not broadcast" in finding.message else _NONE
