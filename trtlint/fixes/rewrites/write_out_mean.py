"""Decompose ``Mean`` into a Sum and a Div.

https://onnx.ai/onnx/operators/onnx__Mean.html
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, operator_of
from trtlint.model.load import Model
from trtlint.model.protos import FLOAT_DTYPES

_SINCE = 8
"""First opset in which Sum and Mean broadcast."""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that replaces one Mean."""
    reason = "there is no Mean at this place, or the opset is older than 8"
    node = operator_of(fact, model, "Mean", since=_SINCE, reason=reason)
    dtype = node.output.dtype
    if dtype not in FLOAT_DTYPES or any(value is None for value in node.inputs):
        raise NotApplicable("the types of the inputs of Mean are not known")
    draft = Draft(model, node)
    total = draft.op("Sum", *node.inputs)
    draft.op("Div", total, draft.like(float(len(node.inputs)), dtype, "count"), out=node.output.name)
    return draft.patch("decomposes Mean into Sum and Div", [node])
