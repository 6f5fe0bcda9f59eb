"""Tests of loops unrolled or completed, with the same results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.fixes.fixing import Feeds, assert_same, fixed, ops
from tests.fixes.proposing import outcome

RTX = ("--rtx", "1.7", "--gpu", "L4", "--verify")
HEAD = '< ir_version: 8, opset_import: ["" : 17] >'
X: Feeds = {"x": np.array([0.5, -2.0], np.float32)}
STORED = "int64 n = {3}, bool t = {1}, bool f = {0}, int64 last = {2}, int64 one = {1}, float half = {0.5}"

GROW = "w = Concat <axis = 0> (v, v)"
MIXED = "w = Concat <axis = 0> (%s, v)"
STORE = "<float[2] s = {1, 2}>"


def loop(trips: str, start: str, body: str, *, inputs: str = "", outputs: str = "float[A] y") -> str:
    """Return a model of one Loop with the state ``v``, initially two numbers."""
    stacks = "z" in outputs
    return f"""{HEAD} g (float[2] x{inputs}) => ({outputs}) < {STORED} >
    {{ y{", z" if stacks else ""} = Loop ({trips}, {start}, x)
      <body = b (int64 i, bool c, float[2] v)
        => (bool again, float[W] w{", float[P,Q] r" if stacks else ""}) {body}> }}"""


WRITTEN = {
    "a trip count": (loop("n", "t", f"{{ again = Identity (c)  {GROW} }}"), 3),
    "no condition": (loop("n", '""', f"{{ again = Identity (c)  {GROW} }}"), 3),
    "no trip count": (loop('""', "t", f"{{ again = Less (i, last)  {GROW} }}"), 3),
    "ended by the condition": (loop("n", "t", f"{{ again = Less (i, one)  {GROW} }}"), 2),
    "ended by its own condition": (
        loop("n", "t", f"{{ less = Less (i, one)  again = And (less, c)  {GROW} }}"),
        2,
    ),
    "never begun": (loop("n", "f", f"{{ again = Identity (c)  {GROW} }}"), 0),
    "the number of the iteration": (
        loop(
            '""',
            "t",
            f"{{ again = Less (i, last)  k = Cast <to = 1> (i)  q = Add (v, k)  {MIXED % 'q'} }}",
        ),
        3,
    ),
    "tensors of the body": (
        loop("n", "t", f"{STORE} {{ again = Identity (c)  w = Concat <axis = 0> (v, s) }}"),
        3,
    ),
}


@pytest.mark.parametrize(("text", "times"), WRITTEN.values(), ids=WRITTEN)
def test_a_known_number_of_times(
    text: str, times: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = fixed(tmp_path, text, *RTX)
    assert ops(after).count("Concat") == times
    assert "Loop" not in ops(after)
    assert "outputs: equal within tolerance" in capsys.readouterr().out
    if before.graph.node[0].input[1]:  # without a condition, ONNX's reference never begins
        assert_same(before, after, X)


def test_what_is_stacked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = f"{{ again = Less (i, last)  r = Unsqueeze (v, one1)  {GROW} }}"
    text = loop('""', "t", body.replace(GROW, "w = Neg (v)"), outputs="float[A] y, float[B,C,D] z")
    _, after = fixed(tmp_path, text.replace("half = {0.5}", "half = {0.5}, int64[1] one1 = {0}"), *RTX)
    assert "Loop" not in ops(after)
    assert "outputs: equal within tolerance" in capsys.readouterr().out


def test_a_condition_that_is_counted_in_what_is_carried(tmp_path: Path) -> None:
    text = f"""{HEAD} g (float[2] x) => (float[A] y, int64 k) < {STORED} >
    {{ y, k = Loop ("", t, x, one) <body = b (int64 i, bool c, float[2] v, int64 j)
      => (bool again, float[W] w, int64 h) {{ h = Add (j, one)  again = Less (h, n)  {GROW} }}> }}"""
    before, after = fixed(tmp_path, text, *RTX)
    assert ops(after).count("Concat") == 2
    assert_same(before, after, X)


def test_bodies_in_the_body(tmp_path: Path) -> None:
    body = f"""{{
      again = Identity (c)
      m = ReduceMax <keepdims = 0> (v)  p = Greater (m, half)
      e = If (p) <then_branch = t2 () => (float[2] a) {{ a = Neg (v) }},
                  else_branch = e2 () => (float[2] d) {{ d = Abs (v) }}>
      {MIXED % "e"} }}"""
    before, after = fixed(tmp_path, loop("n", "t", body), *RTX)
    assert ops(after).count("If") == 3
    assert_same(before, after, X)


COUNT = "{ k = Cast <to = 1> (i)  w = Add (v, k)  m = ReduceMax <keepdims = 0> (w)  again = Less (m, most) }"


@pytest.mark.parametrize("trips", ['""', "far"])
def test_a_counter_in_what_is_carried(trips: str, tmp_path: Path) -> None:
    text = loop(trips, "t", COUNT, inputs=", float most", outputs="float[2] y").replace(
        "float[W] w", "float[2] w"
    )
    text = text.replace("half = {0.5}", "half = {0.5}, int64 far = {9223372036854775807}")
    before, after = fixed(tmp_path, text, *RTX)
    assert after is not None
    (node,) = (node for node in after.graph.node if node.op_type == "Loop")
    assert len(node.output) == 2
    assert_same(before, after, X | {"most": np.array(40, np.float32)})


def test_a_condition_to_begin_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = loop(
        "most", '""', "{ again = Identity (c)  w = Neg (v) }", inputs=", int64 most", outputs="float[2] y"
    )
    _, after = fixed(tmp_path, text.replace("float[W] w", "float[2] w"), *RTX)
    assert after is not None
    assert after.graph.node[0].input[1]
    assert "outputs: equal within tolerance" in capsys.readouterr().out


LEFT = {
    "known only at run time": loop("most", "t", f"{{ again = Identity (c)  {GROW} }}", inputs=", int64 most"),
    "never ends": loop('""', "t", "{ k = Cast <to = 1> (i)  again = Identity (c)  w = Add (v, k) }"),
    "too many iterations to unroll": loop("many", "t", f"{{ again = Identity (c)  {GROW} }}"),
    "runtimes treat a missing condition differently": loop(
        "n", '""', f"{{ again = Less (i, last)  d = And (c, t)  {GROW} }}"
    ),
}


@pytest.mark.parametrize("reason", LEFT)
def test_what_is_left(reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = LEFT[reason].replace("half = {0.5}", "half = {0.5}, int64 many = {65}")
    _, after = fixed(tmp_path, onnx.parser.parse_model(text))
    assert after is None
    assert reason in " ".join(capsys.readouterr().out.split())


CONDITION = """(float[2] x) => (float[2] y) < int64 n = {2}, bool yes = {1} > { y = Loop (n, yes, x) <body = b
(int64 i, bool go, float[2] s) => (bool on, float[2] t) { on = %s (go)  t = Neg (s) }> }"""


@pytest.mark.parametrize(
    ("op", "written"),
    [
        ("Identity", "t = Neg (x)  t_2 = Neg (t)  y = Identity (t_2)"),
        ("other.Identity", "the number of iterations is known only at run time"),
    ],
)
def test_only_identity_of_onnx_keeps_the_condition(op: str, written: str) -> None:
    assert outcome("write-out-loop", CONDITION % op, "y") == written
