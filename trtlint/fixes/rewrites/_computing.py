"""Compute constants with ONNX's reference evaluator."""

from __future__ import annotations

import math
from copy import deepcopy

import numpy as np
import onnx
from onnx import numpy_helper

from trtlint.fixes.patch import MOST_ELEMENTS, NotApplicable, numpy_type
from trtlint.fixes.reference import part_of, run_reference
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.payload import Array
from trtlint.process.fork import ComputationError, compute

_MOST_NODES = 256


def computed(value: Value, model: Model) -> Array:
    """Compute a value that depends only on stored tensors.

    Raises:
        NotApplicable: the value depends on an input of the model, or is too large.
    """
    nodes: dict[Node, None] = {}
    tensors: dict[str, onnx.TensorProto] = {}
    pending = [value]
    while pending:
        current = pending.pop()
        if current.initializer is not None:
            array = model.constants.payload(current)
            if array is None or math.prod(array.shape) > MOST_ELEMENTS:
                raise NotApplicable(
                    "the value depends on a stored tensor that cannot be read or is too large"
                )
            tensors[current.name] = numpy_helper.from_array(np.asarray(array), current.name)
        elif current.producer is None or len(nodes) > _MOST_NODES:
            raise NotApplicable("the value depends on an input, or on too many operators")
        elif current.producer not in nodes:
            nodes[current.producer] = None
            pending += [each for each in current.producer.inputs if each is not None]
    protos = [_restored(node, model) for node in sorted(nodes, key=lambda node: node.index)]
    proto = part_of(model, protos, [], [value.name], tensors.values())
    try:
        data = compute(lambda: _result(proto))
    except ComputationError as error:
        raise NotApplicable(f"ONNX's reference evaluator cannot compute the value: {error}") from error
    if not data:
        raise NotApplicable(f"the result has more than {MOST_ELEMENTS:,} elements")
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


def _result(proto: onnx.ModelProto) -> bytes:
    """Run a model that has no inputs, and serialize its only output.

    Return empty bytes if the output is too large.
    """
    (array,) = run_reference(proto, {})
    tensor: onnx.TensorProto = numpy_helper.from_array(array)
    return bytes(tensor.SerializeToString()) if array.size <= MOST_ELEMENTS else b""


def known(value: Value | None, model: Model) -> Array | None:
    """Return the elements of a constant in its own element type, or None if ``value`` is not a constant."""
    array = None if value is None else model.constants.array(value)
    if value is None or array is None or np.ma.is_masked(array) or value.dtype is None:
        return None
    return np.asarray(array).astype(numpy_type(value.dtype))


def _restored(node: Node, model: Model) -> onnx.NodeProto:
    """Copy a node, and fill the tensor attributes of the copy with the weights from the file."""
    proto = deepcopy(node.proto)
    for attribute in proto.attribute:
        if attribute.HasField("t"):
            array = model.tensors.array(attribute.t)
            if array is not None:
                attribute.t.CopyFrom(numpy_helper.from_array(np.asarray(array), attribute.t.name))
    return proto
