"""Types of 16 bits written as FP32, so that a model can be computed in FP32 whatever its file says."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, numpy_helper

_NARROW = frozenset({TensorProto.FLOAT16, TensorProto.BFLOAT16})
_TYPE_ATTRIBUTES = frozenset({"to", "dtype"})
"""Attributes that name an element type: of Cast, EyeLike, RandomNormal and their like."""


def widen_type(target: onnx.ValueInfoProto, source: onnx.ValueInfoProto) -> None:
    """Copy what a model declares of an input or output, its element type FP32 where it is of 16 bits."""
    target.CopyFrom(source)
    if target.type.HasField("tensor_type") and target.type.tensor_type.elem_type in _NARROW:
        target.type.tensor_type.elem_type = TensorProto.FLOAT


def widen_node(node: NodeProto) -> None:
    """Let a node compute FP32 where it would compute a type of 16 bits."""
    for attribute in node.attribute:
        if attribute.name in _TYPE_ATTRIBUTES and attribute.i in _NARROW:
            attribute.i = TensorProto.FLOAT
        elif attribute.type == onnx.AttributeProto.TENSOR and attribute.t.data_type in _NARROW:
            array = numpy_helper.to_array(attribute.t).astype(np.float32)
            attribute.t.CopyFrom(numpy_helper.from_array(array, attribute.t.name))
