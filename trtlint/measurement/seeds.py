"""Set seeds of random operators, so that all runs of a model draw the same numbers."""

from __future__ import annotations

from onnx import NodeProto, helper

from trtlint.model.operators import RANDOM
from trtlint.model.protos import domain_of

_TRAINING = 2
"""The index of the Dropout input that turns Dropout on.

Dropout has this input and an integer seed since opset 12: https://onnx.ai/onnx/operators/onnx__Dropout.html
"""


def draws(proto: NodeProto) -> bool:
    """Return whether an operator draws random numbers."""
    if domain_of(proto.domain):
        return False
    trained = proto.op_type == "Dropout" and any(proto.input[_TRAINING : _TRAINING + 1])
    return proto.op_type in RANDOM or trained


def has_seed(proto: NodeProto) -> bool:
    """Return whether an operator has a seed."""
    return any(attribute.name == "seed" for attribute in proto.attribute)


def fix_seed(proto: NodeProto, seed: int = 1) -> None:
    """Set the seed of an operator that draws random numbers and has no seed."""
    if draws(proto) and not has_seed(proto):
        value = seed if proto.op_type == "Dropout" else float(seed)
        proto.attribute.append(helper.make_attribute("seed", value))
