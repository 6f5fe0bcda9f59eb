"""Tests of verdicts on random models: bounds in proofs, and results of ONNX's reference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

pytest.importorskip("onnxruntime")

from benchmarks.random_fixes.bounds import bounds_of, exposed, outside
from benchmarks.random_fixes.judging import judge
from benchmarks.random_fixes.models import in_branch
from benchmarks.random_fixes.opinion import in_fp64
from benchmarks.random_fixes.overflow import overflows

MASKED = """< ir_version: 8, opset_import: ["" : 17] > g (float[4,8] q, bool[4,4] keep) => (float[?,?] p)
  < float low = {-1e9}, float hundred = {-100.0}, float never = {-3.4e38} >
  { a = Abs (q)  k = Transpose (a)  t = MatMul (a, k)  s = Mul (t, hundred)
    x = Where (keep, s, low)  p = Softmax <axis = -1> (x) }"""
PROOF = {"proof": {"bounds": [{"tensor": "s", "low": -5e8, "high": None}]}}


def saved(folder: Path, before: onnx.ModelProto, after: onnx.ModelProto) -> tuple[Path, Path]:
    """Save both models."""
    paths = folder / "before.onnx", folder / "after.onnx"
    for proto, path in zip((before, after), paths, strict=True):
        onnx.save(proto, path)
    return paths


@pytest.mark.parametrize("branch", [False, True])
def test_inputs_beyond_a_bound_are_not_judged(branch: bool, tmp_path: Path) -> None:
    models = [onnx.parser.parse_model(each) for each in (MASKED, MASKED.replace("s, low", "s, never"))]
    paths = saved(tmp_path, *(map(in_branch, models) if branch else models))
    assert any("beyond half" in each for each in judge(*paths, 3, {}).wrong)
    found = judge(*paths, 3, bounds_of([PROOF]))
    assert not found.wrong
    assert "beyond half" in " ".join(found.excluded)
    assert found.runs


def test_a_bound_on_a_tensor_that_is_not_there_is_wrong(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(MASKED)
    assert "cannot be read: ['z']" in judge(*saved(tmp_path, model, model), 3, {"z": (0.0, 1.0)}).wrong[0]


def test_bounds_of_several_proofs_are_joined() -> None:
    other = {"proof": {"bounds": [{"tensor": "s", "low": -1e13, "high": 1e13}]}}
    assert bounds_of([PROOF, other, {"proof": None}]) == {"s": (-5e8, 1e13)}
    assert outside([np.array([1.0, 0.0])], [(0.0, 1.0)]) is False
    assert outside([np.array([1.0, np.nan])], [(-np.inf, np.inf)]) is True
    assert outside([np.array([1.1])], [(0.0, 1.0)]) is True


def test_a_tensor_of_one_branch_is_exposed() -> None:
    source = """< ir_version: 8, opset_import: ["" : 17] > g (float[2] x, bool c) => (float[2] y) {
      y = If (c) < then_branch = a () => (float[2] r) { s = Neg (x)  r = Exp (s) },
                   else_branch = b () => (float[2] t) { t = Abs (x) } > }"""
    model, outputs = exposed(onnx.parser.parse_model(source), ["s", "lost"])
    assert len(outputs) == 1
    from benchmarks.random_fixes.judging import _session

    session = _session(model.SerializeToString())
    fed = {"x": np.array([1, 2], np.float32)}
    given = [session.run(outputs, {**fed, "c": np.array(chosen)})[0] for chosen in (True, False)]
    np.testing.assert_array_equal(given[0], [-1, -2])
    np.testing.assert_array_equal(given[1], 0)


def test_a_better_result_in_half_precision_is_not_wrong(tmp_path: Path) -> None:
    source = """< ir_version: 8, opset_import: ["" : 17] > g (float16[4,64] x) => (float16[?,?] y)
      < float wide = {16384.0} > { big = Cast <to = 10> (wide)  a = Add (x, big)  y = Sub (a, big) }"""
    better = source.replace("a = Add (x, big)  y = Sub (a, big)", "y = Identity (x)")
    models = [onnx.parser.parse_model(each) for each in (source, better)]
    found = judge(*saved(tmp_path, *models), 3, {})
    assert found.settled
    assert not found.wrong
    turned = judge(*saved(tmp_path, *reversed(models)), 3, {})
    assert turned.wrong
    fed = {"x": np.array([[0.5]], np.float16)}
    truth = in_fp64(models[0], fed)
    assert truth is not None
    assert truth[0].dtype == np.float64
    assert truth[0].item() == 0.5


@pytest.mark.parametrize(("step", "wrong"), [("w", False), ("Add (w, one)", True)])
def test_a_step_of_a_quantizer_that_rounding_makes_is_not_wrong(
    step: str, wrong: bool, tmp_path: Path
) -> None:
    source = """< ir_version: 8, opset_import: ["" : 17] > g (float[64,64] x) => (float[?,?] y)
      < float one = {1}, int8 zero = {0} > {
      h = Cast <to = 10> (x)  w = Cast <to = 1> (h)
      q = QuantizeLinear (w, one, zero)  y = DequantizeLinear (q, one, zero) }"""
    after = source.replace("h = Cast <to = 10> (x)  w = Cast <to = 1> (h)", "w = Identity (x)")
    if wrong:
        after = after.replace("QuantizeLinear (w,", "QuantizeLinear (v,", 1)
        after = after.replace("w = Identity (x)", f"w = Identity (x)  v = {step}")
    models = [onnx.parser.parse_model(each) for each in (source, after)]
    found = judge(*saved(tmp_path, *models), 3, {})
    assert bool(found.wrong) is wrong
    assert found.settled or wrong


@pytest.mark.parametrize("inside", [True, False])
def test_what_follows_an_overflow_is_not_wrong(inside: bool, tmp_path: Path) -> None:
    source = """< ir_version: 8, opset_import: ["" : 17] > g (float[4,4] x) => (float[?,?] y)
      < float one = {1} > { e = Exp (x)  y = Div (one, e) }"""
    after = source.replace("e = Exp (x)  y = Div (one, e)", "n = Neg (x)  d = Exp (n)  y = Add (d, one)")
    models = [onnx.parser.parse_model(each) for each in (source, after)]
    fed = {"x": np.full((4, 4), 100 if inside else 1, np.float32)}
    assert overflows(models[0], fed) is inside
    assert judge(*saved(tmp_path, *models), 3, {}).wrong  # where nothing overflows


def test_nan_behind_an_overflow_of_fp64_is_not_kept(tmp_path: Path) -> None:
    source = """< ir_version: 8, opset_import: ["" : 17] > g (float[4,4] x) => (float[?,?] y)
      < float one = {1} > { e = Exp (x) a = Add (e, one) l = Log (a) m = ReduceMean <axes = [1]> (l)
      y = Sub (l, m) }"""
    after = source.replace("e = Exp (x) a = Add (e, one) l = Log (a)", "l = Softplus (x)")
    models = [onnx.parser.parse_model(each) for each in (source, after)]
    found = judge(*saved(tmp_path, *models), 3, {})
    assert not found.wrong
    assert any("became finite" in each for each in found.undecided)


def test_what_a_quantizer_makes_of_nan_is_not_judged(tmp_path: Path) -> None:
    source = whole(
        f"n = Div (x, x) t = Mul (n, one) {STEPS.replace('(x', '(t')} y = DequantizeLinear (q, s, z)"
    )
    after = source.replace("y = DequantizeLinear", "d = DequantizeLinear").replace(
        "(q, s, z) }", "(q, s, z) v = Mul (t, none) y = Add (d, v) }"
    )
    models = [onnx.parser.parse_model(each) for each in (source, after)]
    found = judge(*saved(tmp_path, *models), 3, {})
    assert "zeros" in found.excluded
    assert not any(each.startswith("zeros") for each in found.wrong)


def bits(number: float) -> int:
    """Return an FP16 number in ONNX text."""
    return int(np.float16(number).view(np.uint16))


def half(body: str, **numbers: float) -> str:
    """Return an FP16 model with scalars."""
    stored = ", ".join(f"float16 {name} = {{{bits(number)}}}" for name, number in numbers.items())
    head = '< ir_version: 8, opset_import: ["" : 17] > g (float16[4,64] x) => (float16[?,?] y)'
    return f"{head} <{stored}> {{ {body} }}"


def whole(body: str) -> str:
    """Return an FP32 model."""
    return f"""< ir_version: 8, opset_import: ["" : 17] > g (float[4,64] x) => (float[?,?] y)
        <float s = {{0.1}}, uint8 z = {{128}}, float none = {{0}}, float one = {{1}}> {{ {body} }}"""


SIGNS = "c = Cast <to = 7> (x) d = Cast <to = 10> (c) e = Sign (d)"
STEPS = "q = QuantizeLinear (x, s, z)"
WRONG = {
    "a percent in FP16": (half("y = Mul (x, s)", s=1), half("y = Mul (x, s)", s=1.01)),
    "one where a model truncates": (
        half(f"{SIGNS} y = Mul (e, s)", s=1),
        half(f"{SIGNS} y = Mul (e, s)", s=0),
    ),
    "NaN where a model quantizes": (
        whole(f"{STEPS} y = DequantizeLinear (q, s, z)"),
        whole(f"{STEPS} d = DequantizeLinear (q, s, z) n = Div (none, none) y = Add (d, n)"),
    ),
    "a number in place of NaN": (whole("y = Div (x, x)"), whole("t = Mul (x, none) y = Add (t, one)")),
    "any number where the original overflows": (
        half("a = Mul (x, s) y = Mul (a, r)", s=1000, r=0.001),
        half("y = Mul (x, s)", s=1.2),
    ),
}
"""Rewrites with different results that an unrelated tolerance once accepted."""


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rewrite_is_not_excused(name: str, tmp_path: Path) -> None:
    models = [onnx.parser.parse_model(each) for each in WRONG[name]]
    assert judge(*saved(tmp_path, *models), 3, {}).wrong


def test_what_no_reference_computes_has_the_usual_tolerance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.random_fixes.tolerances.in_fp64", lambda *_: None)
    source = whole("y = Mul (x, one)")
    for number, wrong in (("1.00005", False), ("1.01", True)):
        other = source.replace("one = {1}", f"one = {{{number}}}")
        models = [onnx.parser.parse_model(each) for each in (source, other)]
        assert bool(judge(*saved(tmp_path, *models), 3, {}).wrong) is wrong
