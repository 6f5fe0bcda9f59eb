"""Store UINT8 tensors as ``raw_data``.

https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import MOST_ELEMENTS, Draft, NotApplicable, Patch
from trtlint.model.load import Model
from trtlint.model.protos import text


def propose(fact: Fact, model: Model) -> Patch:
    """Store the UINT8 inputs of an operator again."""
    node = fact.node
    constants = model.constants
    if node is None:
        raise NotApplicable("there is no operator here")
    draft = Draft(model, node)
    given = [text(name) for name in node.proto.input]
    for port, value in enumerate(node.inputs):
        if value is not None and constants.in_int32_data(value):
            payload = constants.payload(value)
            if payload is None or payload.size > MOST_ELEMENTS:
                raise NotApplicable("the elements of a tensor cannot be read, or are too many")
            given[port] = draft.constant(payload, "raw")
    draft.again(node, given, node.proto.output)
    return draft.patch("stores UINT8 elements as raw bytes", [node], folds=True)
