"""Tests of names shared by bodies: values of one body do not affect another."""

from __future__ import annotations

import onnx
import pytest
from onnx import parser

from tests.graphs import model_of
from trtlint.model.unique_names import make_names_unique, restore_names

BRANCHES = """
< ir_version: 8, opset_import: ["" : 17] >
g (bool c, float[2,3] a, float[4,5,6] b, float one) => (y)
{
  y = If (c) <
    then_branch = t () => (r) { s = Shape (a)  r = Expand (one, s) },
    else_branch = e () => (r) { s = Shape (b)  r = Expand (one, s) }
  >
}"""
LOOPS = """
< ir_version: 8, opset_import: ["" : 17] >
g (int64 n, bool c, float[2,3] a, float[4,5,6] b, float one) => (p, q)
{
  p = Loop (n, c) <body = t (int64 i, bool go) => (go2, r) {
    go2 = Identity (go)  s = Shape (a)  r = Expand (one, s) }>
  q = Loop (n, c) <body = u (int64 i, bool go) => (go2, r) {
    go2 = Identity (go)  s = Shape (b)  r = Expand (one, s) }>
}"""
NESTED = """
< ir_version: 8, opset_import: ["" : 17] >
g (bool c, float[2,3] a, float[4,5,6] b, float one) => (y)
{
  s = Shape (a)
  z = Expand (one, s)
  y = If (c) <
    then_branch = t () => (r) { s = Shape (b)  r = If (c) <
      then_branch = t2 () => (r2) { r2 = Expand (one, s) },
      else_branch = e2 () => (r2) { r2 = Expand (one, s) } > },
    else_branch = e () => (r) { r = Expand (z, s) }
  >
}"""


def shapes(text: str, op: str = "Expand") -> list[tuple[str, str]]:
    """Return the scope and type of the results of one operator type."""
    graph = model_of(text).graph
    return sorted((node.scope, node.output.type_text) for node in graph.by_op(op))


@pytest.mark.parametrize("swapped", [False, True])
def test_branches_of_one_if_share_names(swapped: bool) -> None:
    text = BRANCHES
    if swapped:
        text = text.replace("(a)", "(?)").replace("(b)", "(a)").replace("(?)", "(b)")
    then, other = ("f32[4,5,6]", "f32[2,3]") if swapped else ("f32[2,3]", "f32[4,5,6]")
    assert shapes(text) == [("If_0/else_branch", other), ("If_0/then_branch", then)]


def test_bodies_of_two_loops_share_names() -> None:
    assert shapes(LOOPS) == [("Loop_0/body", "f32[2,3]"), ("Loop_1/body", "f32[4,5,6]")]


def test_a_name_that_hides_an_outer_one_means_the_inner_value() -> None:
    assert shapes(NESTED) == [
        ("", "f32[2,3]"),
        ("If_2/else_branch", "f32[2,3]"),
        ("If_2/then_branch/If_1/else_branch", "f32[4,5,6]"),
        ("If_2/then_branch/If_1/then_branch", "f32[4,5,6]"),
    ]


@pytest.mark.parametrize("text", [BRANCHES, LOOPS, NESTED])
def test_names_are_unique_and_come_back(text: str) -> None:
    model = parser.parse_model(text)
    before = model.SerializeToString()
    originals = make_names_unique(model.graph)
    names = [name for graph in _graphs(model.graph) for node in graph.node for name in node.output]
    assert len(names) == len(set(names))
    assert originals
    restore_names(model.graph, originals)
    assert model.SerializeToString() == before


def test_names_that_are_unique_stay() -> None:
    model = parser.parse_model(
        BRANCHES.replace("(r) { s = Shape (b)  r = Expand (one, s)", "(q) { q = Exp (b)")
    )
    assert not make_names_unique(model.graph)


def test_stored_tensors_of_bodies_share_names() -> None:
    text = BRANCHES.replace("s = Shape (a)", "s = Constant <value = int64[2] {2, 3}> ()").replace(
        "s = Shape (b)", "s = Constant <value = int64[3] {4, 5, 6}> ()"
    )
    assert shapes(text) == [("If_0/else_branch", "f32[4,5,6]"), ("If_0/then_branch", "f32[2,3]")]


def test_a_name_resolves_from_its_scope_outwards() -> None:
    graph = model_of(NESTED).graph
    inner = graph.resolve("s", "If_2/then_branch/If_1/else_branch")
    assert inner is not None
    assert inner.producer is not None
    assert inner.producer.scope == "If_2/then_branch"
    outer = graph.resolve("s", "If_2/else_branch")
    assert outer is graph.resolve("s")
    assert graph.resolve("nothing", "If_2/else_branch") is None


def _graphs(graph: onnx.GraphProto) -> list[onnx.GraphProto]:
    found = [graph]
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                found += _graphs(attribute.g)
    return found
