"""Tests of masks rewritten as a selection, by operator."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.fixes import proposing
from tests.fixes.proposing import small, spelled
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.constant import Constant
from trtlint.fixes.patch import Patch
from trtlint.fixes.rewrites._fractions import DEEPEST
from trtlint.model.load import Model

GRAPH = """(float[2,3,4] q, float[2,4,5] k, bool[2,3,5] keep, float[2,3,5] bias, float[3,4] flat,
  float[4,5] k2, bool[3,5] keep2) => (float[A] p)
< float zero = {0}, float one = {1}, float low = {-3.4e38}, float less = {-1e9},
  float[5] two = {0, -3.4e38, 0, 0, -3.4e38}, float[5] three = {0, -1, 0, 0, -3.4e38},
  int64[3] shape = {2, 3, 5} > { %s }"""


def proposed(body: str, opset: int = 17) -> str:
    """Return the rewrite for the lowest constant, or the reason for none."""
    model = small(GRAPH % body, opset)
    facts = [fact for fact in Facts(model).of("constant") if isinstance(fact, Constant)]
    low = next(fact for fact in facts if fact.values.low is not None and fact.values.low < -65504)
    found = proposing.proposed("select-mask", low, model)
    if isinstance(found, Patch):
        return f"{spelled(found)} | {found.keeps_a_key} {len(found.parts)}"
    return spelled(found)


def constant(name: str, model: Model) -> Constant:
    """Return the fact about a stored tensor."""
    facts = (fact for fact in Facts(model).of("constant") if isinstance(fact, Constant))
    return next(fact for fact in facts if fact.name == name)


SCORES = "s = MatMul (q, k)"
SELECTED = (
    "cast = Cast <to = 1> (keep)  reducemin = ReduceMin <axes = [%d], keepdims = 1> (cast)"
    "  cast_2 = Cast <to = 9> (reducemin)  where = Where (cast_2, 0.0, -inf)"
)
ADDED = (
    "reducemax = ReduceMax <axes = [%d], keepdims = 1> (m)  equal = Equal (m, reducemax)"
    "  equal_2 = Equal (reducemax, 0.0)  and = And (equal, equal_2)  where = Where (equal, 0.0, -inf)"
    "  where_2 = Where (and, s, where)  Softmax reads where_2 at 0 | False 0"
)


@pytest.mark.parametrize(
    ("body", "opset", "expected"),
    [
        (
            f"{SCORES}  x = Where (keep, s, less)  p = Softmax (x)",
            17,
            (SELECTED % -1)
            .replace("reducemin", "reducemax")
            .replace("ReduceMin", "ReduceMax")
            .replace("(cast_2, 0.0, -inf)", "(cast_2, -inf, 0.0)")
            + "  where_2 = Where (keep, s, where)  Softmax reads where_2 at 0 | False 0",
        ),
        (
            f"{SCORES}  x = Where (keep, less, s)  p = Softmax <axis = 2> (x)",
            17,
            SELECTED % -1 + "  where_2 = Where (keep, where, s)  Softmax reads where_2 at 0 | False 0",
        ),
        (
            f"{SCORES}  x = Where (keep, less, s)  p = Softmax <axis = 0> (x)",
            17,
            SELECTED % -3 + "  where_2 = Where (keep, where, s)  Softmax reads where_2 at 0 | False 0",
        ),
        (
            f"{SCORES}  x = Where (keep, less, s)  p = Softmax <axis = 1> (x)",
            12,
            "the softmax covers more than one axis",
        ),
        (
            f"{SCORES}  x = Where (keep, less, s)  p = Softmax (x)",
            12,
            "the softmax covers more than one axis",
        ),
        (f"{SCORES}  m = Where (keep, zero, low)  x = Add (s, m)  p = Softmax (x)", 17, ADDED % -1),
        (f"{SCORES}  m = Where (keep, zero, low)  x = Add (m, s)  p = Softmax (x)", 17, ADDED % -1),
        (
            f"{SCORES}  m = Where (keep, zero, low)  x = Add (m, s)  p = Softmax (x)",
            10,
            "Equal does not support floats before opset 11",
        ),
        (
            f"{SCORES}  m = Where (keep, zero, less)  x = Add (s, m)  p = Softmax (x)",
            17,
            "in a fully masked row, scores can still differ after -1e+09 is added to them, "
            "but the rewrite makes them equal",
        ),
        (
            f"{SCORES}  m = Where (keep, zero, less)  c = Cast <to = 1> (m)  x = Add (s, c)  p = Softmax (x)",
            17,
            "in a fully masked row, scores can still differ after -1e+09 is added to them, "
            "but the rewrite makes them equal",
        ),
        (
            f"{SCORES}  h = Cast <to = 10> (s)  m = Where (keep, zero, less)  c = Cast <to = 10> (m)"
            "  x = Add (h, c)  p = Softmax (x)",
            17,
            (ADDED % -1).replace("(m", "(c").replace("s, where", "h, where").replace("False 0", "True 0"),
        ),
        (
            f"{SCORES}  z = Expand (zero, shape)  m = Where (keep, z, low)  x = Add (s, m)  p = Softmax (x)",
            17,
            ADDED % -1,
        ),
        (
            f"{SCORES}  d = Add (s, s)  m = Where (keep, zero, low)  x = Add (d, m)  p = Softmax (x)",
            17,
            (ADDED % -1).replace("s, where", "d, where"),
        ),
        (
            f"{SCORES}  d = Clip (s, , one)  m = Where (keep, zero, low)  x = Add (d, m)  p = Softmax (x)",
            17,
            (ADDED % -1).replace("s, where", "d, where"),
        ),
        (
            f"{SCORES}  m = Where (keep, zero, two)  x = Add (s, m)  p = Softmax (x)",
            17,
            (ADDED % -1),
        ),
        (
            f"{SCORES}  m = Where (keep, zero, three)  x = Add (s, m)  p = Softmax (x)",
            17,
            "Add is between the mask and the softmax",
        ),
        (
            f"{SCORES}  m = Where (keep, one, low)  x = Add (s, m)  p = Softmax (x)",
            17,
            "Add reads the masked scores",
        ),
        (
            f"{SCORES}  m = Where (keep, zero, low)  x = Add (m, m)  p = Softmax (x)",
            17,
            "the mask is not added to scores",
        ),
        (
            "x = Where (keep, less, bias)  p = Softmax (x)",
            17,
            "the scores depend on the input bias, which may contain -inf from a mask",
        ),
        (
            f"{SCORES}  n = Mul (s, bias)  x = Where (keep, less, n)  p = Softmax (x)",
            17,
            "the scores depend on the input bias, which may contain -inf from a mask",
        ),
        (
            f"{SCORES}  n = Div (s, bias)  x = Where (keep, less, n)  p = Softmax (x)",
            17,
            SELECTED % -1 + "  where_2 = Where (keep, where, n)  Softmax reads where_2 at 0 | False 0",
        ),
        (
            f"{SCORES}  n = Exp (s)  x = Where (keep, less, n)  p = Softmax (x)",
            17,
            "the scores depend on the result of Exp, which may contain -inf from a mask",
        ),
        (
            f"{SCORES}  n = Where (keep, s, zero)  x = Where (keep, less, n)  p = Softmax (x)",
            17,
            "the scores are masked more than once",
        ),
        (
            f"{SCORES}  x = Where (keep, less, s)  p = LogSoftmax (x)",
            17,
            "LogSoftmax reads the masked scores",
        ),
    ],
)
def test_masks(body: str, opset: int, expected: str) -> None:
    assert proposed(body, opset).startswith(expected)


def test_two_axes_of_one_mask_are_refused() -> None:
    body = f"{SCORES}  x = Where (keep, less, s)  p = Softmax (x)  r = Softmax <axis = 1> (x)"
    assert proposed(body) == "no softmax reads the masked scores"


def test_a_constant_that_fills_a_shape() -> None:
    fill = "m = ConstantOfShape <value = float[1] {-3.4e38}> (shape)"
    body = f"{SCORES}  {fill}  n = Where (keep, zero, m)  x = Add (s, n)  p = Softmax (x)"
    assert proposed(body).endswith("where_2 = Where (and, s, where)  Softmax reads where_2 at 0 | False 0")


def test_what_fills_a_shape_may_hold_several_numbers() -> None:
    """ONNX allows one number; more numbers must not cause a crash."""
    fill = "m = ConstantOfShape <value = float[2] {-3.4e38, 0}> (shape)"
    body = f"{SCORES}  {fill}  n = Where (keep, low, m)  x = Add (s, n)  p = Softmax (x)"
    assert proposed(body).endswith("Softmax reads where_2 at 0 | False 0")


FLAT = "s = MatMul (flat, k2)  x = Where (keep2, less, s)"
FILLED = "where_2 = Where (%s, where, s)  Softmax reads where_2 at 0 | False 0"
BEYOND = "the constant is not a mask value, or it fits into FP16"
BETWEEN = "Add is between the mask and the softmax"
INF = "which may contain -inf from a mask"


@pytest.mark.parametrize(
    ("body", "opset", "expected"),
    [
        (f"{SCORES}  x = Where (keep, less, s)  p = Softmax (x)", 13, FILLED % "keep"),
        (f"{SCORES}  x = Where (keep, less, s)  p = Softmax <axis = -1> (x)", 12, FILLED % "keep"),
        (f"{SCORES}  x = Where (keep, less, s)  p = Softmax <axis = 2> (x)", 12, FILLED % "keep"),
        (f"{FLAT}  p = Softmax (x)", 12, FILLED % "keep2"),
        (
            f"{SCORES}  z = ConstantOfShape (shape)"
            "  m = Where (keep, z, low)  x = Add (s, m)  p = Softmax (x)",
            17,
            "Softmax reads where_2 at 0 | False 0",
        ),
        (f"{FLAT}  p = Softmax <axis = 0> (x)", 12, "the softmax covers more than one axis"),
        (
            f"{SCORES}  d = Not (keep)  f = Cast <to = 1> (d)"
            "  m = Mul (f, low)  x = Add (s, m)  p = Softmax (x)",
            17,
            "where_2 = Where (and, s, where)  Softmax reads where_2 at 0 | False 0",
        ),
        (
            f"{SCORES}  d = Not (keep)  f = Cast <to = 1> (d)"
            "  m = Mul (low, f)  x = Add (m, s)  p = Softmax (x)",
            17,
            "where_2 = Where (and, s, where)  Softmax reads where_2 at 0 | False 0",
        ),
        (f"{SCORES}  n = Div (bias, s)  x = Where (keep, less, n)  p = Softmax (x)", 17, INF),
        (f"{SCORES}  n = Clip (bias, zero)  x = Where (keep, less, n)  p = Softmax (x)", 17, INF),
        (f"{SCORES}  n = Min (s, bias)  x = Where (keep, less, n)  p = Softmax (x)", 17, INF),
        (
            f"{SCORES}  w = Where (keep, zero, zero)"
            "  m = Where (keep, w, low)  x = Add (s, m)  p = Softmax (x)",
            17,
            "Softmax reads where_2 at 0 | False 0",
        ),
        (
            f"{SCORES}  w = Where (keep, s, zero)  m = Where (keep, w, low)  x = Add (s, m)  p = Softmax (x)",
            17,
            "the scores are masked more than once",
        ),
        (
            f"{SCORES}  w = Where (keep, zero, one)"
            "  m = Where (keep, w, low)  x = Add (s, m)  p = Softmax (x)",
            17,
            "Add reads the masked scores",
        ),
    ],
)
def test_forms_of_masks(body: str, opset: int, expected: str) -> None:
    assert proposed(body, opset).endswith(expected)


@pytest.mark.parametrize(
    ("number", "body", "expected"),
    [
        ("-1e8", "x = Where (keep, number, s)", FILLED % "keep"),
        (
            "-99999000",
            "x = Where (keep, number, s)",
            "the mask value -1e+08 is not low enough: scores may be as low",
        ),
        (
            "-65505",
            "x = Where (keep, number, s)",
            "the mask value -6.55e+04 is not low enough: scores may be as low",
        ),
        ("-65504", "x = Where (keep, number, s)", BEYOND),
        ("-1e30", "m = Where (keep, zero, number)  x = Add (s, m)", "where_2 at 0 | False 0"),
        (
            "-9.9e29",
            "m = Where (keep, zero, number)  x = Add (s, m)",
            "but the rewrite makes them equal",
        ),
        ("1", "x = Where (keep, number, s)", BEYOND),
    ],
)
def test_numbers_of_masks(number: str, body: str, expected: str) -> None:
    text = GRAPH.replace("> {", f"  , float number = {{{number}}} > {{")
    model = small(text % f"{SCORES}  {body}  p = Softmax (x)")
    found = proposing.proposed("select-mask", constant("number", model), model)
    text = proposing.spelled(found)
    if isinstance(found, Patch):
        text += f" | {found.keeps_a_key} {len(found.parts)}"
    assert text.endswith(expected)


@pytest.mark.parametrize("numbers", ["{0.5, -3.4e38}", "{0, 65504}"])
def test_masks_with_positive_numbers_are_refused(numbers: str) -> None:
    text = GRAPH.replace("> {", f"  , float[2] two2 = {numbers} > {{")
    model = small(text % f"{SCORES}  x = Add (s, two2)  p = Softmax (x)")
    assert str(proposing.proposed("select-mask", constant("two2", model), model)) == BEYOND


@pytest.mark.parametrize(("steps", "followed"), [(DEEPEST, True), (DEEPEST + 1, False)])
@pytest.mark.parametrize("step", ["Identity (z%d)", "Where (keep, zero, z%d)", "Cast <to = 1> (z%d)"])
def test_numbers_are_followed_so_far(step: str, steps: int, followed: bool) -> None:
    chain = "  ".join(f"z{index + 1} = {step % index}" for index in range(steps))
    first = f"z0 = Identity (zero)  {chain}" if "Where" in step else chain.replace("(z0)", "(zero)")
    last = steps - 1 if "Where" in step else steps
    body = f"{SCORES}  {first}  m = Where (keep, z{last}, low)  x = Add (s, m)  p = Softmax (x)"
    assert proposed(body).endswith("Softmax reads where_2 at 0 | False 0") is followed


SEVERAL = {
    "two scores of one mask": "m = Where (keep, zero, low)  x = Add (s, m)  p = Softmax (x)  t = Mul (s, s)"
    "  y = Add (t, m)  r = Softmax (y)",
    "three scores of one mask": "m = Where (keep, zero, low)  x = Add (s, m)  p = Softmax (x)  t = Mul (s, s)"
    "  y = Add (t, m)  r = Softmax (y)  u = Sub (s, t)  z = Add (m, u)  o = Softmax <axis = 1> (z)",
    "two forms": "m = Where (keep, zero, low)  x = Add (s, m)  p = Softmax (x)  y = Where (keep, s, low)"
    "  r = Softmax (y)",
    "two forms of a selection": "x = Where (keep, low, s)  p = Softmax (x)  y = Where (keep, s, low)"
    "  r = Softmax (y)  t = Neg (s)  z = Where (keep, t, low)  o = Softmax (z)",
}


@pytest.mark.parametrize("name", SEVERAL)
def test_one_constant_masks_several_scores(name: str, snapshot: SnapshotAssertion) -> None:
    model = small(GRAPH % f"{SCORES}  {SEVERAL[name]}")
    found = proposing.proposed("select-mask", constant("low", model), model)
    assert proposing.whole(found) == snapshot
