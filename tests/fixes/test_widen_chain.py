"""Tests of chains that exceed 16 bits: computed in FP32, with the unsupported cases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.fixes.fixing import Feeds, assert_same, computed, fixed, ops
from trtlint.examples.models import model_of_text

HEAD = '< ir_version: 8, opset_import: ["" : 17] >'
TARGET = ("--trt", "10.13", "--verify")

ANGLES = f"""{HEAD} g (float16[1,5,1] x) => (float16[A,B,C] c, float16[D,E,F] s)
< float16[1,1,4] f = {{1, 0.5, 0.25, 0.3}} >
{{ a = Mul (x, f)  c = Cos (a)  s = Sin (a) }}"""
NORM = f"""{HEAD} g (float16[3,64] x) => (float16[3,64] y)
< int64[1] last = {{-1}}, float16 eps = {{0.001}} >
{{
  q = Mul (x, x)  s = ReduceSum <keepdims = 1> (q, last)
  e = Add (s, eps)  n = Sqrt (e)  y = Div (x, n)
}}"""
LOGIT = f"""{HEAD} g (float16[1,4] x) => (float16[1,4] y)
< float16 one = {{1}}, float16 zero = {{0}}, float16 eps = {{0.00001}} >
{{
  b = Clip (x, zero, one)  p = Clip (b, eps)
  d = Sub (one, b)  c = Clip (d, eps)  q = Div (p, c)  y = Log (q)
}}"""
LOGSUMEXP = f"""{HEAD} g (float16[2,6] x) => (float16[A] y)
< int64[1] last = {{-1}} >
{{ e = Exp (x)  s = ReduceSum <keepdims = 0> (e, last)  y = Log (s) }}"""


def model_of(text: str, folder: Path) -> onnx.ModelProto:
    """Return a model with 16-bit numbers."""
    path = folder / "source.onnx"
    model_of_text(text, path, checked=True)
    return onnx.load(path)


def half(*numbers: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float16]]:
    """Return numbers in half precision."""
    return np.array(numbers, np.float16)


@pytest.mark.parametrize(
    ("text", "x", "truth"),
    [
        (
            ANGLES,
            half(0.5, 100, 1000, 1999, 2047).reshape(1, 5, 1),
            lambda x: np.cos(x * np.array([1, 0.5, 0.25, np.float16(0.3)])),
        ),
        (NORM, np.full((3, 64), 300, np.float16), lambda x: x / np.sqrt((x * x).sum(-1, keepdims=True))),
        (LOGIT, half(1, 0.5, 0.25, 0.75).reshape(1, 4), lambda x: np.log(x / np.maximum(1 - x, 1.00136e-5))),
        (LOGSUMEXP, half(*range(9, 21)).reshape(2, 6), lambda x: np.log(np.exp(x).sum(-1))),
    ],
    ids=["angles", "norm", "logit", "logsumexp"],
)
def test_half_precision_is_off_before_and_right_after(
    text: str, x: np.ndarray[tuple[int, ...], np.dtype[np.float16]], truth: object, tmp_path: Path
) -> None:
    """NumPy computes in half precision, because ONNX Runtime computes in FP32 and hides the error."""
    before, after = fixed(tmp_path, model_of(text, tmp_path), *TARGET)
    assert after is not None
    onnx.checker.check_model(after, full_check=True)
    assert callable(truth)
    right = truth(x.astype(np.float64))
    errors = [
        np.abs(computed(model, {"x": x})[0].astype(np.float64) - right).max() for model in (before, after)
    ]
    assert not errors[0] < 0.05
    assert errors[1] < 0.005 * max(1.0, np.abs(right).max())


def test_what_a_position_is_made_of_is_widened_with_it(tmp_path: Path) -> None:
    text = f"""{HEAD} g (int64[1,5] t) => (float16[A,B,C] y)
    < float16[1,4] f = {{1, 0.5, 0.25, 0.3}}, int64[1] last = {{-1}} >
    {{
      h = Cast <to = 10> (t)  u = Unsqueeze (h, last)  a = MatMul (u, f)
      c = Cos (a)  s = Sin (a)  y = Concat <axis = -1> (c, s)
    }}"""
    before, after = fixed(tmp_path, model_of(text, tmp_path), *TARGET)
    assert after is not None
    kinds = {name: node.op_type for node in after.graph.node for name in node.output}
    (product,) = (node for node in after.graph.node if node.op_type == "MatMul")
    assert [kinds[name] for name in product.input] == ["Unsqueeze", "Cast"]
    assert ops(after).count("Cast") == 4  # the position, the frequencies, and both results
    assert_same(before, after, {"t": np.arange(5).reshape(1, 5)}, rtol=2e-3)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            f"{HEAD} g (float16[1,5] a) => (float16[A,B] c, float16[D,E] s) {{ c = Cos (a)  s = Sin (a) }}",
            "a is already rounded to 16 bits",
        ),
        (
            f"""{HEAD} g (float16[1,3,4,512] x, float16[1,512,4,2] grid) => (float16[A,B,C,D] y)
            {{ t = Transpose <perm = [0, 2, 1, 3]> (grid)  y = GridSample (x, t) }}""",
            "t is already rounded to 16 bits",
        ),
        (
            f"""{HEAD} g (float16[3,64] x) => (float16[A,B] y) < int64[1] last = {{-1}} >
            {{ q = Mul (x, x)  y = ReduceSum <keepdims = 1> (q, last) }}""",
            "the sum is stored in 16 bits, so it overflows",
        ),
    ],
)
def test_what_is_lost_before_is_left(
    text: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, after = fixed(tmp_path, model_of(text, tmp_path), *TARGET)
    assert after is None
    assert why in capsys.readouterr().out


@pytest.mark.parametrize("opset", [12, 17, 18])
@pytest.mark.parametrize("keep", [0, 1])
@pytest.mark.parametrize("axes", ["all", "two"])
def test_sums_of_exponentials_of_every_opset(opset: int, keep: int, axes: str, tmp_path: Path) -> None:
    """Rows of only minus infinity stay unchanged."""
    given = "" if axes == "all" else f"axes = [0, 2], keepdims = {keep}"
    names = "(e)"
    if opset >= 13:
        given, names = f"keepdims = {keep}", "(e)" if axes == "all" else "(e, axes)"
    elif axes == "all":
        given = f"keepdims = {keep}"
    text = f"""< ir_version: 8, opset_import: ["" : {opset}] > g (float16[2,3,4] x) => (float16 y)
    < int64[2] axes = {{0, 2}} > {{ e = Exp (x)  s = ReduceSum <{given}> {names}  y = Log (s) }}"""
    model = onnx.parser.parse_model(text)
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    rank = 3 if keep else 0 if axes == "all" else 1
    for _ in range(rank):
        model.graph.output[0].type.tensor_type.shape.dim.add()
    before, after = fixed(tmp_path, model, *TARGET)
    assert "Sub" in ops(after)
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float16)
    x[:, 1] = -np.inf
    assert_same(before, after, {"x": x}, rtol=2e-3)


SOFTPLUS = "{ e = Exp (x)  s = Add (e, one)  y = Log (s) }"


def test_a_softplus_is_one_operator(tmp_path: Path) -> None:
    text = f"{HEAD} g (float16[2,8] x) => (float16[A,B] y) < float16 one = {{1}} > {SOFTPLUS}"
    before, after = fixed(tmp_path, model_of(text, tmp_path), *TARGET)
    assert ops(after) == ["Softplus"]
    feeds: Feeds = {"x": np.linspace(-9, 9, 16).reshape(2, 8).astype(np.float16)}
    assert_same(before, after, feeds, rtol=2e-3)


def test_a_one_that_widens_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = f"{HEAD} g (float16[1,8] x) => (float16[A,B] y) < float16[2,1] one = {{1, 1}} > {SOFTPLUS}"
    _, after = fixed(tmp_path, model_of(text, tmp_path), *TARGET)
    assert after is None
    assert "may broadcast exp(x)" in capsys.readouterr().out
