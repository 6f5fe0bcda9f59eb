"""Why some findings have no rewrite: what was tried, and what it would take."""

from __future__ import annotations

from collections.abc import Mapping

from trtlint.engine.finding import Finding

_DATA_DEPENDENT = "how much it gives is known at run time only, and no other operator gives so much"
_TREES = "it takes another path through its trees for each row, and no operator of TensorRT does that"
_NO_TENSORS = "it reads or gives strings or maps, and TensorRT has no type for them"
_CHANCE = "it draws its results at random, and nothing equal stands for that"
_BY_OPERATOR: Mapping[str, str] = {
    **dict.fromkeys(("NonZero", "NonMaxSuppression", "Unique", "Compress"), _DATA_DEPENDENT),
    **dict.fromkeys(("TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor"), _TREES),
    **dict.fromkeys(
        (
            *("ZipMap", "CastMap", "DictVectorizer", "CategoryMapper", "StringNormalizer", "StringConcat"),
            *("StringSplit", "RegexFullMatch"),
        ),
        _NO_TENSORS,
    ),
    **dict.fromkeys(("Bernoulli", "Multinomial"), _CHANCE),
}
"""Of the first, every rewrite was refused that was tried with TensorRT-RTX 1.7.1.

Those of https://onnx.ai/onnx/operators/#ai-onnx-ml that are not here may compute with tensors alone.
"""
_BY_RULE: Mapping[str, str] = {
    "ACC101": "no operator of this release computes such a norm; options of the build keep it in FP32",
    "BLD202": "ONNX does not define its operator, and the file does not say what that computes",
    "BLD204": "what has to be stored is known at run time only",
    "BLD216": "which branch is taken, or how often a body runs, is known at run time only",
    "PERF104": "a Cast around the softmax, FP32, scores read elsewhere, or heads of more than 256 keep"
    " it from being fused, and no rewrite that keeps the results mends that",
}
_BY_ITERATION = "its size is another one in each iteration"
_BROADCAST = "the operands do not fit each other: the export is wrong, and no other runtime takes it either"
_PAST_LOOP = "the Loop around it would have to carry what it reads, and trtlint knows no rewrite for that"
_WRONG_FILE = "the file is wrong, and other runtimes refuse it as well: it has to be exported anew"
_TRAINING = "in training mode it gives what chance or the batch make of it, and nothing equal stands for that"
_OF_FILE = "The file is wrong, not TensorRT"
"""How the advice begins where a model is invalid."""
_NONE = "trtlint knows no rewrite for it"


def reason(finding: Finding) -> str:
    """Why a finding is left that names no rewrite; empty for a note of which nothing is known."""
    for site in finding.sites:
        if site.op in _BY_OPERATOR:
            return _BY_OPERATOR[site.op]
    if "from the iteration number" in finding.message:
        return _BY_ITERATION
    if "from outside of the Loop" in finding.message:
        return _PAST_LOOP
    if any(
        advice.partition(": ")[2].startswith(_OF_FILE) or advice.startswith(_OF_FILE)
        for advice in finding.advice
    ):
        return _WRONG_FILE
    if finding.rule in _BY_RULE:
        return _BY_RULE[finding.rule]
    if finding.severity == "note":
        return ""
    if "in training mode" in finding.message:
        return _TRAINING
    return _BROADCAST if "do not broadcast" in finding.message else _NONE
