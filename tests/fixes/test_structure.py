"""Tests of structural rewrites: branches, sparse tensors and declared types."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tests.fixes.fixing import Feeds, assert_same, computed, fixed, ops

RTX = ("--rtx", "1.7", "--gpu", "L4", "--verify")
HEAD = '< ir_version: 8, opset_import: ["" : 17] >'
X: Feeds = {"x": np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 9}


def branches(then: str, inputs: str = "float[b,3,4] x", condition: str = "c = Equal (n, three)") -> str:
    """Return a model that squeezes an axis if its size is 1, as in TorchScript. The size is 3."""
    return f"""{HEAD} g ({inputs}) => (float[A,B,C] y)
    < int64[1] ax = {{1}}, int64 one = {{1}}, int64 three = {{3}} >
    {{
      s = Shape (x)  n = Gather <axis = 0> (s, one)  {condition}
      y = If (c) <
        then_branch = t () => (float[D,E,F] p) {{ {then} }},
        else_branch = e () => (float[G,H] q) {{ q = Squeeze (x, ax) }}
      >
    }}"""


@pytest.mark.parametrize(
    ("then", "left"), [("v = Neg (x)  p = Exp (v)", ["Neg", "Exp"]), ("p = Identity (x)", ["Identity"])]
)
def test_the_branch_of_a_known_condition_is_taken(then: str, left: list[str], tmp_path: Path) -> None:
    before, after = fixed(tmp_path, branches(then), *RTX)
    assert ops(after) == left
    assert_same(before, after, X)


def test_bodies_in_the_branch_read_what_is_renamed(tmp_path: Path) -> None:
    inner = """
      v = Neg (x)
      r = If (c) <
        then_branch = t2 () => (float[b,3,4] r2) { w = Relu (v)  r2 = Exp (w) },
        else_branch = e2 () => (float[b,3,4] r3) { w3 = Abs (v)  r3 = Exp (w3) }
      >
      p = Abs (r)"""
    before, after = fixed(tmp_path, branches(inner), *RTX)
    assert ops(after) == ["Shape", "Gather", "Equal", "Neg", "If", "Abs"]
    assert_same(before, after, X)


def test_a_condition_that_is_fed_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, after = fixed(tmp_path, branches("p = Neg (x)", "float[b,3,4] x, bool c", ""), *RTX)
    assert after is None
    assert "known only at run time" in capsys.readouterr().out


@pytest.mark.parametrize("flat", [True, False])
def test_sparse_tensors_are_stored_as_dense_ones(flat: bool, tmp_path: Path) -> None:
    model = onnx.parser.parse_model(f"{HEAD} g (float[2,3] x) => (float[2,4] y) {{ y = MatMul (x, w) }}")
    dense = np.zeros((3, 4), np.float32)
    dense[0, 1], dense[2, 3] = 1.5, -2
    places = np.array([1, 11] if flat else [[0, 1], [2, 3]], np.int64)
    values = numpy_helper.from_array(np.array([1.5, -2], np.float32), "w")
    model.graph.sparse_initializer.append(
        helper.make_sparse_tensor(values, numpy_helper.from_array(places, "places"), [3, 4])
    )
    _, after = fixed(tmp_path, model, *RTX)
    assert after is not None
    assert not after.graph.sparse_initializer
    (stored,) = after.graph.initializer
    np.testing.assert_array_equal(numpy_helper.to_array(stored), dense)
    onnx.checker.check_model(after, full_check=True)


STALE = """g (float16[4] x) => (float[4] y) < float16[4] a >
{ a = Cast <to = 1> (x)  y = Relu (a) }"""


def test_declarations_that_contradict_are_dropped(tmp_path: Path) -> None:
    before, after = fixed(tmp_path, f"{HEAD} {STALE}", *RTX)
    assert after is not None
    assert not after.graph.value_info
    del before.graph.value_info[:]
    assert_same(before, after, {"x": np.arange(4).astype(np.float16)})


def test_a_declared_shape_that_is_wrong_does_not_keep_a_fix_from_being_written(tmp_path: Path) -> None:
    text = f"""{HEAD} g (float[1,8,19,64] q, float[1,8,64,19] kt, float[1,8,19,64] v) => (float[1,8,19,64] o)
    < float s = {{8.0}}, float[1,8,3,3] p >
    {{ a = MatMul (q, kt)  b = Div (a, s)  p = Softmax <axis = -1> (b)  o = MatMul (p, v) }}"""
    _, after = fixed(tmp_path, text, "--trt", "10.7", "--fp16")
    assert after is not None
    onnx.checker.check_model(after, full_check=True)


@pytest.mark.parametrize("opset", [18, 21])
@pytest.mark.parametrize("kind", ["float", "float16"])
def test_a_group_norm_of_one_group_is_written_out(opset: int, kind: str, tmp_path: Path) -> None:
    count = 1 if opset == 18 else 4
    model = onnx.parser.parse_model(
        f'< ir_version: 10, opset_import: ["" : {opset}] > g ({kind}[2,4,3,5] x) => ({kind}[2,4,3,5] y)'
        " { y = GroupNormalization <num_groups = 1, epsilon = 0.01> (x, s, b) }"
    )
    dtype = np.dtype(np.float32 if kind == "float" else np.float16)
    rng = np.random.default_rng(0)
    gain, bias = (rng.normal(size=count).astype(dtype) for _ in range(2))
    for name, array in (("s", gain), ("b", bias)):
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    _, after = fixed(tmp_path, model, *RTX)
    assert "GroupNormalization" not in ops(after)
    x = rng.normal(size=(2, 4, 3, 5)).astype(dtype)
    wide = x.astype(np.float64)
    axes = (1, 2, 3)
    normed = (wide - wide.mean(axes, keepdims=True)) / np.sqrt(wide.var(axes, keepdims=True) + 0.01)
    truth = normed * gain.astype(np.float64).reshape(-1, 1, 1) + bias.astype(np.float64).reshape(-1, 1, 1)
    assert after is not None
    (result,) = computed(after, {"x": x})
    assert result.dtype == dtype
    np.testing.assert_allclose(result.astype(np.float64), truth, atol=1e-5 if kind == "float" else 5e-3)


DIVISION = f"""{HEAD} g (float[4,8] x) => (float[4,8] y)
{{ n = ReduceL2 <axes = [-1], keepdims = 1> (x)  y = Div (x, n) }}"""


def test_an_epsilon_is_put_in_where_that_is_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = ("--trt", "10.7", "--select", "ACC108")
    _, after = fixed(tmp_path, DIVISION, *target)
    assert after is None
    assert "--unsafe applies such rewrites" in capsys.readouterr().out
    _, after = fixed(tmp_path, DIVISION, *target, "--unsafe", "--verify")
    assert ops(after) == ["ReduceL2", "Add", "Div"]
    assert after is not None
    (zeros,) = computed(after, {"x": np.zeros((4, 8), np.float32)})
    assert not zeros.any()
    (ones,) = computed(after, {"x": np.ones((4, 8), np.float32)})
    np.testing.assert_allclose(ones, 8**-0.5, rtol=1e-5)


@pytest.mark.parametrize(("cast", "lowered"), [("<to = 1>", True), ("<saturate = 1, to = 1>", False)])
def test_the_opset_is_lowered_where_nothing_that_was_added_is_used(
    cast: str, lowered: bool, tmp_path: Path
) -> None:
    text = f"""< ir_version: 10, opset_import: ["" : 21] > g (int32[4] x) => (float[4] y)
    {{ y = Cast {cast} (x) }}"""
    _, after = fixed(tmp_path, text, "--trt", "8.6")
    assert (after is not None) is lowered
