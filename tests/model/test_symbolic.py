"""Sizes that shape inference loses, and arithmetic on them carries on."""

from __future__ import annotations

import gc
import weakref

import pytest

from tests.graphs import facts_of, model_of
from trtlint.engine.evaluate import evaluate
from trtlint.engine.rulebook import load_builtin
from trtlint.model.sizes import broadcast_shape, pad_shape, quotient, slice_shape, tile_shape
from trtlint.target.target import Target

HEADS = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[batch,17,32] x, float[batch,4,8,17] k, int64[batch,17] ids, float[100,32] table)
=> (float[A,B,C,D] y)
< int64[1] zero = {0}, int64[1] rest = {-1}, int64[2] heads = {4, 8}, int64[1] end = {9223372036854775807},
  int64[1] one = {1}, float[1] half = {0.5}, int64[1] last = {-1}, int64[2] tail = {17, 8} >
{
  shape = Shape (x)
  most = Slice (shape, zero, last)
  target = Concat <axis = 0> (most, heads)
  split = Reshape (x, target)
  q = Transpose <perm = [0, 2, 1, 3]> (split)
  scaled = Mul (q, half)
  scores = MatMul (scaled, k)
  probabilities = Softmax (scores)
  order = Concat <axis = 0> (rest, tail)
  flat = Reshape (q, order)
  y = Identity (probabilities)
  part = Slice (q, zero, end, one)
  rows = Gather (table, ids)
}
"""


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("split", "f32[batch,17,4,8]"),
        ("scaled", "f32[batch,4,17,8]"),
        ("probabilities", "f32[batch,4,17,17]"),
        ("flat", "f32[4*batch,17,8]"),
        ("part", "f32[batch,4,17,8]"),
        ("rows", "f32[batch,17,32]"),
    ],
)
def test_names_of_sizes_are_carried_through_what_an_attention_block_does(name: str, printed: str) -> None:
    model = model_of(HEADS)
    assert model.constants.type_text(model.graph.values[name][0]) == printed


CHUNKS = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[b,96,L] x, int64[2] other) => (float[A,B,C] y)
< int64 zero = {0}, int64 four = {4}, int64[1] heads = {24}, int64[1] rest = {-1}, int64[3] sizes = {8, 8, 8},
  int64[1] ax = {0} >
{
  shape = Shape (x)
  batch = Gather <axis = 0> (shape, zero)
  many = Mul (batch, four)
  first = Unsqueeze (many, ax)
  target = Concat <axis = 0> (first, heads, rest)
  rows = Reshape (x, target)
  q, k, v = Split <axis = 1> (rows, sizes)
  one, two = Split <axis = 1> (x)
  left, right = Split <axis = 1> (x, other)
  scaled = Mul (q, k)
  open = Concat <axis = 0> (other, heads)
  odd = Reshape (x, open)
  y = Identity (scaled)
}
"""


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("rows", "f32[?,24,?]"),
        ("v", "f32[?,8,?]"),
        ("scaled", "f32[?,8,?]"),
        ("two", "f32[b,48,L]"),
        ("right", "f32[b,?,L]"),
        ("odd", "f32[?,?,24]"),
    ],
)
def test_a_size_is_told_beside_others_that_are_not(name: str, printed: str) -> None:
    model = model_of(CHUNKS)
    assert model.constants.type_text(model.graph.values[name][0]) == printed


def test_what_is_told_does_not_depend_on_what_was_asked_first() -> None:
    one, other = model_of(HEADS), model_of(HEADS)
    names = [node.output.name for node in one.graph.nodes]
    forth = {name: one.constants.dimensions(one.graph.values[name][0]) for name in names}
    back = {name: other.constants.dimensions(other.graph.values[name][0]) for name in reversed(names)}
    assert forth == back


def test_other_outputs_are_not_given_the_shape_of_the_first() -> None:
    model = model_of("""
        < ir_version: 8, opset_import: ["" : 17] >
        g (float[batch,17,32] x, float[32] scale) => (float[A,B,C] y, float[D,E,F] m)
        < int64[1] zero = {0}, int64[1] one = {1}, int64[2] rest = {17, 32} >
        {
          shape = Shape (x)
          first = Slice (shape, zero, one)
          sizes = Concat <axis = 0> (first, rest)
          same = Reshape (x, sizes)
          norm, mean = LayerNormalization (same, scale)
          y = Identity (norm)
          m = Identity (mean)
        }
    """)
    assert model.constants.dimensions(model.graph.values["norm"][0]) == ("batch", 17, 32)
    assert model.constants.dimensions(model.graph.values["mean"][0]) != ("batch", 17, 32)


def test_what_was_told_is_freed_without_the_collector() -> None:
    model = model_of(HEADS)
    constants = model.constants
    constants.dimensions(model.graph.values["probabilities"][0])
    freed = weakref.ref(constants)
    gc.disable()
    try:
        del model, constants
        assert freed() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("dividend", "divisor", "left"),
    [
        (("b", 4, 8), [4, 8], "b"),
        (("b", 4, 8), ["b", 8], 4),
        (("b", 4, 17, 8), [17, 8], "4*b"),
        (("4*b", 8), ["b", 2], 16),
        (("b", "s", 8), [8], "b*s"),
        (("a+b", 8), [8], "a+b"),
        (("a+b", 8), [4], None),
        (("b", 5), [2], None),
        (("b", 5), ["s"], None),
        (("b", None), ["b"], None),
        (("b", 0), [4], 0),
        (("b", 4), [0], None),
    ],
)
def test_a_quotient_keeps_the_names_that_are_left(
    dividend: tuple[int | str | None, ...], divisor: list[int | str | None], left: int | str | None
) -> None:
    assert quotient(dividend, divisor) == left


def test_sizes_of_operands_are_one_size_where_they_fit() -> None:
    assert broadcast_shape([("b", 1, 8), (4, 1)]) == ("b", 4, 8)
    assert broadcast_shape([("b",), ("b",)]) == ("b",)
    assert broadcast_shape([("b",), ("s",)]) == (None,)
    assert broadcast_shape([(None,), (8,)]) == (8,)
    assert broadcast_shape([(None,), (1,)]) == (None,)
    assert broadcast_shape([(3,), (8,)]) is None


def test_slices_and_tiles_keep_what_they_leave() -> None:
    whole = (1 << 63) - 1
    assert slice_shape(("b", 10), [(0, 1), (whole, 9), (0, 1), (1, 3)]) == ("b", 3)
    assert slice_shape(("b", 10), [(1,), (whole,)]) == (None, 10)
    assert slice_shape(("b", 10), [(-4,), (whole,), (-1,)]) == ("b", 4)
    assert slice_shape(("b", 10), [(0,), (5,), (7,)]) is None
    assert tile_shape(("b", 3), (1, 4)) == ("b", 12)
    assert tile_shape(("b", 3), (2, 1)) == (None, 3)
    assert pad_shape(("b", "n", 10), (0, 1, 2, 0, 0, -1)) == ("b", None, 11)
    assert pad_shape((4, 10), (0, None, 0, 2)) == (4, None)
    assert pad_shape((4, 10), (0, 2)) is None


def test_sizes_that_nothing_is_added_to_are_known_behind_a_pad() -> None:
    """The amounts as TorchScript writes them: computed, and turned around."""
    model = model_of("""
        < ir_version: 8, opset_import: ["" : 17] >
        g (float[b,1,n] x) => (float[A,B,C] y)
        < int64[2] own = {8, 8}, int64[1] four = {4}, int64[2] pairs = {-1, 2}, int64[1] last = {-1},
          int64[1] least = {-9223372036854775807}, int64[1] axis = {0} >
        {
          none = ConstantOfShape <value = int64[1] {0}> (four)  all = Concat <axis = 0> (own, none)
          rows = Reshape (all, pairs)  turned = Slice (rows, last, least, axis, last)
          columns = Transpose <perm = [1, 0]> (turned)  flat = Reshape (columns, last)
          wider = Pad <mode = "reflect"> (x, flat)  y = Relu (wider)
        }
    """)
    assert model.constants.dimensions(model.graph.values["wider"][0]) == ("b", 1, None)


def test_an_unknown_size_to_expand_to_is_no_contradiction() -> None:
    facts = facts_of("""
        < ir_version: 8, opset_import: ["" : 17] >
        g (float[2,1,8] x, float[N] other) => (float[A,B,C] y)
        < int64[2] rest = {4, 8} >
        { n = Shape (other)  sizes = Concat <axis = 0> (n, rest)  y = Expand (x, sizes) }
    """)
    rules = [rule for rule in load_builtin() if rule.id == "BLD209"]
    report = evaluate(rules, facts, Target(product="tensorrt", version="10.8"))
    assert not report.findings
