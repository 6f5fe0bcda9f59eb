"""Tests of the diff between two versions of a model."""

from __future__ import annotations

import onnx

from tests.report.handmade import CHAIN
from trtlint.report.modeldiff import difference, model_lines


def test_the_lines_of_a_model() -> None:
    proto = onnx.parser.parse_model(CHAIN)
    large = onnx.helper.make_tensor("large", onnx.TensorProto.FLOAT16, [3, 3], [0.0] * 9)
    edge = onnx.helper.make_tensor("edge", onnx.TensorProto.INT64, [2, 4], list(range(8)))
    outside = onnx.helper.make_tensor("outside", onnx.TensorProto.FLOAT, [1], [0.0])
    outside.data_location = onnx.TensorProto.EXTERNAL
    proto.graph.initializer.extend([large, edge, outside])
    proto.graph.node[0].metadata_props.add(key="k", value="v")
    assert model_lines(proto)[:8] == [
        "opset ai.onnx 17",
        "opset com.x 1",
        "f32[] s = 0.5",
        "f16[3,3] large",
        "i64[2,4] edge = [[0, 1, 2, 3], [4, 5, 6, 7]]",
        "f32[1] outside",
        "a = Mul (x, s)",
        "b = Exp (a)",
    ]


def test_a_difference() -> None:
    before, after = map(onnx.parser.parse_model, (CHAIN, CHAIN.replace("Cos", "Relu")))
    assert list(difference(before, after, "m.onnx")) == [
        "--- a/m.onnx",
        "+++ b/m.onnx",
        "@@ -5,5 +5,5 @@",
        " b = Exp (a)",
        " c = Sin (b)",
        "-d = Cos (c)",
        "+d = Relu (c)",
        " e = Abs (d)",
        " y = Neg (e)",
    ]


def test_no_difference() -> None:
    model = onnx.parser.parse_model(CHAIN)
    assert list(difference(model, model, "m.onnx")) == []
