"""Tests of the operators and types that the parser imports."""

from __future__ import annotations

import pytest

from tests.graphs import model_of
from trtlint.model import imported
from trtlint.model.imported import (
    decided_if,
    imported_nodes,
    imported_rank,
    imported_type,
    is_handed,
    is_stored,
    known_at_build,
    needed_nodes,
    owners_within,
    sized_by,
)
from trtlint.model.load import Model

HEAD = '<ir_version: 8, opset_import: ["": 17, "own": 1]>'


def graph(inputs: str, body: str, stored: str = "") -> Model:
    """Return a model with operators and inputs; its output is ``y``."""
    return model_of(f"{HEAD} g ({inputs}) => (y) <{stored}> {{ {body} }}")


QUANTIZED = "q = QuantizeLinear (x, s)  d = DequantizeLinear (q, s)"


@pytest.mark.parametrize(
    ("x", "body", "rank"),
    [
        ("float", f"{QUANTIZED}  y = Neg (d)", 1),
        ("float", "d = DequantizeLinear (u, s)  y = Neg (d)", 1),
        ("float", f"{QUANTIZED}  e = Neg (d)  f = Clip (e, , s)  y = Abs (f)", 1),
        ("float", "q = own.QuantizeLinear (x, s)  y = Neg (q)", 0),
        ("float[3]", f"{QUANTIZED}  y = ReduceSum <keepdims = 0> (d)", 0),
        ("float", "y = Neg (x)", 0),
        ("float", f"{QUANTIZED}  e = own.Pass (d)  y = Clip (x, , e)", 0),
    ],
)
def test_the_rank_of_a_scalar(x: str, body: str, rank: int) -> None:
    """A scalar computed from a quantized scalar gets a dimension."""
    model = graph(f"{x} x, uint8 u", body, "float s = {0.5}")
    assert imported_rank(model.graph.outputs[0]) == rank


@pytest.mark.parametrize(
    ("body", "dtype"),
    [
        ("y = Cast <to = 11> (x)", "f32"),
        ("y = Cast <to = 1> (x)", "f32"),
        ("y = Identity (w)", "i32"),
        ("k = Constant <value = uint8[1] {1}> ()  y = Identity (k)", "i32"),
        ("y = QuantizeLinear (x, s)", "i8"),
        ("q = QuantizeLinear (x, s)  r = Reshape (q, l)  y = Identity (r)", "i8"),
        ("y = Identity (u)", "u8"),
        ("y = Cast <to = 2> (w)", "u8"),
        ("y = Where (c, w, u)", "i32"),
        ("y = Where (c, u, w)", "u8"),
        ("c2 = Cast <to = 2> (x)  y = Identity (c2)", "u8"),
    ],
)
def test_the_type_of_a_value(body: str, dtype: str) -> None:
    """An operator passes on the type of its first uint8 input."""
    stored = "uint8[4] w = {1, 2, 3, 4}, float s = {0.5}, int64[1] l = {-1}"
    model = graph("float[4] x, uint8[4] u, bool[4] c", body, stored)
    assert imported_type(model.graph.outputs[0]) == dtype


@pytest.mark.parametrize(("most", "dtype"), [(3, "i32"), (2, "u8")])
def test_the_search_for_a_type_is_limited(monkeypatch: pytest.MonkeyPatch, most: int, dtype: str) -> None:
    monkeypatch.setattr(imported, "_MOST_VISITED", most)
    model = graph("float[1] x", "a = Identity (w)  y = Identity (a)", "uint8[1] w = {1}")
    assert imported_type(model.graph.outputs[0]) == dtype


@pytest.mark.parametrize(
    ("body", "stored"),
    [
        ("y = Neg (w)", [True, False]),
        ("k = Constant <value_ints = [1]> ()  y = Neg (k)", [True, False]),
        ("k = own.Constant <value_ints = [1]> ()  y = Neg (k)", [False, False]),
        ("y = Neg (x)", [False, False]),
    ],
)
def test_stored_values(body: str, stored: list[bool]) -> None:
    model = graph("int64[1] x", body, "int64[1] w = {1}")
    last = model.graph.nodes[-1]
    read = last.inputs[0]
    assert read is not None
    assert [is_stored(read), is_stored(last.output)] == stored


@pytest.mark.parametrize(
    ("body", "known"),
    [
        ("y = Identity (w)", True),
        ("y = Add (w, k)", True),
        ("y = Identity (n)", False),
        ("c = Cast <to = 7> (f)  y = Identity (c)", False),
        ("d = Shape (t)  y = Gather (d, w)", None),
        ("d = Shape (r)  y = Gather (d, w)", True),
        ("d = Size (t)  y = Neg (d)", None),
        ("d = Shape (t)  y = Add (d, n)", False),
        ("y = own.Make ()", False),
        ("z = own.Arange ()  y = Identity (z)", False),
        ("y = If (b) <then_branch = e () => (z) { z = Identity (w) }>", False),
    ],
)
def test_values_that_the_builder_can_compute(body: str, known: bool | None) -> None:
    model = graph(
        "int64[1] n, float[1] f, float[N] t, float[3] r",
        f"k = Constant <value_ints = [1]> ()  {body}",
        "int64[1] w = {0}, bool b = {1}, int64[1] z",
    )
    assert known_at_build(model.graph.outputs[0]) is known


@pytest.mark.parametrize(("most", "known"), [(4, True), (3, True), (2, None)])
def test_the_search_for_the_sources_is_limited(
    monkeypatch: pytest.MonkeyPatch, most: int, known: bool | None
) -> None:
    monkeypatch.setattr(imported, "_MOST_VISITED", most)
    model = graph("float[1] x", "a = Neg (w)  b = Neg (a)  y = Neg (b)", "int64[1] w = {0}")
    assert known_at_build(model.graph.outputs[0]) is known


@pytest.mark.parametrize(("most", "types"), [(4, {"i32"}), (3, set())])
def test_the_search_for_the_inputs_is_limited(
    monkeypatch: pytest.MonkeyPatch, most: int, types: set[str]
) -> None:
    monkeypatch.setattr(imported, "_MOST_VISITED", most)
    size = graph("int32[1] n, int32[1] m", "a = Neg (n)  b = Neg (a)  y = Add (b, m)").graph.outputs[0]
    assert sized_by(size) == types


@pytest.mark.parametrize(
    ("body", "types"),
    [
        ("y = Neg (i)", {"i32"}),
        ("c = Cast <to = 6> (l)  y = Add (c, i)", {"i32", "i64"}),
        ("y = Add (i, w)", {"i32"}),
        ("y = Shape (l)", set()),
        ("y = own.Neg (i)", set()),
        ("y = ArgMax (i)", set()),
        ("m = ArgMax (i)  y = Add (m, l)", {"i64"}),
        ("y = Add (i, l)  m = ArgMax (y)", {"i32", "i64"}),
        ("y = Sign (i)", {"i32"}),
    ],
)
def test_inputs_that_a_size_is_computed_from(body: str, types: set[str]) -> None:
    model = graph("int32[1] i, int64[1] l", body, "int32[1] w = {0}")
    output = model.graph.outputs[0]
    assert sized_by(output) == types
    assert not is_handed(output)


def test_a_size_in_a_loop_is_handed_to_it() -> None:
    model = graph(
        "int64 n, bool c, int32[1] x",
        "y = Loop (n, c, x) <body = b (int64 i, bool go, int32[1] p) => (go2, r)"
        " { go2 = Identity (go)  r = Add (p, x) }>",
    )
    (size,) = model.graph.by_op("Add")
    assert (is_handed(size.output), sized_by(size.output)) == (True, {"i32"})
    assert owners_within(model.graph, size) == ("Loop",)
    assert owners_within(model.graph, model.graph.nodes[-1]) == ()


BRANCHES = """
    {condition}
    o = Relu (x)
    y = If (b) <
        then_branch = t () => (p) {{ p = Neg (x) }},
        else_branch = e () => (q) {{
            r = Exp (o)
            q = If (x2) <
                then_branch = tt () => (u) {{ u = Sin (r) }},
                else_branch = ee () => (v) {{ v = Cos (x) }}
            >
        }}
    >
"""


@pytest.mark.parametrize(
    ("condition", "imported", "needed", "owners", "decided"),
    [
        ("b = Identity (yes)", "Relu Neg Exp Sin Cos If If", "Neg If", ("If",), True),
        ("b = Identity (no)", "Relu Neg Exp Sin Cos If If", "Relu Exp Sin Cos If If", ("If",), False),
        (
            "b = Constant <value = bool {0}> ()",
            "Relu Exp Sin Cos If If", "Relu Exp Sin Cos If If", ("If",), False,
        ),
        ("b = Constant <value = bool {1}> ()", "Relu Neg If", "Neg If", ("If",), True),
        ("b = Not (x2)", "Relu Neg Exp Sin Cos If If", "Relu Neg Exp Sin Cos If If", ("If", "If"), None),
    ],
)  # fmt: skip
def test_branches_that_never_run(
    condition: str, imported: str, needed: str, owners: tuple[str, ...], decided: bool | None
) -> None:
    """The parser skips a branch with a stored condition, the builder one with a computable condition."""
    body = BRANCHES.format(condition=condition)
    model = graph("float[2] x, bool x2", body, "bool yes = {1}, bool no = {0}")
    everything = model.graph.nodes
    found = imported_nodes(model.graph, model.constants)
    assert " ".join(node.op for node in found[1:]) == imported
    reached = needed_nodes(model.graph, model.constants, found)
    assert " ".join(node.op for node in everything[1:] if node in reached) == needed
    (sine,) = model.graph.by_op("Sin")
    assert owners_within(model.graph, sine) == owners
    outer = everything[-1]
    answer = None if decided is None else (outer, decided)
    assert decided_if(sine, model.graph, model.constants) == answer
    assert decided_if(outer, model.graph, model.constants) == answer
    assert decided_if(None, model.graph, model.constants) is None


@pytest.mark.parametrize(("shape", "needed"), [("float[3]", "Shape Neg"), ("float[N]", "Exp Shape Neg")])
def test_nodes_whose_shape_alone_is_used(shape: str, needed: str) -> None:
    model = graph(f"{shape} x", "unread = Sin (x)  e = Exp (x)  s = Shape (e)  y = Neg (s)")
    reached = needed_nodes(model.graph, model.constants, model.graph.nodes)
    assert " ".join(node.op for node in model.graph.nodes if node in reached) == needed
