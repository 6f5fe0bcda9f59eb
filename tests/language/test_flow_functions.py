"""Tests of language functions about readers of values."""

from __future__ import annotations

from typing import cast

import pytest

from tests.graphs import model_of, model_of_bodies
from trtlint.language.flowfunctions import (
    _ellipsis_ranks,
    _empty_lists,
    _nameless,
    _partial_shapes,
    _refused_if_empty,
    _unread,
)
from trtlint.language.functions import FUNCTIONS
from trtlint.language.graphfunctions import _one_scale
from trtlint.model.graph import Value

HEAD = '< ir_version: 8, opset_import: ["" : 17] > g '


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        ("y = Slice (x, v, v)", True),
        ("y = Pad (x, v)", True),
        ("y = Squeeze (x, v)", False),
        ("y = Squeeze (o, v)", True),
        ("y = Neg (x)", False),
        ("s = Slice (x, v, v)  y = Reshape (x, v)", False),
    ],
)
def test_lists_that_no_reader_takes_empty(body: str, refused: bool) -> None:
    for result, expected in ("float[A] y", refused), ("float[A] y, int64[1] v", False):
        text = f"(float[1,4] x, float[N,4] o, int64[1] i) => ({result}) {{ v = Abs (i)  {body} }}"
        (value,) = (node.output for node in model_of(HEAD + text).graph.nodes if node.output.name == "v")
        assert _refused_if_empty(None, (value,)) is expected


@pytest.mark.parametrize(
    ("scale", "one"), [("float", True), ("float[1]", True), ("float[4]", False), ("float[1,4]", False)]
)
def test_tensors_of_one_scale(scale: str, one: bool) -> None:
    text = f"(int8[2,4] x, {scale} s) => (float[2,4] y) {{ v = Identity (x)  y = DequantizeLinear (v, s) }}"
    model = model_of(HEAD + text)
    assert _one_scale(None, model.graph.nodes[1].output) is one
    assert _one_scale(None, model.graph.nodes[0].output) is None


def outputs(body: str, inputs: str = "float[2,4] x, float[] open, int64[2] n") -> tuple[Value, ...]:
    """Return the output of the last node of a body, or all outputs."""
    model = model_of_bodies([body], inputs, opsets='"" : 17, "my" : 1')
    return model.graph.nodes[-1].outputs


@pytest.mark.parametrize(
    ("body", "partial"),
    [
        ("y = Shape (x)", False),
        ("y = Shape <start = 1> (x)", True),
        ("y = Shape <end = 1> (x)", True),
        ("y = Shape <start = 0, end = 2> (x)", False),
        ("y = Shape <start = -2> (x)", False),
        ("y = Shape <start = 1> (open)", False),
        ("y = my.Shape <start = 1> (x)", False),
        ("s = Shape <start = 1> (x)  y = Concat <axis = 0> (n, s)", True),
        ("s = Shape <start = 1> (x)  a = Neg (s)  y = Mul (n, a)", True),
        ("s = Shape <start = 1> (x)  y = Slice (s, n, n)", False),
        ("s = Shape <start = 1> (x)  y = my.Neg (s)", False),
        ("y = Size <start = 1> (x)", False),
    ],
)
def test_parts_of_shapes(body: str, partial: bool) -> None:
    assert _partial_shapes(None, (1, *outputs(body))) is partial


@pytest.mark.parametrize(
    ("body", "empty"),
    [
        ("y = Constant <value_ints = [1, 2]> ()", True),
        ("y = Constant <value_int = 1> ()", False),
        ("y = my.Constant <value_ints = [1]> ()", False),
        ("a = Constant <value_ints = [1]> ()  y = Concat <axis = 0> (n, a)", True),
        ("a = Constant <value_ints = [1]> ()  y = Reshape (n, a)", False),
        ("y = Neg (x)", False),
    ],
)
def test_lists_in_attributes(body: str, empty: bool) -> None:
    assert _empty_lists(None, (None, *outputs(body))) is empty


def test_outputs_without_a_name_or_reader() -> None:
    split = outputs("a, b = Split <axis = 1> (x)")
    assert [_unread(None, values) for values in (split, (), (1,))] == [True, False, False]
    dropped = outputs("y = Neg (x)")
    assert (_nameless(None, dropped), _unread(None, dropped)) == (False, False)
    assert _nameless(None, (dropped[0], Value(""))) is True
    assert _nameless(None, ("",)) is False


@pytest.mark.parametrize(
    ("equation", "ranks"),
    [
        ("...ij,...jk->...ik", (0, 0)),
        ("ij,...jk->...ik", (0,)),
        ("...i,ij->...j", (1,)),
        ("ij,jk->ik", ()),
        ("...ijk,...jk->...ik", None),
        (3, None),
    ],
)
def test_dimensions_of_an_ellipsis(equation: object, ranks: tuple[int, ...] | None) -> None:
    (made,) = outputs("y = Neg (x)")
    assert _ellipsis_ranks(None, cast("str", equation), (made, made)) == ranks
    assert _ellipsis_ranks(None, "...ij,...jk->...ik", (made, 1)) in (None, (0, None))


@pytest.mark.parametrize("name", ["repeated_in_flow", "reads_past_loop", "packed_state"])
def test_flow_needs_constants_and_an_operator(name: str) -> None:
    model = model_of_bodies(["y = Neg (x)"], "float[2] x")
    value, call = model.graph.nodes[0].output, FUNCTIONS[name].call
    assert call(model.constants, value) is False
    assert call(None, value) is None
    assert call(model.constants, model.graph.inputs[0]) is None
