"""Tests of language functions on the numbers of values and their storage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tests.graphs import model_of, model_of_bodies
from trtlint.language import valuefunctions
from trtlint.language.functions import FUNCTIONS
from trtlint.model.load import load


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("v = Sigmoid (x)", True),
        ("s = Softmax (x) t = Transpose (s) v = Slice (t, zero, one)", True),
        ("s = Sigmoid (x) v = Mul (s, half)", True),
        ("s = Sigmoid (x) v = Mul (s, below)", False),
        ("v = Mul (x, x)", True),
        ("s = Sigmoid (x) v = Mul (s, x)", False),
        ("s = Sigmoid (x) v = Sub (s, half)", False),
        ("a = Relu (x) v = Concat <axis = 0> (a, x)", False),
        ("i = ArgMax (x) v = Cast <to = 1> (i)", True),
        ("v = Identity (x)", False),
        ("v = my.Sigmoid (x)", False),
        ("s = Sigmoid (x) v = my.Identity (s)", False),
        ("s = Sigmoid (x) v = Pow (s, below)", True),
        ("s = Sigmoid (x) v = Where (c, s, half)", True),
        ("s = Sigmoid (x) v = Where (c, s, x)", False),
        ("s = Sigmoid (x) v = Where (c, x, s)", False),
        ("s = Sigmoid (x) v, i = TopK (s, one)", True),
        ("v, i = TopK (x, one)", False),
        ("i, v = TopK (x, one)", False),
        ("s = Sigmoid (x) i, k = TopK (s, one) v = Cast <to = 1> (k)", True),
        ("v = Mul (half, half)", True),
        ("v = Mul (x, x, x)", False),
        ("v = Identity (half)", True),
        ("v = Identity (below)", False),
        ("v = Identity (none)", True),
        ("v = Identity (mixed)", False),
        ("v = Identity (empty)", True),
        ("v = Cast <to = 1> (u)", True),
        ("v = Cast <to = 1> (c)", True),
        ("s = Sigmoid (x) v = Min (s, half, x)", False),
        ("s = Sigmoid (x) v = Sum (s, half, s)", True),
        ("v = Neg (x)", False),
    ],
)
def test_never_negative(body: str, expected: bool) -> None:
    text = f"""
    < ir_version: 8, opset_import: ["" : 17, "my" : 1] >
    g (float[4,4] x, bool[4,4] c, uint8[4,4] u) => (float[A,B] v)
    < int64[1] zero = {{0}}, int64[1] one = {{1}}, float half = {{0.5}}, float below = {{-0.5}},
      float none = {{0}}, float[3] mixed = {{1, -1, 1}}, float[0] empty = {{}} > {{ {body} }}
    """
    model = model_of(text)
    assert FUNCTIONS["never_negative"].call(model.constants, model.graph.outputs[0]) is expected


def test_the_search_for_a_sign_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search visits the values v, a and x."""
    model = model_of_bodies(["s = Sigmoid (x)  a = Identity (s)  v = Identity (a)"], "float[4] x")
    value = model.graph.nodes[-1].output
    for most, expected in ((3, True), (2, False)):
        monkeypatch.setattr(valuefunctions, "_MOST_VISITED", most)
        assert FUNCTIONS["never_negative"].call(model.constants, value) is expected


def test_stored_numbers_need_constants() -> None:
    model = model_of_bodies(
        ["v = Identity (half)"], "float[4] x", "float half = {0.5}, uint8[2] few = {1, 2}"
    )
    value = model.graph.nodes[0].output
    assert FUNCTIONS["never_negative"].call(None, value) is False
    assert FUNCTIONS["in_int32_data"].call(None, (value,)) is None
    assert FUNCTIONS["in_int32_data"].call(model.constants, (1, value)) is False


@pytest.mark.parametrize("count", [1, 3, 70_000])
@pytest.mark.parametrize("raw", [False, True])
def test_uint8_in_int32_data(tmp_path: Path, count: int, raw: bool) -> None:
    numbers = np.full(count, 200, np.uint8)
    tensor = numpy_helper.from_array(numbers, "k")
    if not raw:
        tensor = helper.make_tensor("k", onnx.TensorProto.UINT8, [count], numbers)
    node = helper.make_node("Cast", ["k"], ["y"], to=onnx.TensorProto.FLOAT)
    output = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [count])
    graph = helper.make_graph([node], "g", [], [output], [tensor])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    model = load(tmp_path / "m.onnx")
    (node_read,) = model.graph.nodes
    expected = count > 1 and not raw
    assert FUNCTIONS["in_int32_data"].call(model.constants, node_read.inputs) is expected


def test_the_first_element_that_a_list_lacks() -> None:
    first_not_in = FUNCTIONS["first_not_in"].call
    assert first_not_in(None, ("Tanh", "tanh", "relu"), ("Tanh", "Relu")) == "tanh"
    assert first_not_in(None, ("Tanh",), ("Tanh", "Relu")) is None


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("q = Identity (x) k = Identity (q)", True),
        ("q = Identity (x) k = Neg (x)", False),
        ("q = Neg (x) k = Neg (x)", True),
        ("q = Neg (x) k = Neg (z)", False),
        ("q = Neg (x) k = my.Neg (x)", False),
        ("c = Identity (x) n = Neg (x) m = Neg (c) q = Abs (n) k = Abs (m)", True),
        ("q = Transpose <perm = [0, 1]> (x) k = Transpose <perm = [1, 0]> (x)", False),
        ("q = Reshape (x, s) k = Reshape (x, t)", True),
        ("q = Reshape (x, s) k = Reshape (x, u)", False),
        ("q, k = Split <axis = 0> (x)", False),
        ("q = Sum (x, z) k = Sum (x)", False),
        ("q = Clip (x, l) k = Clip (x, , l)", False),
        ("q = Clip (x, l) k = Clip (x, l)", True),
        ("q = MatMul (x, z) k = MatMul (x, z)", False),
        ('q = Einsum <equation = "ij,jk->ik"> (x, z) k = Einsum <equation = "ij,jk->ik"> (x, z)', True),
        ("q = RandomNormalLike (x) k = RandomNormalLike (x)", False),
        (
            " ".join(f"q{i + 1} = Neg (q{i}) k{i + 1} = Neg (k{i})" for i in range(600)).replace(
                "(k0)", "(q0)"
            )
            + " q = Identity (q600) k = Identity (k600)",
            False,
        ),
    ],
)
def test_same(body: str, expected: bool) -> None:
    text = f"""
    < ir_version: 8, opset_import: ["" : 17, "my" : 1] >
    g (float[4,4] x, float[4,4] z) => (float[A,B] q, float[C,D] k)
    < int64[2] s = {{2, 8}}, int64[2] t = {{2, 8}}, int64[2] u = {{8, 2}}, float l = {{0.5}} >
    {{ q0 = Identity (x) {body} }}"""
    model = model_of(text)
    one, other = (model.graph.values[name][0] for name in "qk")
    assert FUNCTIONS["same"].call(model.constants, one, other) is expected


def test_origin() -> None:
    text = """< ir_version: 8, opset_import: ["" : 17] >
    g (float[4,4] x) => (float16[4,4] y)
    { t = Transpose (x) n = Neg (t) c = Cast <to = 10> (n) y = Transpose (c) }"""
    values = model_of(text).graph.values
    assert FUNCTIONS["origin"].call(None, values["y"][0]) == "Neg"
    assert FUNCTIONS["origin"].call(None, values["t"][0]) == ""
