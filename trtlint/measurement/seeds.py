"""Set seeds of random operators, so that all runs of a model draw the same numbers."""

from __future__ import annotations

from onnx import AttributeProto, NodeProto, helper

from trtlint.model.operators import RANDOM

_SEED = 1
_TRAINING = 2
"""The index of the Dropout input that turns Dropout on.

Dropout has this input and an integer seed since opset 12: https://onnx.ai/onnx/operators/onnx__Dropout.html
"""


def fix_seed(proto: NodeProto) -> None:
    """Set the seed of an operator that draws random numbers and has no seed."""
    if proto.domain or any(attribute.name == "seed" for attribute in proto.attribute):
        return
    if proto.op_type in RANDOM:
        seed = helper.make_attribute("seed", float(_SEED), attr_type=AttributeProto.FLOAT)
        proto.attribute.append(seed)
    elif proto.op_type == "Dropout" and len(proto.input) > _TRAINING:
        proto.attribute.append(helper.make_attribute("seed", _SEED))
