"""Replace PRelu by Max(x, 0) + slope · Min(x, 0), which TensorRT fuses with a convolution.

One of the two terms is zero, so the sum is exact.
https://onnx.ai/onnx/operators/onnx__PRelu.html
"""

from __future__ import annotations

import numpy as np

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, operator_of, opset_of
from trtlint.model.load import Model
from trtlint.model.protos import FLOAT_DTYPES

_SINCE = 8
"""First opset in which Max and Min broadcast. PRelu broadcasts since opset 7."""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that replaces one PRelu."""
    node = operator_of(fact, model, "PRelu")
    tensor, slope = node.inputs[:2]
    if tensor is None or tensor.dtype not in FLOAT_DTYPES or opset_of(model) < _SINCE:
        raise NotApplicable("the tensor is not of a float type, or the model's opset is older than 8")
    payload = model.constants.payload(slope)
    if payload is None or not bool(np.isfinite(payload.astype(np.float64)).all()):
        raise NotApplicable("the slope is not stored in the model, or contains infinity or NaN")
    draft = Draft(model, node)
    zero = draft.like(0.0, tensor, "zero")
    below = draft.op("Mul", draft.op("Min", tensor, zero), slope)
    draft.op("Add", draft.op("Max", tensor, zero), below, out=node.output.name)
    return draft.patch("decomposes PRelu into Max and Min", [node], folds=True)
