"""Store the elements of UINT8 tensors in the field ``raw_data`` of the ONNX protobuf.

https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import MOST_ELEMENTS, Draft, NotApplicable, Patch, operator_of
from trtlint.model.load import Model
from trtlint.model.protos import text


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that stores the UINT8 inputs of an operator in ``raw_data``."""
    node, constants = operator_of(fact, model), model.constants
    draft = Draft(model, node)
    given = [text(name) for name in node.proto.input]
    for port, value in enumerate(node.inputs):
        if value is not None and constants.in_int32_data(value):
            payload = constants.payload(value)
            if payload is None or payload.size > MOST_ELEMENTS:
                raise NotApplicable("a tensor has too many elements, or its elements cannot be read")
            given[port] = draft.constant(payload, "raw")
    draft.again(node, given)
    return draft.patch("stores UINT8 elements as raw bytes", [node], folds=True)
