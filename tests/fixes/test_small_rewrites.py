"""Tests of one-operator rewrites: name, default, bounds and type."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.fixes.fixing import assert_same, computed, fixed, ops
from trtlint.examples.models import model_of_text

HEAD = '< ir_version: 10, opset_import: ["" : {opset}] >'
RNG = np.random.default_rng(2)


def model_of(text: str, folder: Path, opset: int = 17) -> onnx.ModelProto:
    """Return a model whose text has 16-bit values as numbers."""
    path = folder / "source.onnx"
    model_of_text(f"{HEAD.format(opset=opset)} {text}", path, checked=True)
    return onnx.load(path)


SAMPLE = """g (float[1,2,8,8] x, float[1,4,4,2] grid) => (float[1,2,4,4] y)
{ y = GridSample <mode = "%s", padding_mode = "border", align_corners = 1> (x, grid) }"""


def test_the_mode_of_sampling_is_left_out_where_it_is_the_default(tmp_path: Path) -> None:
    model = model_of(SAMPLE % "linear", tmp_path, 20)
    before, after = fixed(tmp_path, model, "--trt", "11.1", "--verify")
    assert after is not None
    (node,) = after.graph.node
    assert sorted(attribute.name for attribute in node.attribute) == ["align_corners", "padding_mode"]
    feeds = {"x": RNG.normal(size=(1, 2, 8, 8)), "grid": RNG.uniform(-1.2, 1.2, (1, 4, 4, 2))}
    assert_same(before, after, {name: array.astype(np.float32) for name, array in feeds.items()}, rtol=0)


def test_another_mode_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, after = fixed(tmp_path, model_of(SAMPLE % "cubic", tmp_path, 20), "--trt", "11.1")
    assert after is None
    assert "no other operator can replace cubic sampling" in capsys.readouterr().out


CLIPS = {
    17: "< float[3,4] w = {1,2,3,4,5,6,7,8,9,1,1,1}, float[4] b = {0,1,2,3}, float lo = {0}, float hi = {1} >"
    " { m = MatMul (x, w)  a = Add (m, b)  y = Clip (a, lo, hi) }",
    10: "< float[3,4] w = {1,2,3,4,5,6,7,8,9,1,1,1}, float[4] b = {0,1,2,3} >"
    " { m = MatMul (x, w)  a = Add (m, b)  y = Clip <min = 0.0, max = 1.0> (a) }",
}


@pytest.mark.parametrize("opset", CLIPS)
def test_a_clip_is_a_minimum(opset: int, tmp_path: Path) -> None:
    text = f"g (float[6,3] x) => (float[6,4] y) {CLIPS[opset]}"
    before, after = fixed(tmp_path, model_of(text, tmp_path, opset), "--trt", "10.13", "--verify")
    assert ops(after) == ["MatMul", "Add", "Relu", "Min"]
    assert_same(before, after, {"x": RNG.normal(size=(6, 3)).astype(np.float32)}, rtol=0)


def test_operators_of_one_name_are_numbered(tmp_path: Path) -> None:
    text = """g (float[4] x) => (float[4] y)
    { [n] a = Relu (x)  [n_1] b = Exp (a)  [n] c = Neg (b)  [n] y = Abs (c) }"""
    before, after = fixed(tmp_path, model_of(text, tmp_path), "--trt", "10.8", "--verify")
    assert after is not None
    assert [node.name for node in after.graph.node] == ["n", "n_1", "n_2", "n_3"]
    assert_same(before, after, {"x": RNG.normal(size=4).astype(np.float32)}, rtol=0)


@pytest.mark.parametrize(("between", "widened"), [("r = Floor (h)", True), ("r = Gather (h, at)", False)])
def test_whole_numbers_are_computed_with_in_fp32(
    between: str, widened: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tests half of a length: FP16 represents integers up to 2,048."""
    text = f"""g (int64[6] l) => (int64[6] y)
    < float16 one = {{1}}, float16 two = {{2}}, int64[6] at = {{0, 1, 2, 3, 4, 5}} >
    {{ f = Cast <to = 10> (l)  a = Add (f, one)  h = Div (a, two)  {between}  y = Cast <to = 7> (r) }}"""
    _, after = fixed(tmp_path, model_of(text, tmp_path), "--trt", "11.4", "--verify")
    if not widened:
        assert after is None
        assert (
            "operators other than arithmetic between the Cast to a float type and the Cast back"
            in capsys.readouterr().out
        )
        return
    assert after is not None
    lengths = np.array([1, 2, 2047, 4097, 10_001, 65_000])
    np.testing.assert_array_equal(computed(after, {"l": lengths})[0], (lengths + 1) // 2)


def test_one_sum_in_fp32_is_the_same_to_the_last_bit(tmp_path: Path) -> None:
    text = """g (float16[1,8,4,4] x) => (float16[1,12,4,4] k) < float16[4,4,1,1] w = {} >
    {
      h, s = Split <axis = 1> (x)  b = Conv (s, w)  a = Sigmoid (b)  n = Mul (a, b)
      c = Conv (n, w)  g = Sigmoid (c)  m = Mul (c, g)
      o = Add (s, m)  k = Concat <axis = 1> (h, s, o)
    }"""
    before, after = fixed(tmp_path, model_of(text, tmp_path), "--trt", "11.2", "--preview", "--verify")
    assert ops(after).count("Cast") == 3
    x = RNG.normal(size=(1, 8, 4, 4)).astype(np.float16)
    assert_same(before, after, {"x": x}, rtol=0)


def test_a_norm_whose_variance_is_in_fp64_is_computed_in_it(tmp_path: Path) -> None:
    """TorchScript writes epsilon as a Python number in LayerNorm of half models below opset 17."""
    text = """g (float16[2,3,8] x) => (float16[2,3,8] y) < double eps = {1e-5}, double two = {2} >
    {
      mean = ReduceMean <axes = [-1]> (x)  centred = Sub (x, mean)  wide = Cast <to = 11> (centred)
      squares = Pow (wide, two)  variance = ReduceMean <axes = [-1]> (squares)  shifted = Add (variance, eps)
      root = Sqrt (shifted)  divided = Div (wide, root)  y = Cast <to = 10> (divided)
    }"""
    before, after = fixed(tmp_path, model_of(text, tmp_path, 14), "--rtx", "1.7", "--verify")
    assert after is not None
    inferred = onnx.shape_inference.infer_shapes(after, strict_mode=True)
    types = {value.name: value.type.tensor_type.elem_type for value in inferred.graph.value_info}
    means = [node.output[0] for node in after.graph.node if node.op_type == "ReduceMean"]
    assert [types[name] for name in means] == [onnx.TensorProto.DOUBLE] * 2
    assert_same(before, after, {"x": RNG.normal(size=(2, 3, 8)).astype(np.float16)}, rtol=2e-3)
