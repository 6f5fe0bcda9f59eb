"""Replace the float types of a model by wider types, to run the model in FP32 or FP64."""

from __future__ import annotations

from collections.abc import Mapping

import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

from trtlint.model.contents import graphs, nodes

Types = Mapping[int, int]
"""A mapping of element types to wider types.  All types are numbers of ``TensorProto.DataType``."""

FP32: Types = {TensorProto.FLOAT16: TensorProto.FLOAT, TensorProto.BFLOAT16: TensorProto.FLOAT}
FP64: Types = dict.fromkeys((*FP32, TensorProto.FLOAT), TensorProto.DOUBLE)
_TYPE_ATTRIBUTES = frozenset({"to", "dtype", "softmax_precision"})
"""Attributes of operators such as Cast, EyeLike, RandomNormal and Attention that name an element type."""


def widen_type(target: onnx.ValueInfoProto, source: onnx.ValueInfoProto, types: Types = FP32) -> None:
    """Copy the declared type of ``source`` to ``target``, with a wider element type."""
    target.CopyFrom(source)
    if target.type.HasField("tensor_type"):
        number = target.type.tensor_type.elem_type
        target.type.tensor_type.elem_type = types.get(number, number)


def widen_tensor(tensor: onnx.TensorProto, types: Types = FP32) -> None:
    """Convert a stored tensor to a wider element type.  Tensors with external data do not change."""
    if tensor.data_type in types and tensor.data_location != TensorProto.EXTERNAL:
        wide = helper.tensor_dtype_to_np_dtype(types[tensor.data_type])
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(wide), tensor.name))


def widen_node(node: NodeProto, types: Types = FP32) -> None:
    """Replace float types in the attributes of a node by wider types."""
    for attribute in node.attribute:
        if attribute.name in _TYPE_ATTRIBUTES and attribute.i in types:
            attribute.i = types[attribute.i]
        elif attribute.type == onnx.AttributeProto.TENSOR:
            widen_tensor(attribute.t, types)
        elif (
            TensorProto.FLOAT in types and node.op_type == "Constant" and attribute.name.startswith("value_f")
        ):
            single = attribute.name == "value_float"
            dims = [] if single else [len(attribute.floats)]
            numbers = [attribute.f] if single else list(attribute.floats)
            wide = helper.make_tensor("", types[TensorProto.FLOAT], dims, numbers)
            attribute.CopyFrom(helper.make_attribute("value", wide))


def widen_model(proto: onnx.ModelProto, types: Types = FP32) -> None:
    """Replace the float types in a model, its bodies and its functions by wider types."""
    for graph in graphs(proto):
        for tensor in graph.initializer:
            widen_tensor(tensor, types)
        for info in (*graph.input, *graph.output):
            widen_type(info, info, types)
        del graph.value_info[:]
    for node in nodes(proto):
        widen_node(node, types)
