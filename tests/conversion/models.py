"""Small models for conversion tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from trtlint.conversion.run import run
from trtlint.conversion.session import ConversionRequest, PendingConversion

PRODUCTS = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[N,8] x) => (float[N,8] y)
{ [first] a = MatMul(x, w) [soft] b = Softplus(a) [second] c = MatMul(b, w) y = Relu(c) }
"""
"""Two products with an operator between them, which share their weights."""
MASKED = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[1,4,8] q, float[1,8,4] k, float[1,4,8] v, bool[1,4,4] m) => (float[1,4,8] y)
< float low = {-3.4e38}, float zero = {0} >
{
  mask = Where(m, zero, low) [qk] s = MatMul(q, k) t = Add(s, mask)
  [sm] p = Softmax(t) [pv] y = MatMul(p, v)
}
"""
"""Attention with a mask of the smallest number of FP32."""


def saved(text: str, path: Path, weights: tuple[int, ...] | None = (8, 8)) -> Path:
    """Save a model, with weights ``w`` if a shape is given."""
    model = onnx.parser.parse_model(text)
    if weights is not None:
        numbers = np.random.default_rng(0).standard_normal(weights).astype(np.float32) / 3
        model.graph.initializer.append(numpy_helper.from_array(numbers, "w"))
    onnx.save(model, path)
    return path


def converted(path: Path, **options: object) -> tuple[onnx.ModelProto, PendingConversion]:
    """Convert a model without a run, and check the result."""
    request = ConversionRequest(path, measure=False, **options)  # type: ignore[arg-type]
    out = path.with_name("out.onnx")
    _, draft = run(request, out)
    model = onnx.load(out)
    onnx.checker.check_model(model, full_check=True)
    return model, draft


def types(model: onnx.ModelProto) -> dict[str, int]:
    """Return the element types of all values by name."""
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True)
    infos = (*inferred.graph.value_info, *inferred.graph.input, *inferred.graph.output)
    found = {info.name: info.type.tensor_type.elem_type for info in infos}
    return found | {tensor.name: tensor.data_type for tensor in inferred.graph.initializer}


def looped() -> onnx.ModelProto:
    """Return a model whose weights are read both outside and inside a Loop body."""
    body = helper.make_graph(
        [
            helper.make_node("MatMul", ["state", "w"], ["next"], name="inner"),
            helper.make_node("Identity", ["go"], ["again"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("state", TensorProto.FLOAT, [2, 4]),
        ],
        [
            helper.make_tensor_value_info("again", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", TensorProto.FLOAT, [2, 4]),
        ],
    )
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["a"], name="outer"),
            helper.make_node("Loop", ["count", "", "a"], ["y"], name="loop", body=body),
        ],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])],
        [
            numpy_helper.from_array(np.eye(4, dtype=np.float32), "w"),
            numpy_helper.from_array(np.array(2, np.int64), "count"),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
