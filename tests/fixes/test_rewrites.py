"""Tests of accuracy and speed rewrites: the finding disappears and the results stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.fixes.fixing import assert_same, computed, fixed, ops

RNG = np.random.default_rng(11)
TRT = ("--trt", "10.7", "--fp16", "--verify")


def head(opset: int) -> str:
    return f'< ir_version: 8, opset_import: ["" : {opset}] >'


def tensor(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.normal(size=shape).astype(np.float32)


ATTENTION = "(float[1,8,19,64] q, float[1,8,64,19] kt, float[1,8,19,64] v) => (float[1,8,19,64] o)"
QKV = {"q": tensor(1, 8, 19, 64), "kt": tensor(1, 8, 64, 19), "v": tensor(1, 8, 19, 64)}


def test_a_scale_behind_the_scores_goes_to_q(tmp_path: Path) -> None:
    text = f"""{head(17)} g {ATTENTION} < float s = {{8.0}} >
    {{ a = MatMul (q, kt)  b = Div (a, s)  p = Softmax <axis = -1> (b)  o = MatMul (p, v) }}"""
    before, after = fixed(tmp_path, text, *TRT)
    assert ops(after) == ["Mul", "MatMul", "Softmax", "MatMul"]
    assert_same(before, after, QKV)


def test_a_scale_computed_from_the_shape_stays_computed(tmp_path: Path) -> None:
    text = f"""{head(17)}
    g (float[N,8,19,D] q, float[N,8,D,19] kt, float[N,8,19,D] v) => (float[N,8,19,D] o)
    < int64[1] last = {{-1}}, int64[1] end = {{9223372036854775807}}, float one = {{1}} >
    {{
      shape = Shape (q)  d = Slice (shape, last, end)  df = Cast <to = 1> (d)  sd = Sqrt (df)
      scale = Div (one, sd)  root = Sqrt (scale)  qs = Mul (q, root)  ks = Mul (kt, root)
      a = MatMul (qs, ks)  p = Softmax <axis = -1> (a)  o = MatMul (p, v)
    }}"""
    before, after = fixed(tmp_path, text, *TRT)
    assert ops(after).count("Mul") == 2  # the roots with each other, and Q with both
    assert_same(before, after, QKV)


def test_scores_that_are_an_output_are_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = f"""{head(17)} g {ATTENTION[:-1]}, float[1,8,19,19] a) < float s = {{0.125}} >
    {{ a = MatMul (q, kt)  b = Mul (a, s)  p = Softmax <axis = -1> (b)  o = MatMul (p, v) }}"""
    _, after = fixed(tmp_path, text, *TRT)
    assert after is None
    assert "other operators also read" in capsys.readouterr().out


def test_heads_are_padded(tmp_path: Path) -> None:
    text = f"""{head(17)}
    g (float[1,8,19,20] q, float[1,8,20,19] kt, float[1,8,19,12] v) => (float[1,8,19,12] o)
    {{ a = MatMul (q, kt)  p = Softmax <axis = -1> (a)  o = MatMul (p, v) }}"""
    before, after = fixed(tmp_path, text, *TRT)
    assert ops(after).count("Pad") == 3
    feeds = {"q": tensor(1, 8, 19, 20), "kt": tensor(1, 8, 20, 19), "v": tensor(1, 8, 19, 12)}
    assert_same(before, after, feeds)


def test_channels_first_attention_gets_a_fourth_axis(tmp_path: Path) -> None:
    text = f"""{head(17)} g (float16[6,192,19] x) => (float16[6,64,19] o) < int64[3] parts = {{64, 64, 64}} >
    {{
      q, k, v = Split <axis = 1> (x, parts)  qt = Transpose <perm = [0, 2, 1]> (q)
      a = MatMul (qt, k)  p = Softmax <axis = 2> (a)
      pt = Transpose <perm = [0, 2, 1]> (p)  o = MatMul (v, pt)
    }}"""
    _, after = fixed(tmp_path, text, "--trt", "11.4", "--gpu", "L4")
    assert after is None  # V comes first here, and what lies between is turned: not this form
    text = f"""{head(17)} g (float16[6,192,19] x) => (float16[6,19,64] o) < int64[3] parts = {{64, 64, 64}} >
    {{
      q, k, v = Split <axis = 1> (x, parts)  qt = Transpose <perm = [0, 2, 1]> (q)
      vt = Transpose <perm = [0, 2, 1]> (v)
      a = MatMul (qt, k)  p = Softmax <axis = 2> (a)  o = MatMul (p, vt)
    }}"""
    before, after = fixed(tmp_path, text, "--trt", "11.4", "--gpu", "L4", "--verify")
    assert ops(after).count("Unsqueeze") == 3
    assert_same(before, after, {"x": tensor(6, 192, 19).astype(np.float16)}, rtol=1e-2)


NORM = """g ({kind}[2,5,16] x) => ({kind}[2,5,16] y) < {kind} two = {{2}}, {kind} eps = {{0.001}} >
{{
  m = ReduceMean <axes = [-1]> (x)  c = Sub (x, m)  s = Pow (c, two)  var = ReduceMean <axes = [-1]> (s)
  e = Add (var, eps)  r = Sqrt (e)  y = Div (c, r)
}}"""


def test_a_norm_in_fp16_is_computed_in_fp32(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(f"{head(17)} {NORM.format(kind='float')}".replace("float[", "float16["))
    for stored in model.graph.initializer:
        half = onnx.numpy_helper.to_array(stored).astype(np.float16)
        stored.CopyFrom(onnx.numpy_helper.from_array(half, stored.name))
    _, after = fixed(tmp_path, model, *TRT)
    assert after is not None
    large = (tensor(2, 5, 16) * 1000).astype(np.float16)  # its squares overflow FP16
    wide = large.astype(np.float64)
    truth = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-3)
    np.testing.assert_allclose(computed(after, {"x": large})[0], truth, atol=5e-3)


@pytest.mark.parametrize("opset", [13, 17])
def test_a_norm_in_fp32_becomes_one_operator(opset: int, tmp_path: Path) -> None:
    text = f"{head(opset)} {NORM.format(kind='float')}"
    before, after = fixed(tmp_path, text, *TRT)
    assert ops(after) == ["LayerNormalization"]
    assert after is not None
    assert after.opset_import[0].version == 17
    assert_same(before, after, {"x": tensor(2, 5, 16)})


@pytest.mark.parametrize("dims", ["b,s,d", "2,5,16", "b,s,16"])
@pytest.mark.parametrize("gain", ["Mul (z, gain)", "Identity (z)"])
def test_a_gain_has_the_size_of_the_last_axis(
    dims: str, gain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"{head(17)} {NORM.format(kind='float')}".replace("[2,5,16]", f"[{dims}]")
    tail = f"z = Div (c, r)  n = {gain}  y = Add (n, bias)"
    model = onnx.parser.parse_model(text.replace("y = Div (c, r)", tail))
    for name in ("gain", "bias"):
        model.graph.initializer.append(onnx.numpy_helper.from_array(tensor(16), name))
    before, after = fixed(tmp_path, model, *TRT)
    if "gain" not in gain and dims == "b,s,d":
        assert after is None
        assert "the last axis has no static size, and the norm has no stored scale" in capsys.readouterr().out
    else:
        assert ops(after)[0] == "LayerNormalization"
        assert len(ops(after)) == (1 if "gain" in gain else 3)
        assert_same(before, after, {"x": tensor(2, 5, 16)})


def test_an_epsilon_that_is_not_known_is_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"{head(17)} {NORM.format(kind='float')}"
    text = text.replace("float eps = {0.001}", "float[1,2,1] eps = {0.001, 0.002}")
    _, after = fixed(tmp_path, text.replace("[2,5,16]", "[2,2,16]"), *TRT)
    assert after is None
    assert "the epsilon is not known" in capsys.readouterr().out


RMS = """g ({kind}[2,5,16] x) => ({kind}[2,5,16] y)
< {kind} two = {{2}}, {kind} eps = {{0.001}}, {kind} one = {{1}} >
{{
  s = {square}  var = ReduceMean <axes = [-1]> (s)  e = Add (var, eps)  r = Sqrt (e)  {division}
}}"""


@pytest.mark.parametrize("square", ["Mul (x, x)", "Pow (x, two)"])
@pytest.mark.parametrize(
    "division", ["y = Div (x, r)", "i = Reciprocal (r)  y = Mul (x, i)", "i = Div (one, r)  y = Mul (i, x)"]
)
def test_an_rms_norm_in_fp32_becomes_one_operator(square: str, division: str, tmp_path: Path) -> None:
    text = f"{head(17)} {RMS.format(kind='float', square=square, division=division)}"
    before, after = fixed(tmp_path, text, "--trt", "10.15", "--fp16", "--verify")
    assert ops(after) == ["RMSNormalization"]
    assert after is not None
    assert after.opset_import[0].version == 23
    assert_same(before, after, {"x": tensor(2, 5, 16)})


def test_weights_are_folded(tmp_path: Path) -> None:
    text = f"""{head(17)} g (float[1,3,8,8] x) => (float[1,4,6,6] y)
    {{ m = ReduceMean <axes = [1, 2, 3]> (w)  c = Sub (w, m)  y = Conv (x, c) }}"""
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(onnx.numpy_helper.from_array(tensor(4, 3, 3, 3), "w"))
    before, after = fixed(tmp_path, model, *TRT)
    assert ops(after) == ["Conv"]
    assert_same(before, after, {"x": tensor(1, 3, 8, 8)})


def test_masks_are_brought_into_the_range_of_fp16(tmp_path: Path) -> None:
    text = f"""{head(17)} g (float[1,8,19,64] q, float[1,8,64,19] kt, float[1,8,19,64] v, bool[19,19] m)
    => (float[1,8,19,64] o) < float low = {{-3.4e38}} >
    {{ a = MatMul (q, kt)  b = Where (m, a, low)  p = Softmax <axis = -1> (b)  o = MatMul (p, v) }}"""
    before, after = fixed(tmp_path, text, *TRT)
    assert after is not None
    lowest = min(onnx.numpy_helper.to_array(t).min() for t in after.graph.initializer)
    assert lowest == -np.inf
    assert_same(before, after, {**QKV, "m": RNG.integers(0, 2, (19, 19)).astype(bool)})


def test_the_opset_is_lowered_where_nothing_changes_by_that(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"{head(24)} g (float[4] x) => (float[4] y) {{ y = Relu (x) }}"
    _, after = fixed(tmp_path, text, "--trt", "10.7", "--select", "PORT114")
    assert after is not None
    assert after.opset_import[0].version == 17
    text = f"{head(23)} g (float[2,8] x, float[8] w) => (float[2,8] y) {{ y = RMSNormalization (x, w) }}"
    (tmp_path / "model.fixed.onnx").unlink()
    _, after = fixed(tmp_path, text, "--trt", "10.7", "--select", "PORT114")
    assert after is None
    assert "lower-opset: opset 22 has no RMSNormalization" in capsys.readouterr().out


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("share", [0, 4])
def test_rotary_embeddings_are_written_out(interleaved: int, share: int, tmp_path: Path) -> None:
    width = (share or 8) // 2
    attributes = f"interleaved = {interleaved}, rotary_embedding_dim = {share}"
    places = RNG.integers(0, 16, (2, 6)).astype(np.int64)
    cache = {"c": tensor(16, width), "s": tensor(16, width), "p": places}
    text = f"""{head(23)} g (float[2,6,32] x, float[16,{width}] c, float[16,{width}] s, int64[2,6] p)
    => (float[2,6,32] y) {{ y = RotaryEmbedding <num_heads = 4, {attributes}> (x, c, s, p) }}"""
    before, after = fixed(tmp_path, text, "--trt", "10.7", "--verify")
    assert "RotaryEmbedding" not in ops(after)
    assert_same(before, after, {"x": tensor(2, 6, 32), **cache})
    text = f"""{head(23)} g (float[2,4,6,8] x, float[2,6,{width}] c, float[2,6,{width}] s)
    => (float[2,4,6,8] y) {{ y = RotaryEmbedding <{attributes}> (x, c, s) }}"""
    before, after = fixed(tmp_path, text, "--trt", "10.7", "--verify")
    assert "RotaryEmbedding" not in ops(after)
    feeds = {"x": tensor(2, 4, 6, 8), "c": tensor(2, 6, width), "s": tensor(2, 6, width)}
    assert_same(before, after, feeds)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("sizes", [(8, 5), (16, 3), (4, 17)])
def test_a_resize_with_antialias_becomes_sums(mode: str, sizes: tuple[int, int], tmp_path: Path) -> None:
    high, wide = sizes
    text = f"""{head(18)} g (float[1,3,16,12] x) => (float[1,3,{high},{wide}] y)
    < int64[4] z = {{1, 3, {high}, {wide}}} > {{ y = Resize <mode = "{mode}", antialias = 1> (x, , , z) }}"""
    before, after = fixed(tmp_path, text, "--rtx", "1.7")
    assert "Resize" not in ops(after)
    assert_same(before, after, {"x": tensor(1, 3, 16, 12)}, rtol=1e-4)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_a_resize_keeps_what_is_no_number_where_it_is(number: float, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    text = f"""{head(18)} g (float[1,1,4,8] x) => (float[1,1,2,4] y) < int64[4] z = {{1, 1, 2, 4}} >
    {{ y = Resize <mode = "linear", antialias = 1> (x, , , z) }}"""
    before, after = fixed(tmp_path, text, "--rtx", "1.7")
    assert after is not None
    one, other = (runtime.InferenceSession(each.SerializeToString()) for each in (before, after))
    for place in range(32):
        x = tensor(1, 1, 4, 8)
        x.reshape(-1)[place] = number
        expected, found = (session.run(None, {"x": x})[0] for session in (one, other))
        assert not np.isfinite(expected).all()
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_a_resize_by_a_scale_of_the_run_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = f"""{head(18)} g (float[1,3,16,12] x, float[n,1] other) => (float[1,3,8,6] y)
    < int64[3] ones = {{1, 1, 1}}, float two = {{2}} >
    {{
      sizes = Shape <end = 1> (other)
      all = Concat <axis = 0> (ones, sizes)
      floats = Cast <to = 1> (all)
      scales = Div (floats, two)
      y = Resize <mode = "linear", antialias = 1> (x, , scales)
    }}"""
    assert fixed(tmp_path, text, "--rtx", "1.7")[1] is None
    assert "a scale is known only at run time" in capsys.readouterr().out
