"""Write operators that set the choice of TopK and NonMaxSuppression in a simulation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper

from trtlint.measurement.choosing import INDICES, input_of
from trtlint.measurement.writing import FormulaWriter, GraphWriter
from trtlint.model.graph import Node
from trtlint.model.protos import FLOAT_DTYPES

_DATA = {"TopK": 0, "NonMaxSuppression": 1}
"""For each operator, the input with the numbers that the operator compares to choose elements."""


def write_choice(node: Node, inputs: Sequence[str], write: FormulaWriter) -> tuple[str, str]:
    """Add an operator that chooses elements, and set its indices to the choice of FP32.

    The operator keeps its own choice in two cases:

    - A tensor has another shape than in FP32.
    - The operator compares numbers that are infinite or NaN.

    Args:
        node: the operator.
        inputs: names of its inputs in the rewritten model.
        write: writer of the graph.

    Returns:
        The name of the indices that the operator itself would choose, and the name of the chosen numbers. The
        second name is empty if the operator has no such output.
    """
    port = INDICES[node.op]
    result = node.outputs[port].name
    own = write.add_copy(node.proto, inputs)[port]
    given = input_of(result)
    data = inputs[_DATA[node.op]]
    size = write.add("Shape", [data])
    valid: list[str] = []
    axis = node.attribute("axis", -1)
    if node.op == "TopK":
        size = write.add("Gather", [size, write.constant(axis, np.int64)])
        valid.append(write.add("Equal", [write.add("Shape", [name]) for name in (own, given)]))
        numbers = write.add("GatherElements", [data, own], axis=axis)
    else:
        numbers = write.add("GatherND", [data, own])
    valid.append(write.add("Less", [given, size]))
    value = node.inputs[_DATA[node.op]]
    if value is not None and value.dtype in FLOAT_DTYPES:
        difference = write.add("Sub", [numbers, numbers])  # NaN for an infinite number
        valid += [write.add("Equal", [name, name]) for name in (data, difference)]
    wrong = [write.add("Cast", [write.add("Not", [name])], to=TensorProto.FLOAT) for name in valid]
    counts = [write.add("ReduceSum", [name], keepdims=0) for name in wrong]
    usable = write.add("Equal", [write.add("Sum", counts), write.constant(0)])
    branches = {"then_branch": _copy(given, write), "else_branch": _copy(own, write)}
    write.add("If", [usable], result, **branches)
    return own, write.add("GatherElements", [data, result], axis=axis) if node.op == "TopK" else ""


def _copy(name: str, write: GraphWriter) -> onnx.GraphProto:
    """Return the body of an If that returns a tensor with indices."""
    result = helper.make_tensor_value_info(write.fresh(), TensorProto.INT64, None)
    return helper.make_graph([helper.make_node("Identity", [name], [result.name])], "choice", [], [result])
