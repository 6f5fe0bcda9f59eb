"""Tests of control flow: values behind loops and branches, and reads of their bodies."""

from __future__ import annotations

from pathlib import Path

import pytest

from trtlint.examples.models import model_of_text
from trtlint.model.flow import flow_of
from trtlint.model.load import Model

HEADER = '< ir_version: 8, opset_import: ["" : 17] >\ng '
NEGATE = """Loop (n, t, {0}) <body = b{1} (int64 i{1}, bool go{1}, float[2] v{1})
  => (bool again{1}, float[2] w{1}) {{ again{1} = Identity (go{1}) w{1} = {2} (v{1}) }}>"""
STORED = "<int64 n = {3}, bool t = {1}>"


def model(tmp_path: Path, text: str) -> Model:
    return model_of_text(HEADER + text, tmp_path / "m.onnx", checked=True)


def repeated(tmp_path: Path, nodes: str, inputs: str = "") -> set[str]:
    """Return the names of the flagged Elu results."""
    read = model(tmp_path, f"(float[2] x, bool c{inputs}) => (float[2] y) {STORED} {{ {nodes} }}")
    return {node.output.name for node in flow_of(read.constants).repeated if node.op == "Elu"}


def loop(out: str, given: str, number: int, op: str = "Neg") -> str:
    return f"{out} = {NEGATE.format(given, number, op)} "


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        (loop("h", "x", 1) + "y = Elu (h)", set()),
        (loop("h", "x", 1) + "e = Elu (h) y = Elu (e)", {"y"}),
        (
            loop("h", "x", 1) + "e = Elu (h) s = Shape (e) r = Reshape (x, s) f = Elu (r) y = Add (f, e)",
            set(),
        ),
        ("e = Elu (x) f = Elu (e) " + loop("h", "f", 1) + "y = Elu (h)", set()),
        (loop("h", "x", 1) + "e = Elu (h) " + loop("y", "e", 2), {"e"}),
        (loop("h", "x", 1, "Elu") + "y = Elu (h)", set()),
        (loop("h", "x", 1) + "e = Elu (h) unused = Elu (e) y = Neg (e)", set()),
    ],
)
def test_an_operator_counts_as_repeated_behind_control_flow_only(
    tmp_path: Path, nodes: str, expected: set[str]
) -> None:
    assert repeated(tmp_path, nodes) == expected


def test_branches_that_the_builder_decides_belong_to_the_graph_around_them(tmp_path: Path) -> None:
    branches = """<then_branch = a () => (float[2] p) { p = Neg (x) },
                   else_branch = b () => (float[2] q) { q = Abs (x) }>"""
    assert repeated(tmp_path, f"h = If (t) {branches} e = Elu (h) y = Elu (e)") == set()
    assert repeated(tmp_path, f"h = If (c) {branches} e = Elu (h) y = Elu (e)") == {"y"}


def test_what_a_loop_does_in_each_iteration_alike_does_not_count(tmp_path: Path) -> None:
    body = "j = Elu (z) k = Elu (j) w = Add (v, k)"
    text = f"""y = Loop (n, t, x) <body = b (int64 i, bool go, float[2] v) => (bool again, float[2] w)
        {{ again = Identity (go) {body} }}>"""
    assert repeated(tmp_path, text, ", float[2] z") == set()
    assert repeated(tmp_path, text.replace("Elu (z)", "Elu (v)"), ", float[2] z") == {"k"}


def test_operators_in_a_loop_in_a_branch_read_past_the_loop(tmp_path: Path) -> None:
    text = """(float[2] x, bool c) => (float[2] y) <int64 n = {{3}}, bool t = {{1}}, int64 o = {{1}}> {{
        y = If (c) <then_branch = a () => (float[2] p) {{
          p = Loop (n, t, x) <body = b (int64 i, bool go, float[2] v) => (bool again, float[2] w) {{
            again = Identity (go)
            k = Less (i, o)
            w = If ({0}) <then_branch = d () => (float[2] q) {{ q = Add (v, {1}) }},
                          else_branch = e () => (float[2] r) {{ r = Abs (v) }}>
          }}>
        }}, else_branch = f () => (float[2] s) {{ s = Neg (x) }}> }}"""

    def reads(condition: str, operand: str) -> bool:
        read = model(tmp_path, text.format(condition, operand))
        inner = next(node for node in read.graph.by_op("If") if node.scope)
        return inner in flow_of(read.constants).past_loops

    assert reads("c", "v")
    assert reads("k", "x")
    assert not reads("k", "v")
    assert not reads("t", "v")  # which is stored


RECURRENCES = """(float[3,1,2] x, float[1,6,2] w, float[1,6,2] r, float[1,1,2,2] s, float[1,1,2,1] t)
  => (float[3,1,1,2] y)
  <int64[1] one = {1}, int64[1] two = {2}, int64[1] three = {3}, int64[3] flat = {1, 1, 2}> {"""
FIRST = "a = GRU <hidden_size = 2> (x, w, r) b = Squeeze (a, one) "
SECOND = "y = GRU <hidden_size = 2> (b, w, r, , , h) }"


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        (f"{FIRST} g = Slice (s, one, two, three) h = Squeeze (g, three) {SECOND}", {"y"}),
        (f"{FIRST} g = Slice (s, one, two, three) u = Tanh (g) h = Squeeze (u, three) {SECOND}", {"y"}),
        (f"{FIRST} g = Squeeze (t, three) h = Relu (g) {SECOND}", {"y"}),
        (f"{FIRST} h = Reshape (t, flat) {SECOND}", {"y"}),
        (f"{FIRST} g = Squeeze (t, three) h = Add (g, g) {SECOND}", set()),
        (f"{FIRST} g = Mul (t, t) h = Squeeze (g, three) {SECOND}", set()),
        (f"{FIRST} h = ReduceSum <keepdims = 0> (a, one) {SECOND}", set()),
        ("b = Identity (x) h = Squeeze (t, three) " + SECOND, set()),
    ],
)
def test_states_packed_into_the_last_dimension(tmp_path: Path, nodes: str, expected: set[str]) -> None:
    read = model(tmp_path, f"{RECURRENCES} {nodes}")
    assert {node.output.name for node in flow_of(read.constants).packed} == expected
