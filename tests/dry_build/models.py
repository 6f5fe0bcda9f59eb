"""Models that trigger specific messages of NVIDIA's parser and builder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BUILT = """
< ir_version: 8, opset_import: ["" : 17] >
plain (float[batch, 3, height, width] x) => (float[batch, 3, height, width] y)
{ [relu] y = Relu(x) }
"""
MIXED = """
< ir_version: 8, opset_import: ["" : 17] >
mixed (float16[4] x) => (float16[4] y)
<float[1] half = {0.5}>
{
  a = Relu(x)
  [mixed_add] b = Add(a, half)
  y = Relu(b)
}
"""
"""Operands of two types: the parser stops at ``mixed_add``."""
UNKNOWN = """
< ir_version: 8, opset_import: ["" : 17, "house" : 1] >
unknown (float[4] x) => (float[4] y)
{ [mine] y = house.Frobnicate(x) }
"""
UNSUPPORTED_TWICE = """
< ir_version: 8, opset_import: ["" : 17] >
twice (float[4] x) => (float[4] y)
{
  [one] a = Unique(x)
  [two] y = Unique(a)
}
"""
NO_KERNEL = """
< ir_version: 11, opset_import: ["" : 23] >
kernel (float[2, 4, 128, 64] q, float[2, 4, 128, 64] k, float[2, 4, 128, 64] v) => (float[2, 4, 128, 64] y)
{ [attn] y = Attention(q, k, v) }
"""
"""Attention in FP32: the parser accepts the model, and the builder has no kernel for it."""


def write(folder: Path, text: str, name: str = "model.onnx") -> Path:
    """Write a model from ONNX text."""
    path = folder / name
    onnx.save(onnx.parser.parse_model(text), path)
    return path


def crashing(folder: Path) -> Path:
    """Return a quantizer with an input as scale, on which the builder has a segmentation fault."""
    weight = numpy_helper.from_array(np.ones((32, 32, 3, 3), np.float16), "w")
    scale = numpy_helper.from_array(np.full(32, 0.5, np.float16), "w_scale")
    zero = numpy_helper.from_array(np.zeros(32, np.int8), "w_zero")
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s"], ["x_q"]),
        helper.make_node("DequantizeLinear", ["x_q", "s"], ["x_dq"]),
        helper.make_node("QuantizeLinear", ["w", "w_scale", "w_zero"], ["w_q"], axis=0),
        helper.make_node("DequantizeLinear", ["w_q", "w_scale", "w_zero"], ["w_dq"], axis=0),
        helper.make_node("Conv", ["x_dq", "w_dq"], ["y"], pads=[1, 1, 1, 1], name="conv"),
    ]
    half = TensorProto.FLOAT16
    graph = helper.make_graph(
        nodes,
        "crash",
        [
            helper.make_tensor_value_info("x", half, [1, 32, 32, 32]),
            helper.make_tensor_value_info("s", half, []),
        ],
        [helper.make_tensor_value_info("y", half, [1, 32, 32, 32])],
        [weight, scale, zero],
    )
    path = folder / "crash.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return path


def with_external(folder: Path, size: int = 64, location: str = "weights.bin") -> Path:
    """Return a product with a matrix of ``size`` × ``size`` in a missing file, and an inline bias."""
    tensors = []
    place = 0
    for name, dims in (("w", [size, size]), ("b", [size])):
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=dims)
        tensor.data_location = TensorProto.EXTERNAL
        length = 4 * int(np.prod(dims))
        for key, value in (("location", location), ("offset", str(place)), ("length", str(length))):
            tensor.external_data.add(key=key, value=value)
        place += length
        tensors.append(tensor)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"], name="product"),
        helper.make_node("Add", ["m", "b"], ["y"], name="bias"),
    ]
    graph = helper.make_graph(
        nodes,
        "external",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, size])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, size])],
        tensors,
    )
    path = folder / "external.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path
