"""Replace a Clip whose minimum is 0 by Relu and Min.

https://onnx.ai/onnx/operators/onnx__Clip.html
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.facts.blocks.activations import clip_bounds
from trtlint.fixes.patch import Draft, NotApplicable, Patch, operator_of
from trtlint.model.load import Model
from trtlint.model.protos import FLOAT_DTYPES

_SINCE = 8
"""First opset in which Min broadcasts."""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that replaces one Clip."""
    reason = "there is no Clip at this place, or the opset is older than 8"
    node = operator_of(fact, model, "Clip", since=_SINCE, reason=reason)
    tensor = node.input(0)
    if tensor is None or tensor.dtype not in FLOAT_DTYPES:
        raise NotApplicable("the type of the input of Clip is not known")
    low, high = clip_bounds(node, model.constants)
    if low != 0 or high is None:
        raise NotApplicable("the bounds are not stored in the model, or the lower bound is not 0")
    draft = Draft(model, node)
    draft.op("Min", draft.op("Relu", tensor), draft.like(high, tensor, "most"), out=node.output.name)
    return draft.patch("clips by Relu and Min", [node], folds=True)
