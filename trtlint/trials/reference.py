"""What ONNX's reference computes otherwise than ONNX says, told to it in other words."""

from __future__ import annotations

from onnx import ModelProto, TensorProto, helper

_TRUE = "trtlint/true"


def begun(proto: ModelProto) -> ModelProto:
    """A model in which every ``Loop`` of the main graph has a condition to begin with.

    Left out, it is true (https://onnx.ai/onnx/operators/onnx__Loop.html); the reference runs the body of such
    a loop not once.
    """
    if all(node.op_type != "Loop" or "".join(node.input[1:2]) for node in proto.graph.node):
        return proto
    copy = ModelProto()
    copy.CopyFrom(proto)
    copy.graph.initializer.append(helper.make_tensor(_TRUE, TensorProto.BOOL, [], [True]))
    for node in copy.graph.node:
        if node.op_type == "Loop" and not "".join(node.input[1:2]):
            node.input.extend([""] * (2 - len(node.input)))
            node.input[1] = _TRUE
    return copy
