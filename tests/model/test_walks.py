"""Tests of upward and downward walks in a graph."""

from __future__ import annotations

import pytest

from tests.graphs import model_of
from trtlint.model.graph import Graph, Value
from trtlint.model.operators import CAST, MOVING, PASSING, QUANTIZE, REARRANGING, TRANSPARENT
from trtlint.model.walks import MAX_STEPS, behind, cut_short, downstream, search, upstream, watching

MODEL = """
< ir_version: 8, opset_import: ["" : 17, "own" : 1] >
g (float[2,3] x, float[2,3] y) => (float[2,3] out, float[2,3] other) {
    a = Add (x, y)
    b = Identity (a)
    c = Cast <to = 10> (b)
    d = Cast <to = 1> (c)
    e = Relu (d)
    f = own.Thing (d)
    out = Mul (d, e)
    other = Identity (f)
}
"""


@pytest.fixture
def graph() -> Graph:
    return model_of(MODEL).graph


def value(graph: Graph, name: str) -> Value:
    return next(value for node in graph.nodes for value in node.outputs if value.name == name)


def test_upstream_passes_what_only_moves_or_casts(graph: Graph) -> None:
    d = value(graph, "d")
    assert [step.name for step in upstream(d, CAST)] == ["d", "c", "b"]
    assert behind(d, MOVING | CAST).name == "a"
    assert behind(value(graph, "other"), MOVING).name == "f"


def test_a_search_meets_each_value_once_and_says_from_where(graph: Graph) -> None:
    found = [
        (met.name, None if reader is None else reader.op)
        for met, reader in search(value(graph, "out"), lambda node: node.inputs)
    ]
    assert found[:3] == [("out", None), ("d", "Mul"), ("e", "Mul")]
    assert sorted(name for name, _ in found) == ["a", "b", "c", "d", "e", "out", "x", "y"]


def test_a_search_is_bounded(graph: Graph) -> None:
    assert len(list(search(value(graph, "out"), lambda node: node.inputs, most=3))) == 3


def test_downstream_stays_in_the_default_domain_and_within_its_depth(graph: Graph) -> None:
    a = value(graph, "a")
    everything = [(node.op, port) for node, port, _ in downstream(a, lambda node, port: True)]
    assert everything == [("Identity", 0), ("Cast", 0), ("Cast", 0), ("Relu", 0), ("Mul", 0), ("Mul", 1)]
    near = [node.op for node, _, _ in downstream(a, lambda node, port: True, depth=1)]
    assert near == ["Identity", "Cast"]
    assert [node.op for node, _, _ in downstream(a, lambda node, port: False)] == ["Identity"]


def test_a_long_chain_ends_the_walk() -> None:
    chain = "".join(f"v{i + 1} = Identity (v{i})\n" for i in range(2 * MAX_STEPS))
    ends = f"g (float[1] v0) => (float[1] v{2 * MAX_STEPS})"
    graph = model_of(f'< ir_version: 8, opset_import: ["" : 17] > {ends} {{ {chain} }}').graph
    assert len(list(upstream(graph.nodes[-1].output, MOVING))) == MAX_STEPS + 1


def chain(length: int) -> Graph:
    """Return a chain of Identity nodes of this length after a Relu."""
    steps = [f"v{number} = Identity (v{number - 1})" for number in range(1, length + 1)]
    text = f"""< ir_version: 8, opset_import: ["" : 17] >
    g (float[2] x) => (float[2] v{length}) {{ v0 = Relu (x) {" ".join(steps)} }}"""
    return model_of(text).graph


@pytest.mark.parametrize(("more", "cut"), [(0, False), (1, True)])
def test_a_walk_that_ends_at_its_bound_says_so(more: int, cut: bool) -> None:
    graph = chain(MAX_STEPS + more)
    last = value(graph, f"v{MAX_STEPS + more}")
    with watching() as watch:
        behind(last, MOVING)
    assert watch.cut is cut
    graph = chain(MAX_STEPS - 2 + more)
    with watching() as watch:
        [*search(value(graph, f"v{MAX_STEPS - 2 + more}"), lambda node: node.inputs)]
    assert watch.cut is cut
    graph = chain(MAX_STEPS - 1 + more)
    with watching() as watch:
        [*downstream(value(graph, "v0"), lambda node, _: node.op == "Identity")]
    assert watch.cut is cut


def test_what_a_definition_leaves_out_is_not_cut_short() -> None:
    with watching() as watch:
        [*downstream(value(chain(9), "v0"), lambda *_: True, depth=3)]
        behind(value(chain(3), "v3"), CAST)
    assert not watch.cut


def test_a_walk_cut_short_counts_for_all_that_watch_and_for_nobody_else() -> None:
    cut_short()
    with watching() as outer:
        with watching() as before:
            pass
        with watching() as inner:
            cut_short()
        with watching() as after:
            pass
    assert (outer.cut, before.cut, inner.cut, after.cut) == (True, False, True, False)


STEPS = """
    a = Relu (x)  b = Cast <to = 1> (a)  c = CastLike (b, x)  d = QuantizeLinear (c, s)
    e = DequantizeLinear (d, s)  f = Dropout (e)  g = Transpose (f)  h = Identity (g)
    i = Reshape (h, l)  j = Expand (i, l)  k = Flatten (j)  m = Unsqueeze (k, z)  y = Squeeze (m, z)
"""


@pytest.mark.parametrize(
    ("operators", "start", "end"),
    [
        (TRANSPARENT, "y", "a"),
        (MOVING, "y", "f"),
        (REARRANGING, "y", "j"),
        (REARRANGING, "i", "f"),
        (PASSING, "y", "k"),
        (PASSING, "j", "f"),
        (PASSING, "b", "a"),
        (PASSING, "c", "c"),
        (CAST, "c", "a"),
        (QUANTIZE, "e", "c"),
    ],
)
def test_operators_by_their_effect(operators: frozenset[str], start: str, end: str) -> None:
    graph = model_of(f"""< ir_version: 8, opset_import: ["" : 17] > g (float[2,3] x) => (y)
    <float s = {{0.5}}, int64[2] l = {{3, 2}}, int64[1] z = {{0}}> {{ {STEPS} }}""").graph
    assert behind(value(graph, start), operators).name == end
