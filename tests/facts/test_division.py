"""Facts about divisions by a root or norm."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.graphs import facts_of
from tests.sampling import EVERY, sample
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.division import Division
from trtlint.model.load import load


def divisions(facts: Facts) -> list[Division]:
    return [fact for fact in facts.of("division") if isinstance(fact, Division)]


def of(body: str, dtype: str = "float") -> list[Division]:
    text = f"""
    < ir_version: 8, opset_import: ["" : 17] >
    g ({dtype}[4,8] x, {dtype} runtime) => ({dtype}[4,8] y)
    < {dtype} eps = {{0.001}}, {dtype} zero = {{0}}, {dtype} one = {{1}}, {dtype} two = {{2}},
      {dtype} half = {{0.5}}, {dtype} three = {{3}}, {dtype} minus = {{-0.5}}, int64[1] last = {{-1}},
      {dtype}[8] vector = {{1, 2, 3, 4, 5, 6, 7, 8}} >
    {{ {body} }}
    """
    return divisions(facts_of(text))


SUM = "sq = Pow (x, two) sum = ReduceSum (sq, last)"


@pytest.mark.parametrize(
    ("body", "divisor", "epsilon", "value"),
    [
        (f"{SUM} r = Sqrt (sum) y = Div (x, r)", "root", "absent", None),
        (f"{SUM} r = Pow (sum, half) y = Div (x, r)", "root", "absent", None),
        (f"{SUM} r = Sqrt (sum) i = Reciprocal (r) y = Mul (x, i)", "root", "absent", None),
        (f"{SUM} i = Pow (sum, minus) y = Mul (x, i)", "norm", "absent", None),
        (f"{SUM} y = Div (x, sum)", "norm", "absent", None),
        (f"{SUM} a = Add (sum, zero) r = Sqrt (a) y = Div (x, r)", "root", "zero", 0.0),
        (f"{SUM} a = Add (eps, sum) r = Sqrt (a) y = Div (x, r)", "root", "added", 0.001),
        (f"{SUM} r = Sqrt (sum) a = Add (r, eps) y = Div (x, a)", "root", "added", 0.001),
        (f"{SUM} a = Add (sum, runtime) y = Div (x, a)", "norm", "runtime", None),
        ("n = ReduceL2 <axes = [1]> (x) y = Div (x, n)", "norm", "absent", None),
        ("n = ReduceL2 <axes = [1]> (x) c = Clip (n, zero) y = Div (x, c)", "norm", "zero", 0.0),
        ("n = ReduceL2 <axes = [1]> (x) c = Clip (n, eps) y = Div (x, c)", "norm", "clipped", 0.001),
        ("n = ReduceL2 <axes = [1]> (x) c = Clip (n, , two) y = Div (x, c)", "norm", "absent", None),
        ("n = ReduceL2 <axes = [1]> (x) c = Max (eps, n) y = Div (x, c)", "norm", "clipped", 0.001),
        (
            "n = ReduceL2 <axes = [1]> (x) b = Equal (n, zero) c = Where (b, one, n) y = Div (x, c)",
            "norm",
            "clipped",
            1.0,
        ),
        ("a = Abs (x) n = ReduceMax <axes = [1]> (a) y = Div (x, n)", "norm", "absent", None),
        (f"{SUM} m = Div (sum, two) r = Sqrt (m) y = Div (x, r)", "root", "absent", None),
    ],
)
def test_epsilon(body: str, divisor: str, epsilon: str, value: float | None) -> None:
    (found,) = of(body)
    assert (found.divisor, found.epsilon) == (divisor, epsilon)
    assert found.value == pytest.approx(value)


@pytest.mark.parametrize(
    "body",
    [
        "e = Exp (x) s = ReduceSum (e, last) y = Div (e, s)",
        "s = ReduceSum (x, last) y = Div (x, s)",
        "y = Div (x, two)",
        "y = Div (x, runtime)",
        "c = Pow (x, three) s = ReduceSum (c, last) y = Div (x, s)",
        "n = ReduceL2 <axes = [0]> (vector) y = Div (x, n)",
        "n = ReduceMax <axes = [1]> (x) y = Div (x, n)",
        f"{SUM} a = Sub (sum, one) y = Div (x, a)",
    ],
)
def test_no_root_or_norm(body: str) -> None:
    assert of(body) == []


def test_an_epsilon_that_fp16_does_not_hold() -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float16[4,8] x) => (float16[4,8] y)
    < float eps32 = {1e-8} >
    {
      n = ReduceL2 <axes = [1]> (x)
      eps = Cast <to = 10> (eps32)
      a = Add (n, eps)
      y = Div (x, a)
    }
    """
    (found,) = divisions(facts_of(text))
    assert (found.epsilon, found.dtype) == ("zero", "f16")


@pytest.mark.slow
def test_exported_models(exported: Path) -> None:
    """Where the epsilon is gone: the exporter's removals, FP16 zeros, and CLIP, which has none."""
    unprotected = Counter(
        path.stem.split("__")[0]
        for path in sample(sorted(exported.glob("*.onnx")))
        for fact in divisions(Facts(load(path)))
        if fact.epsilon in ("absent", "zero")
    )
    families = {
        "attn_learned",
        "clip_eager",
        "clip_sdpa",
        "conv_modulated",
        "norm_l2norm",
        "norm_overflow_pow",
    }
    assert unprotected
    assert set(unprotected) <= families
    assert set(unprotected) == families or not EVERY
