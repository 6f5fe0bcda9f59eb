"""Tests of If and Loop: their conditions, and the results of their bodies."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.graphs import facts_of
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.control_flow import ControlFlow
from trtlint.model.load import load


def flows(facts: Facts) -> list[ControlFlow]:
    return [fact for fact in facts.of("control_flow") if isinstance(fact, ControlFlow)]


def branch(condition: str, inputs: str = "float[N,3] x, bool c") -> ControlFlow:
    text = f"""
    < ir_version: 8, opset_import: ["" : 17] >
    g ({inputs}) => (float[A,B] y)
    < bool yes = {{1}}, int64 three = {{3}}, int64 one = {{1}}, int64 zero = {{0}} >
    {{
      {condition}
      y = If (d) <
        then_branch = t () => (float[N,3] a) {{ a = Relu (x) }},
        else_branch = e () => (float[3,N] b) {{ r = Abs (x) b = Transpose (r) }}
      >
    }}
    """
    (found,) = flows(facts_of(text))
    return found


@pytest.mark.parametrize(
    ("condition", "source"),
    [
        ("d = Identity (yes)", "static"),
        ("d = Constant <value = bool {1}> ()", "stored"),
        ("s = Shape (x) n = Gather (s, one) d = Equal (n, three)", "static"),
        ("s = Shape (x) n = Gather (s, zero) d = Equal (n, three)", "dynamic"),
        ("d = Identity (c)", "data"),
        ("m = ReduceMax <keepdims = 0> (x) f = Cast <to = 7> (m) d = Less (f, three)", "data"),
    ],
)
def test_where_the_condition_comes_from(condition: str, source: str) -> None:
    if source == "static" and "Shape" in condition:  # one vector of all sizes: every one of them counts
        assert branch(condition).condition == "dynamic"
        assert branch(condition, "float[2,3] x, bool c").condition == "static"
    else:
        assert branch(condition).condition == source


def test_an_infinite_trip_count_is_unknown() -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[2] x) => (float[2] y) < float infinite = {inf} >
    {
      y = Loop (infinite, , x) <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] r) {
        d = Identity (c) r = Relu (a)
      }>
    }
    """
    assert [fact.count for fact in flows(facts_of(text))] == [None]


def test_a_branch_has_no_loop() -> None:
    fact = branch("d = Identity (c)")
    assert (fact.op, fact.trips, fact.count, fact.leaves) == ("If", None, None, None)
    assert fact.nodes == 3
    assert [step.role for step in fact.chain] == ["condition", "operator"]
    assert not fact.before
    assert not fact.after


def test_what_a_loop_carries_and_stacks() -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[2] x, int64 n) => (float[A] y, float[K,2] z)
    < bool yes = {1}, float limit = {9} >
    {
      y, z = Loop (n, yes, x) <
        body = b (int64 i, bool go, float[2] v) => (bool again, float[4] w, float[2] s) {
          w = Concat <axis = 0> (v, v)
          s = Neg (v)
          m = ReduceMax <keepdims = 0> (v)
          again = Less (m, limit)
        }
      >
    }
    """
    (fact,) = flows(facts_of(text))
    assert (fact.op, fact.condition, fact.trips, fact.count, fact.leaves) == (
        "Loop", "stored", "data", None, "data",
    )  # fmt: skip
    assert [value and value.type_text for value in fact.before] == ["f32[2]"]
    assert [value.type_text for value in fact.after] == ["f32[4]"]
    assert [value.name for value in fact.stacked] == ["s"]
    assert fact.nodes == 4


def test_a_counted_loop_that_hands_its_condition_on() -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[2] x) => (float[2] y)
    < int64 n = {5} >
    {
      y = Loop (n, "", x) <
        body = b (int64 i, bool go, float[2] v) => (bool again, float[2] w) {
          again = Identity (go)
          w = Neg (v)
        }
      >
    }
    """
    (fact,) = flows(facts_of(text))
    assert (fact.condition, fact.trips, fact.count, fact.leaves) == (None, "stored", 5, None)


def test_branches_of_exported_models_are_decided_by_data(exported: Path) -> None:
    found = {
        path.stem: flows(Facts(load(path)))
        for family in ("script_if", "torch_cond")
        for path in exported.glob(f"{family}__*.onnx")
    }
    assert len(found) >= 6
    for name, facts in found.items():
        (fact,) = facts
        assert (fact.op, fact.condition) == ("If", "data"), name


def test_other_exported_models_have_none(exported: Path) -> None:
    for family in ("cumsum", "gpt2_sdpa", "lstm"):
        paths = list(exported.glob(f"{family}__*.onnx"))
        assert paths, family
        for path in paths:
            assert not flows(Facts(load(path))), path.stem


@pytest.mark.parametrize(
    ("end", "uncut"),
    [
        ("z = Exp (all)", 1),
        ("last = Reshape (count, one) z = Slice (all, zero, last, zero)", 0),
        ("z = Slice (all, zero, one, zero)", 1),
        ("last = Reshape (count, one) z = Slice (all, zero, last, zero) w = Neg (all)", 1),
        ("z = Identity (y)", 0),
    ],
    ids=["read", "cut", "cut elsewhere", "cut and read", "not read"],
)
def test_stacked_outputs_that_are_cut(end: str, uncut: int) -> None:
    text = f"""g (float[2] x, int64 n, bool t) => (float[N] z)
        <int64[1] zero = {{0}}, int64[1] one = {{1}}> {{
        y, count, all = Loop (n, t, x, n) <body = b (int64 i, bool go, float[2] v, int64 k) =>
            (bool again, float[2] w, int64 l, float[2] s) {{
          again = Identity (go) w = Neg (v) l = Add (k, i) s = Exp (v) }}>
        {end} }}"""
    (fact,) = flows(facts_of(f'< ir_version: 8, opset_import: ["" : 17] > {text}'))
    assert fact.uncut == uncut
