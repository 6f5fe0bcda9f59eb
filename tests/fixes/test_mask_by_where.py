"""Tests of boolean indexing rewritten at full size, with the same results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.fixes.fixing import Feeds, assert_same, fixed, ops

RNG = np.random.default_rng(11)
HEAD = '< ir_version: 9, opset_import: ["" : 18] >'
ROWS = """m = Greater (k, zero)  n = NonZero (m)  t0 = Transpose (n)  s = Squeeze (t0, one)
  w = Max (s)  h = Shape (w)  e = Expand (s, h)  t = Unsqueeze (e, one)"""
"""The positions of one dimension as PyTorch's newer exporter writes them."""
PAIRS = "m = Greater (x, zero)  n = NonZero (m)  t = Transpose <perm = [1, 0]> (n)"

ASSIGNED = {
    "a number": f"{PAIRS}  p = GatherND (x, t)  z = Shape (p)  u = Expand (two, z)  y = ScatterND (x, t, u)",
    "zeros": f"{PAIRS}  p = GatherND (x, t)  z = Shape (p)  u = ConstantOfShape (z)  y = ScatterND (x, t, u)",
    "a function": f"{PAIRS}  p = GatherND (x, t)  l = Log (p)  a = Add (l, two)  y = ScatterND (x, t, a)",
    "two tensors": f"""{PAIRS}  q = Exp (x)  p = GatherND (x, t)  r = GatherND (q, t)  a = Mul (p, r)
        y = ScatterND (q, t, a)""",
    "rows": f"{ROWS}  p = GatherND (x, t)  a = Mul (p, row)  y = ScatterND (x, t, a)",
    "rows taken": f"{ROWS}  p = Gather (x, s)  a = Neg (p)  y = ScatterND (x, t, a)",
    "one row": f"{ROWS}  p = GatherND (x, t)  z = Shape (p)  u = Expand (row, z)  y = ScatterND (x, t, u)",
}


def feeds(masked: float = 0.0) -> Feeds:
    """Return inputs for the models below. A larger ``masked`` selects fewer elements."""
    shapes = {"x": (5, 3), "k": (5,)}
    return {name: (RNG.normal(size=shape) - masked).astype(np.float32) for name, shape in shapes.items()}


def model(body: str, out: str = "float[N,3] y", dtype: str = "float") -> str:
    """Return a model that selects the positive elements of ``x``, or the rows with positive ``k``."""
    return f"""{HEAD} g ({dtype}[N,3] x, {dtype}[N] k) => ({out})
    < {dtype} zero = {{0}}, {dtype} two = {{2}}, {dtype}[3] row = {{1, 2, 3}}, int64[1] one = {{1}},
      int64[1] first = {{0}} > {{ {body} }}"""


@pytest.mark.parametrize("body", ASSIGNED.values(), ids=ASSIGNED)
def test_what_is_written_back(body: str, tmp_path: Path) -> None:
    before, after = fixed(tmp_path, model(body))
    assert {"NonZero", "GatherND", "ScatterND", "Shape"}.isdisjoint(ops(after))
    for masked in (0.0, 10.0, -10.0):
        assert_same(before, after, feeds(masked))


@pytest.mark.parametrize("op", ["ReduceSum", "ReduceMax", "ReduceMin"])
@pytest.mark.parametrize(
    ("positions", "axes", "out"),
    [
        (PAIRS, "", "float[1] y"),
        (PAIRS, "<keepdims = 0>", "float y"),
        (ROWS, "<keepdims = 0>", "float y"),
        (ROWS, ", first", "float[1,3] y"),
        (ROWS, "<keepdims = 0>, first", "float[3] y"),
    ],
)
def test_what_is_reduced(op: str, positions: str, axes: str, out: str, tmp_path: Path) -> None:
    settings, _, rest = axes.rpartition(", ")
    given = f", {rest}" if rest == "first" else ""
    settings = settings if given else axes
    body = f"{positions}  p = GatherND (x, t)  y = {op} {settings} (p{given})"
    before, after = fixed(tmp_path, model(body, out))
    assert "NonZero" not in ops(after)
    for masked in (0.0, 10.0, -10.0):
        assert_same(before, after, feeds(masked))


def test_sums_of_16_bits_are_summed_in_fp32(tmp_path: Path) -> None:
    body = f"{PAIRS}  p = GatherND (x, t)  y = ReduceSum <keepdims = 0> (p)"
    text = model(body, "float16 y", "float16")
    before, after = fixed(tmp_path, text, "--rtx", "1.7", "--gpu", "L4", "--verify")
    assert ops(after)[-3:] == ["Where", "ReduceSum", "Cast"]
    assert_same(before, after, {name: array.astype(np.float16) for name, array in feeds().items()}, rtol=1e-2)


REFUSED = {
    "of the model or of a body": ("float[M] y", f"{PAIRS}  p = GatherND (x, t)  y = Neg (p)"),
    "Softmax needs the selected elements as a tensor": (
        "float[N,3] y",
        f"{PAIRS}  p = GatherND (x, t)  u = Softmax (p)  y = ScatterND (x, t, u)",
    ),
    "the result of ReduceSum has one element for each": (
        "float[1] y",
        f"{ROWS}  p = GatherND (x, t)  r = ReduceSum <keepdims = 0> (p, one)  y = ReduceSum (r)",
    ),
    "cannot show that the mask has the shape of the indexed tensor": (
        "float[7,3] y",
        f"big = Constant <value = float[7,3] {{{','.join('1' * 21)}}}> () {ROWS}  p = GatherND (x, t)"
        "  y = ScatterND (big, t, p)",
    ),
    "ScatterND has a reduction": (
        "float[N,3] y",
        f'{PAIRS}  p = GatherND (x, t)  y = ScatterND <reduction = "add"> (x, t, p)',
    ),
    "the updates of ScatterND are not elements that the mask selects": (
        "float[N,3] y",
        f"{PAIRS}  y = ScatterND (x, t, k)",
    ),
    "the mean of an empty selection is undefined": (
        "float[1] y",
        f"{PAIRS}  p = GatherND (x, t)  y = ReduceMean (p)",
    ),
}


@pytest.mark.parametrize(("out", "body"), REFUSED.values(), ids=REFUSED)
def test_what_needs_the_size(
    out: str, body: str, tmp_path: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    _, after = fixed(tmp_path, model(body, out))
    assert after is None or "NonZero" in ops(after)
    said = " ".join(capsys.readouterr().out.split())
    assert next(name for name in REFUSED if name in request.node.name) in said


@pytest.mark.parametrize(
    "call",
    ["ScatterND (p, pair, two_of)", "ScatterND (p, t, p)", "ScatterND (x, pair, p)", "ScatterND (x, n, p)"],
)
def test_a_scatter_into_the_selection_or_elsewhere(
    call: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = "pair = Constant <value = int64[1,2] {0, 0}> ()  two_of = Constant <value = float[1] {2}> ()"
    _, after = fixed(tmp_path, model(f"{stored}  {PAIRS}  p = GatherND (x, t)  y = {call}", "float[M] y"))
    assert after is None
    said = " ".join(capsys.readouterr().out.split())
    assert "ScatterND needs the selected elements as a tensor" in said


def test_numbers_that_are_not_picked_are_not_divided_by(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"""{HEAD} g (int64[5] x) => (int64[5] y) < int64 zero = {{0}}, int64 seven = {{7}} >
    {{ {PAIRS}  p = GatherND (x, t)  d = Div (seven, p)  y = ScatterND (x, t, d) }}"""
    _, after = fixed(tmp_path, text)
    assert after is None
    assert "Div needs the selected elements" in " ".join(capsys.readouterr().out.split())
