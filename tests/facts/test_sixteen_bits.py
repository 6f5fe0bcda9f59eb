"""Tests of sums of squares, integers in floats, FP32 products and cumulative sums."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.graphs import facts_of
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.cumulative_sum import CumulativeSum
from trtlint.facts.of_model.rounded_integer import RoundedInteger
from trtlint.facts.of_model.sum_of_squares import SumOfSquares
from trtlint.facts.of_model.widened_product import WidenedProduct
from trtlint.model.load import load


def model(
    body: str, inputs: str = "float16[4,1024] x", outputs: str = "float16[A,B] y", stored: str = ""
) -> Facts:
    constants = ", int64[1] last = {-1}, float16 two = {16384}, float16 half = {14336}"
    return facts_of(f"""
    < ir_version: 8, opset_import: ["" : 17] >
    g ({inputs}) => ({outputs}) < float one = {{1}}{constants}{stored} > {{ {body} }}
    """)


def squares(facts: Facts) -> list[SumOfSquares]:
    return [fact for fact in facts.of("sum_of_squares") if isinstance(fact, SumOfSquares)]


def widened(facts: Facts) -> list[WidenedProduct]:
    return [fact for fact in facts.of("widened_product") if isinstance(fact, WidenedProduct)]


def rounded(facts: Facts) -> list[RoundedInteger]:
    return [fact for fact in facts.of("rounded_integer") if isinstance(fact, RoundedInteger)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("q = Mul (x, x) s = ReduceSum (q, last) y = Sqrt (s)", ("ReduceSum", "mul", 1024, True, 8)),
        ("q = Pow (x, two) y = ReduceSum <keepdims = 0> (q)", ("ReduceSum", "pow", 4096, False, 4)),
        ("y = ReduceSumSquare <axes = [0]> (x)", ("ReduceSumSquare", "operator", 4, False, 128)),
        ("q = Mul (x, x) y = ReduceMean <axes = [1]> (q)", ("ReduceMean", "mul", 1024, False, 256)),
        (
            "q = Mul (x, x) y = ReduceSum <noop_with_empty_axes = 1> (q)",
            ("ReduceSum", "mul", 1, False, 256),
        ),
        (
            "q = Mul (x, x) y = ReduceSum <noop_with_empty_axes = 1> (q, last)",
            ("ReduceSum", "mul", 1024, False, 8),
        ),
    ],
)
def test_sums_of_squares(body: str, expected: tuple[object, ...]) -> None:
    (fact,) = squares(model(body))
    magnitude = fact.magnitude
    assert magnitude is not None
    assert (fact.op, fact.form, fact.count, fact.root, round(magnitude)) == expected
    assert fact.dtype == "f16"


@pytest.mark.parametrize(
    "body",
    [
        "q = Mul (x, half) y = ReduceSum (q, last)",
        "q = Pow (x, half) y = ReduceSum (q, last)",
        "y = ReduceL2 <axes = [1]> (x)",
        "s = Shape (x) f = Cast <to = 10> (s) q = Mul (f, f) y = ReduceSum (q, last)",
    ],
)
def test_what_is_no_sum_of_squares(body: str) -> None:
    assert not squares(model(body))


def test_what_is_no_sum_of_squares_hides_no_other() -> None:
    body = (
        "s = Shape (x) f = Cast <to = 10> (s) q = Mul (f, f) a = ReduceSum (q) b = ReduceSum (x) "
        "r = Mul (x, x) c = ReduceSum (r) y = ReduceSumSquare (x)"
    )
    assert [(fact.node.path if fact.node else "", fact.form) for fact in squares(model(body))] == [
        ("ReduceSum_6", "mul"),
        ("ReduceSumSquare_7", "operator"),
    ]


def test_sums_in_other_types_have_no_magnitude() -> None:
    (fact,) = squares(model("f = Cast <to = 1> (x) q = Mul (f, f) y = ReduceSum (q, last)"))
    assert (fact.dtype, fact.magnitude) == ("f32", None)


LENGTHS = "f = Cast <to = {to}> (l) {body}"


@pytest.mark.parametrize(
    ("to", "body", "expected"),
    [
        (
            10,
            "a = Add (f, c) h = Div (a, c) r = Floor (h) y = Cast <to = 7> (r)",
            ("f16", 2048, ("Add", "Div")),
        ),
        (16, "a = Mul (f, c) y = Cast <to = 7> (a)", ("bf16", 256, ("Mul",))),
        (1, "a = Mul (f, c) y = Cast <to = 6> (a)", ("f32", 2**24, ("Mul",))),
        (10, "y = Cast <to = 7> (f)", None),
        (10, "a = Mul (f, c) y = Sin (a)", None),
    ],
)
def test_whole_numbers_in_floats(to: int, body: str, expected: tuple[object, ...] | None) -> None:
    names = {10: "float16", 16: "bfloat16", 1: "float"}
    text = LENGTHS.format(to=to, body=body)
    inputs = f"int64[n] l, {names[to]} c"
    found = [(f.dtype, f.exact, f.operators) for f in rounded(model(text, inputs, "int64[A] y"))]
    assert found == ([] if expected is None else [expected])


def test_where_whole_numbers_come_from() -> None:
    body = "s = Shape (x) f = Cast <to = 10> (s) a = Mul (f, half) y = Cast <to = 7> (a)"
    (fact,) = rounded(model(body, "float16[n,4] x", "int64[2] y"))
    assert fact.source == "shape"
    assert not rounded(model(body, "float16[2,4] x", "int64[2] y"))


WEIGHT = ", float[1024,8] w = {}, float16[1024,8] v = {}"


def test_products_behind_a_cast_that_is_not_undone() -> None:
    body = "f = Cast <to = 1> (x) r = Sigmoid (f) p = MatMul (r, w) y = Cast <to = 10> (p)"
    (fact,) = widened(model(body, stored=WEIGHT))
    assert (fact.op, fact.narrow, fact.between, fact.weight, fact.narrowed) == (
        "MatMul", "f16", ("Sigmoid",), True, True,
    )  # fmt: skip
    assert [step.role for step in fact.chain] == ["cast", "between", "product"]


@pytest.mark.parametrize(
    "body",
    [
        "f = Cast <to = 1> (x) r = Sigmoid (f) c = Cast <to = 10> (r) y = MatMul (c, v)",
        "y = MatMul (x, v)",
        # The weight alone was stored in FP16.
        "f = Cast <to = 1> (v) y = MatMul (z, f)",
    ],
)
def test_products_whose_casts_are_undone(body: str) -> None:
    assert not widened(model(body, "float16[4,1024] x, float[4,1024] z", stored=WEIGHT))


def test_promoted_masks_of_exported_models_widen_what_follows(exported: Path) -> None:
    facts = Facts(load(exported / "llama_sdpa__ts__op17__fp16.onnx"))
    assert {fact.op for fact in widened(facts)} == {"MatMul"}
    assert not widened(Facts(load(exported / "vit_sdpa__ts__op17__fp16.onnx")))


def test_sums_of_exported_models(exported: Path) -> None:
    found = squares(Facts(load(exported / "clip_eager__ts__op17__fp16.onnx")))
    assert {(fact.op, fact.count) for fact in found} == {("ReduceSum", 16)}


def cumulative(facts: Facts) -> list[CumulativeSum]:
    return [fact for fact in facts.of("cumulative_sum") if isinstance(fact, CumulativeSum)]


def test_cumulative_sums_unlike_others_of_their_shape() -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[4,5] x, float[2,3] z) => (float[4,5] a, float[4,5] b, float[4,5] c, float[2,3] d)
    < int64 one = {1}, int64 last = {-1}, int64 zero = {0} >
    {
      a = CumSum (x, one)
      b = CumSum <reverse = 1> (x, last)
      c = CumSum (x, last)
      d = CumSum <exclusive = 1> (z, zero)
    }
    """
    assert [
        (fact.axis, fact.reverse, fact.exclusive, fact.unlike) for fact in cumulative(facts_of(text))
    ] == [
        (1, False, False, 1),
        (1, True, False, 2),
        (1, False, False, 1),
        (0, False, True, 0),
    ]


def test_an_axis_that_is_fed_is_not_compared() -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[4,5] x, int64 i) => (float[4,5] a, float[4,5] b) < int64 one = {1} >
    { a = CumSum (x, one) b = CumSum (x, i) }
    """
    assert [(fact.axis, fact.unlike) for fact in cumulative(facts_of(text))] == [(1, 0), (None, 0)]


def test_many_cumulative_sums_take_little_time() -> None:
    sums = " ".join(f"y{i} = CumSum (x, axis)" for i in range(6_000))
    head = '< ir_version: 8, opset_import: ["" : 17] > g (float[4,5] x) => (float[4,5] y0)'
    facts = facts_of(f"{head} < int64 axis = {{1}} > {{ {sums} }}")
    started = time.process_time()
    assert len(cumulative(facts)) == 6_000
    assert time.process_time() - started < 1


def test_an_infinite_axis_is_unknown() -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[4,5] x) => (float[4,5] y) < float infinite = {inf} >
    { y = CumSum (x, infinite) }
    """
    assert [fact.axis for fact in cumulative(facts_of(text))] == [None]


def test_exported_models_have_one_cumulative_sum(exported: Path) -> None:
    paths = list(exported.glob("cumsum__*.onnx"))
    assert paths
    for path in paths:
        (fact,) = cumulative(Facts(load(path)))
        assert fact.unlike == 0, path.stem
