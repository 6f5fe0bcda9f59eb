"""What is computed from stored tensors alone, by ONNX's reference."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from trtlint.fixes.patch import MOST_ELEMENTS, NotApplicable, numpy_type
from trtlint.fixes.reference import run_reference
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.process.fork import ComputationError, compute

_MOST_NODES = 256
_TOO_LARGE = "it is too large to be stored"

Array = np.ndarray[Any, np.dtype[Any]]


def computed(value: Value, model: Model) -> Array:
    """The elements of a value that depends on stored tensors alone, or why they cannot be had."""
    nodes: dict[Node, None] = {}
    tensors: dict[str, onnx.TensorProto] = {}
    pending = [value]
    while pending:
        current = pending.pop()
        if current.initializer is not None:
            array = model.constants.payload(current)
            if array is None or math.prod(array.shape) > MOST_ELEMENTS:
                raise NotApplicable("what it is computed from cannot be read, or is too large")
            tensors[current.name] = numpy_helper.from_array(np.asarray(array), current.name)
        elif current.producer is None or len(nodes) > _MOST_NODES:
            raise NotApplicable("what it is computed from cannot be followed")
        elif current.producer not in nodes:
            nodes[current.producer] = None
            pending += [each for each in current.producer.inputs if each is not None]
    protos = [_restored(node, model) for node in sorted(nodes, key=lambda node: node.index)]
    output = helper.make_value_info(value.name, onnx.TypeProto())
    graph = helper.make_graph(protos, "weights", [], [output], list(tensors.values()))
    opsets = [helper.make_opsetid(domain, version) for domain, version in model.opsets.items()]
    proto = helper.make_model(graph, opset_imports=opsets)
    try:
        data = compute(lambda: _result(proto))
    except ComputationError as error:
        raise NotApplicable(f"ONNX's reference does not compute it: {error}") from error
    if not data:
        raise NotApplicable(_TOO_LARGE)
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


def _result(proto: onnx.ModelProto) -> bytes:
    """The only output of a model without inputs, as a tensor; nothing where it is too large."""
    (array,) = run_reference(proto, {})
    tensor: onnx.TensorProto = numpy_helper.from_array(array)
    return bytes(tensor.SerializeToString()) if array.size <= MOST_ELEMENTS else b""


def known(value: Value | None, model: Model) -> Array | None:
    """The elements of a value that hangs on nothing that is fed, in its type; None where one is not known."""
    array = None if value is None else model.constants.array(value)
    if value is None or array is None or np.ma.is_masked(array) or value.dtype is None:
        return None
    return np.asarray(array).astype(numpy_type(value.dtype))


def _restored(node: Node, model: Model) -> onnx.NodeProto:
    """A node with the tensors of its attributes, where the reader left them in the file."""
    proto = onnx.NodeProto()
    proto.CopyFrom(node.proto)
    for attribute in proto.attribute:
        if attribute.HasField("t"):
            array = model.tensors.array(attribute.t)
            if array is not None:
                attribute.t.CopyFrom(numpy_helper.from_array(np.asarray(array), attribute.t.name))
    return proto
