"""Decompose ``GroupNormalization`` into an instance norm of each group, a scale and a bias.

Definition: https://onnx.ai/onnx/operators/onnx__GroupNormalization.html
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, onnx_type, operator_of, opset_of
from trtlint.fixes.rewrites._forms import Forms, Tensor
from trtlint.model.load import Model
from trtlint.model.protos import FLOAT_DTYPES

_BY_CHANNEL = 21
"""First opset with a gain and a bias for each channel.

Older opsets have a gain and a bias for each group.
"""
_BFLOAT16 = 22
"""First opset in which InstanceNormalization accepts BF16."""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that decomposes one GroupNormalization."""
    node = operator_of(fact, model, "GroupNormalization")
    value, gain, bias = (node.input(port) for port in range(3))
    groups = node.integer("num_groups", 0)
    if value is None or gain is None or bias is None or value.shape is None or groups < 1:
        raise NotApplicable("the shape of the tensor is not known")
    dtype, count = value.dtype, gain.shape[0] if gain.shape else None
    channels = value.shape[1] if len(value.shape) > 2 else None
    if dtype not in FLOAT_DTYPES or dtype is None or not isinstance(count, int):
        raise NotApplicable("the type of the data, or the size of the scale, is not known")
    if not isinstance(channels, int) or channels % groups:
        raise NotApplicable("the number of channels is unknown or not a multiple of the number of groups")
    if count not in (1, channels):
        raise NotApplicable("scale and bias have one number per group instead of one per channel")
    opset = opset_of(model)
    stashed = node.integer("stash_type", 1) == 1 and opset >= _BY_CHANNEL
    # https://onnx.ai/onnx/operators/onnx__InstanceNormalization.html
    rejected = dtype == "bf16" and opset < _BFLOAT16
    wide = "f32" if rejected or (stashed and dtype != "f64") else dtype
    forms = Forms(Draft(model, node))
    image: Tensor = forms.widened(value, dtype) if wide != dtype else value
    parameters = [forms.widened(each, dtype) if wide != dtype else each for each in (gain, bias)]
    epsilon = float(node.number("epsilon", 1e-5))
    name = node.output.name
    out = name if wide == dtype else ""
    written = forms.group_norm(image, groups, parameters, count, len(value.shape), epsilon, wide, out)
    if wide != dtype:
        forms.draft.op("Cast", written, to=onnx_type(dtype), out=name)
    return forms.draft.patch("decomposes GroupNormalization into an instance norm of each group", [node])
