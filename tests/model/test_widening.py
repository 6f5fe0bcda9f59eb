"""Tests of models in wider float types."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from trtlint.model.widening import FP32, FP64, Types, widen_model, widen_node

HALF, FLOAT, DOUBLE = TensorProto.FLOAT16, TensorProto.FLOAT, TensorProto.DOUBLE
OTHER = TensorProto.INT32


@pytest.mark.parametrize(
    ("op", "attribute"), [("Cast", "to"), ("EyeLike", "dtype"), ("Attention", "softmax_precision")]
)
@pytest.mark.parametrize(
    ("types", "given", "wide"),
    [(FP32, HALF, FLOAT), (FP64, HALF, DOUBLE), (FP64, FLOAT, DOUBLE), (FP32, OTHER, OTHER)],
)
def test_attributes_that_name_a_type(op: str, attribute: str, types: Types, given: int, wide: int) -> None:
    attributes: dict[str, Any] = {attribute: given}
    node = helper.make_node(op, ["x"], ["y"], **attributes)
    widen_node(node, types)
    assert node.attribute[0].i == wide


def test_constants_become_tensors_of_the_wide_type() -> None:
    node = helper.make_node("Constant", [], ["y"], value_floats=[1.0, 2.0])
    widen_node(node, FP64)
    found = numpy_helper.to_array(node.attribute[0].t)
    assert (node.attribute[0].name, found.dtype, found.tolist()) == ("value", np.float64, [1.0, 2.0])
    single = helper.make_node("Constant", [], ["y"], value_float=0.5)
    widen_node(single, FP32)  # it is FP32 already
    assert single.attribute[0].name == "value_float"


def test_a_model_with_a_body() -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float16[2] x, bool c, int64[2] n) => (float16[2] y) <float16[2] w = {1, 2}> {
      y = If (c) <
        then_branch = t () => (float16[2] a) <float16[2] v = {3, 4}> { a = Add (x, v) },
        else_branch = e () => (float16[2] b) { b = Mul (x, w) }
      >
    }
    """
    model = onnx.parser.parse_model(text)
    widen_model(model)
    (branch,) = (each.g for each in model.graph.node[0].attribute if each.name == "then_branch")
    stored = [model.graph.initializer[0], branch.initializer[0]]
    values = [np.array(bits, np.uint16).view(np.float16).tolist() for bits in ([1, 2], [3, 4])]
    assert [numpy_helper.to_array(each).tolist() for each in stored] == values  # the text has bits
    assert {each.data_type for each in stored} == {FLOAT}
    declared = [*model.graph.input, *model.graph.output, *branch.output]
    assert [each.type.tensor_type.elem_type for each in declared] == [
        FLOAT, TensorProto.BOOL, TensorProto.INT64, FLOAT, FLOAT,
    ]  # fmt: skip
