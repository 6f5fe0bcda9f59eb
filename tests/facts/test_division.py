"""Tests of facts about divisions by a root or norm."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import onnx
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
        (f"{SUM} m = Mul (vector, sum) y = Div (x, m)", "norm", "absent", None),
        (f"{SUM} m = Div (sum, vector) y = Div (x, m)", "norm", "absent", None),
        (f"{SUM} m = Min (sum, minus) y = Div (x, m)", "norm", "absent", None),
        (f"{SUM} m = Max (sum, runtime) y = Div (x, m)", "norm", "runtime", None),
        (f"{SUM} a = Add (sum, zero) b = Add (a, eps) y = Div (x, b)", "norm", "added", 0.001),
        (f"{SUM} a = Add (sum, eps) b = Max (a, zero) y = Div (x, b)", "norm", "added", 0.001),
        (f"{SUM} b = Less (sum, eps) c = Where (b, sum, one) y = Div (x, c)", "norm", "clipped", 1.0),
        (f"{SUM} r = Pow (sum, two) y = Div (x, r)", "norm", "absent", None),
        ("m = Mul (x, x) s = ReduceMean <axes = [1]> (m) y = Div (x, s)", "norm", "absent", None),
        ("s = ReduceSumSquare <axes = [1]> (x) a = Abs (s) y = Div (x, a)", "norm", "absent", None),
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
        f"{SUM} a = Add (sum, minus) y = Div (x, a)",
        f"{SUM} m = Mul (sum, zero) y = Div (x, m)",
        f"{SUM} m = Mul (sum, minus) y = Div (x, m)",
        f"{SUM} m = Mul (sum, runtime) y = Div (x, m)",
        f"{SUM} m = Min (sum, runtime) y = Div (x, m)",
        f"{SUM} m = Max (sum, eps, one) y = Div (x, m)",
        f"{SUM} m = Max (sum) y = Div (x, m)",
        f"{SUM} c = Clip (sum, minus) y = Div (x, c)",
        f"{SUM} b = Less (sum, eps) c = Where (b, zero, sum) y = Div (x, c)",
        f"{SUM} y = Pow (sum, half)",
        f"{SUM} y = Pow (sum, zero)",
        "c = Pow (x, minus) s = ReduceSum (c, last) y = Div (x, s)",
        "m = Mul (x, runtime) s = ReduceSum (m, last) y = Div (x, s)",
    ],
)
def test_no_root_or_norm(body: str) -> None:
    assert of(body) == []


def test_the_operators_of_a_divisor() -> None:
    body = f"""{SUM} m = Mul (vector, sum) a = Add (m, eps) r = Sqrt (a) c = Clip (r, zero) t = Abs (c)
        first = Div (x, t) n = ReduceL1 <axes = [1]> (x) y = Div (first, n)"""
    first, second = of(body)
    assert [(step.role, step.node.op, step.detail, step.label) for step in first.chain] == [
        ("reduction", "ReduceSum", "", "the result is 0 if all elements are 0"),
        ("epsilon", "Add", "+ 0.001", ""),
        ("root", "Sqrt", "", "root"),
        ("epsilon", "Clip", "≥ 0", "epsilon is 0"),
        ("division", "Div", "", "0 / 0 is NaN"),
    ]
    assert (first.op, first.divisor, first.reduction, first.spelling, first.epsilon, first.value) == (
        *("Div", "root", "ReduceSum", "ReduceSum → Add → Sqrt → Clip", "added"),
        pytest.approx(0.001),
    )
    assert (first.dtype, first.exporter_dropped) == ("f32", "unknown")
    assert (second.reduction, second.spelling, second.divisor) == ("ReduceL1", "ReduceL1", "norm")
    assert [found.node and found.node.output.name for found in (first, second)] == ["first", "y"]


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


ROOT = """pow_1 = Pow (x, two) sum_1 = ReduceSum (pow_1, last) sqrt = Sqrt (sum_1)
    div = Div (x, sqrt) y = Abs (div)"""
RECIPROCAL = """pow_1 = Pow (x, two) sum_1 = ReduceSum (pow_1, last) val_3 = Sqrt (sum_1)
    rsqrt = Reciprocal (val_3) y = Mul (x, rsqrt)"""
CAST = """pow_1 = Pow (x, two) sum_1 = ReduceSum (pow_1, last) sqrt = Sqrt (sum_1)
    _to_copy = Cast <to = 1> (sqrt) div = Div (x, _to_copy) y = Abs (div)"""


@pytest.mark.parametrize(
    ("body", "operands", "dropped"),
    [
        (ROOT, {"Sqrt": "%sum_1,", "Div": "%x, %add_20"}, "yes"),
        (ROOT, {"Sqrt": "%add,", "Div": "%x, %sqrt"}, "yes"),
        (ROOT, {"Sqrt": "%add_,", "Div": "%x, %sqrt"}, "yes"),
        (ROOT, {"Sqrt": "%sum_1,", "Div": "%x, %sqrt"}, "no"),
        (ROOT, {"Sqrt": "%addmm,", "Div": "%x, %sqrt"}, "unknown"),
        (ROOT, {"Sqrt": "%sum_1,", "Div": "%x, %expand"}, "unknown"),
        (ROOT, {"Div": "%x, %sqrt"}, "unknown"),
        (ROOT, {}, "unknown"),
        (RECIPROCAL, {"Sqrt": "%add,", "Reciprocal": "%add,"}, "yes"),
        (RECIPROCAL, {"Sqrt": "%sum_1,", "Reciprocal": "%sum_1,"}, "no"),
        (CAST, {"Sqrt": "%sum_1,", "Cast": "%add_1,", "Div": "%x, %_to_copy"}, "yes"),
        (CAST, {"Sqrt": "%sum_1,", "Cast": "%sqrt,", "Div": "%x, %_to_copy"}, "no"),
    ],
)
def test_an_addition_that_the_exporter_removed(
    body: str, operands: dict[str, str], dropped: str, tmp_path: Path
) -> None:
    """``operands`` are the inputs of the original FX nodes."""
    proto = onnx.parser.parse_model(f"""< ir_version: 8, opset_import: ["" : 20] >
        g (float[4,8] x) => (float[4,8] y) < float two = {{2}}, int64[1] last = {{-1}} > {{ {body} }}""")
    for node in proto.graph.node:
        if node.op_type in operands:
            kind = "rsqrt" if node.output[0] in ("val_3", "rsqrt") else node.output[0]
            text = f"%{kind} : [num_users=1] = call_function[target=aten](args = ({operands[node.op_type]}))"
            node.metadata_props.add(key="pkg.torch.onnx.fx_node", value=text)
    path = tmp_path / "model.onnx"
    onnx.save(proto, path)
    (found,) = divisions(Facts(load(path)))
    assert (found.epsilon, found.exporter_dropped) == ("absent", dropped)


def test_torchscript_removes_no_addition() -> None:
    text = """< ir_version: 8, producer_name: "pytorch", opset_import: ["" : 17] >
    g (float[4,8] x) => (float[4,8] y) { n = ReduceL2 <axes = [1]> (x) y = Div (x, n) }"""
    (found,) = divisions(facts_of(text))
    assert (found.epsilon, found.exporter_dropped) == ("absent", "no")


@pytest.mark.slow
def test_removed_epsilons_of_exported_models(exported: Path) -> None:
    """The exporter dynamo removes the epsilon of ``x / (norm + 1e-8)``; CLIP has no epsilon."""
    dropped = {
        path.stem.split("__")[0]: fact.exporter_dropped
        for name in ("conv_modulated", "norm_overflow_pow", "clip_sdpa")
        for path in sorted(exported.glob(f"{name}__*.onnx"))
        for fact in divisions(Facts(load(path)))
        if fact.epsilon == "absent"
    }
    assert dropped == {"conv_modulated": "yes", "norm_overflow_pow": "yes", "clip_sdpa": "no"}


@pytest.mark.slow
def test_exported_models(exported: Path) -> None:
    """The epsilon is missing because of the exporter or FP16, or never existed (CLIP)."""
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
