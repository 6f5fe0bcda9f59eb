"""Tests of arithmetic on sizes that shape inference loses."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.graphs import facts_of, model_of
from trtlint.engine.evaluate import evaluate
from trtlint.engine.rulebook import load_builtin
from trtlint.model import symbolic
from trtlint.model.elements import Node, Value
from trtlint.model.sizes import Dimensions, broadcast_shape, pad_shape, quotient, slice_shape, tile_shape
from trtlint.model.symbolic import SymbolicShapes
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


WINDOWS = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[1,1,H,4] x, float[1,1,8,8] z, int64[r] k, int64[4] computed) => (float[A,B,C,D] y)
< float[1,1,3,3] w = {}, float[1,1,1,1] one = {1}, float[1,1,4,4] four = {}, float[4] scales = {1, 1, 2, 2},
  int64[1] begin = {0}, int64[1] end = {4}, int64[1] ax = {2}, int64[4] sizes = {1, 1, 4, 4},
  float slope = {0.1}, int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}, int64[2] two_rows = {2, -1},
  int64[4] copied = {4, -1, 0, 1}, int64[4] moved_sizes = {1, -1, 1, 4}, int64[1] minus = {-1} >
{
  conv = Conv <pads = [1, 1, 1, 1]> (x, w)
  pool = MaxPool <kernel_shape = [2, 2], strides = [2, 1]> (conv)
  up = ConvTranspose <strides = [2, 2]> (pool, w)
  act = PRelu (up, slope)
  part = Slice (act, begin, end, ax)
  wide = Pad (part, pads)
  larger = Resize <mode = "nearest"> (conv, "", scales)
  fixed = Resize <mode = "nearest"> (conv, "", "", sizes)
  unknown = Resize <mode = "nearest"> (conv, "", "", computed)
  pair = Conv <pads = [1, 1, 1, 1]> (x, w)
  sum = Add (conv, pair)
  scaled = Mul (conv, one)
  cut = Mul (conv, four)
  channels = Concat <axis = 1> (conv, pair)
  rows = Concat <axis = 2> (conv, z)
  images = Concat <axis = 0> (conv, four)
  again = Shape (k)
  some = Slice (k, begin, end)
  rest = Reshape (conv, two_rows)
  kept = Reshape (conv, copied)
  moved = Reshape (conv, moved_sizes)
  mixed = Concat <axis = 0> (again, minus)
  named = Reshape (k, mixed)
  y = Identity (x)
}
"""


@pytest.mark.parametrize(
    ("name", "axis", "expected"),
    [
        ("x", 2, True),
        ("conv", 2, True),
        ("conv", -2, True),
        ("conv", 3, False),
        ("conv", 1, False),
        ("pool", 2, True),
        ("up", 2, True),
        ("act", 2, True),
        ("part", 2, True),
        ("wide", 2, True),
        ("larger", 2, True),
        ("fixed", 2, False),
        ("unknown", 2, None),
        ("sum", 2, True),
        ("scaled", 2, True),
        ("cut", 2, False),
        ("channels", 2, True),
        ("rows", 2, True),
        ("images", 2, False),
        ("again", 0, False),
        ("some", 0, True),
        ("rest", 1, True),
        ("rest", 0, False),
        ("kept", 1, False),
        ("moved", 1, True),
        ("named", 1, False),
        ("conv", 4, None),
    ],
)
def test_sizes_computed_from_a_dynamic_size_are_dynamic(name: str, axis: int, expected: bool | None) -> None:
    model = model_of(WINDOWS)
    assert model.constants.dynamic(model.graph.values[name][0], axis) is expected


def test_a_name_that_only_the_exporter_wrote_is_no_dynamic_size() -> None:
    model = model_of(
        """< ir_version: 8, opset_import: ["" : 17] > g (float[n,4] x) => (float[A,B] y)
        < int64[1] zero = {0}, int64[1] two = {2}, int64[1] rest = {-1}, int64[s] t, int64[u] sizes >
        { shape = Shape (x) rank = Shape (shape) end = Sub (rank, two) t = Slice (shape, zero, end)
          sizes = Concat <axis = 0> (t, rest) y = Reshape (x, sizes) }"""
    )
    (sizes,) = model.graph.values["sizes"]
    (x,) = model.graph.values["x"]
    assert sizes.shape == ("u",)
    assert model.constants.dynamic(sizes, 0) is None
    assert model.constants.dynamic(x, 0) is True


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
    """TorchScript computes and reverses the padding amounts."""
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


def node_of(op: str, inputs: list[Any], outputs: int, attributes: dict[str, Any]) -> Node:
    """A node with inputs of unknown type; an input of None is omitted."""
    domain = attributes.pop("domain", "")
    node = Node(helper.make_node(op, [], [], domain=domain, **attributes), "n", "")
    node.inputs = tuple(None if given is None else Value(f"in{port}") for port, given in enumerate(inputs))
    node.outputs = tuple(Value(f"out{port}", node, port) for port in range(outputs))
    return node


def shapes_of(
    op: str, shapes: list[Any], elements: dict[int, Dimensions], outputs: int = 1, **attributes: Any
) -> list[Dimensions | None]:
    """The output shapes of a node; an input shape of None is an omitted input, "?" an unknown shape."""
    node = node_of(op, shapes, outputs, attributes)
    found = SymbolicShapes([node])
    for port, (value, shape) in enumerate(zip(node.inputs, shapes, strict=True)):
        if value is not None:
            found._shapes[value] = None if shape == "?" else shape
            found._known[value] = elements.get(port)
    return [found.dimensions(value, lambda _: None) for value in node.outputs]


@pytest.mark.parametrize(
    ("op", "shapes", "elements", "attributes", "expected"),
    [
        ("Relu", [("n", None)], {}, {}, ("n", None)),
        ("Relu", ["?"], {}, {}, None),
        ("Relu", [("n",)], {}, {"domain": "own"}, None),
        ("Unknown", [("n",)], {1: (2,)}, {}, None),
        ("ConstantOfShape", [(2,)], {0: ("n", 3)}, {}, ("n", 3)),
        ("ConstantOfShape", [(2,)], {}, {}, (None, None)),
        ("ConstantOfShape", [(16,)], {}, {}, (None,) * 16),
        ("ConstantOfShape", [(17,)], {}, {}, None),
        ("ConstantOfShape", [("n",)], {}, {}, None),
        ("ConstantOfShape", [(2, 3)], {}, {}, None),
        ("ConstantOfShape", [()], {}, {}, None),
        ("ConstantOfShape", ["?"], {}, {}, None),
        ("ConstantOfShape", [None], {}, {}, None),
        ("Range", [(), (), ()], {0: (0,), 1: ("n",), 2: (1,)}, {}, ("n",)),
        ("Range", [(), (), ()], {0: (0,), 1: (5,), 2: (1,)}, {}, (5,)),
        ("Range", [(), (), ()], {0: (0,), 1: (0,), 2: (1,)}, {}, (0,)),
        ("Range", [(), (), ()], {0: (0,), 1: (-1,), 2: (1,)}, {}, None),
        ("Range", [(), (), ()], {0: (1,), 1: (5,), 2: (1,)}, {}, None),
        ("Range", [(), (), ()], {0: (-1,), 1: (5,), 2: (1,)}, {}, None),
        ("Range", [(), (), ()], {0: (0,), 1: (5,), 2: (2,)}, {}, None),
        ("Range", [(), (), ()], {0: (0,), 1: (5,), 2: (0,)}, {}, None),
        ("Range", [(), (), ()], {0: (0,), 1: (5, 6), 2: (1,)}, {}, None),
        ("Range", [(), (), ()], {0: (0,), 1: (), 2: (1,)}, {}, None),
        ("Range", [(), (), ()], {0: (0,), 2: (1,)}, {}, None),
        ("Range", [(), (), ()], {1: (5,), 2: (1,)}, {}, None),
        ("Range", [(), (), ()], {0: (0,), 1: (5,)}, {}, None),
        ("Reshape", [("n", 12), (2,)], {1: (-1, 4)}, {}, ("3*n", 4)),
        ("Reshape", [("n", 12), (3,)], {1: ("n", -1, 6)}, {}, ("n", 2, 6)),
        ("Reshape", [("n", 12), (2,)], {1: ("n", 1)}, {}, ("n", 1)),
        ("Reshape", [("n", 12), (2,)], {1: (None, -1)}, {}, (None, None)),
        ("Reshape", [("n", 12), (2,)], {1: (None, 4)}, {}, (None, 4)),
        ("Reshape", [("n", 12), (2,)], {1: (-1, -1)}, {}, (None, None)),
        ("Reshape", [("n", 12), (2,)], {1: (0, 12)}, {}, (None, None)),
        ("Reshape", [("n", 12), (2,)], {}, {}, (None, None)),
        ("Reshape", [("n", 12), "?"], {}, {}, None),
        ("Reshape", ["?", (2,)], {1: (3, 4)}, {}, (None, None)),
        ("Add", [("n", 1), (4,)], {}, {}, ("n", 4)),
        ("Add", [("n", 1), "?"], {}, {}, None),
        ("Where", [("n", 1), (4,), (3, 1, 1)], {}, {}, (3, "n", 4)),
        ("Concat", [("n", 1), ("n", 4)], {}, {"axis": 1}, ("n", 5)),
        ("Concat", [("n", 1), ("n", 4)], {}, {"axis": -1}, ("n", 5)),
        ("Concat", [(2, 3), (5, 3)], {}, {}, (7, 3)),
        ("MatMul", [("n", 4), (4, 7)], {}, {}, ("n", 7)),
        ("MatMul", [("n", 4)], {}, {}, None),
        ("Gemm", [("n", 4), (4, 7)], {}, {}, ("n", 7)),
        ("Gemm", [("n", 4), (4, 7), (7,)], {}, {}, ("n", 7)),
        ("Gemm", [("k", "n"), (4, 7)], {}, {"transA": 1}, ("n", 7)),
        ("Gemm", [("n", 7), (4, 7)], {}, {"transB": 1}, ("n", 4)),
        ("Gemm", [("n", 4)], {}, {}, None),
        ("Gemm", [(2, "n", 4), (4, 7)], {}, {}, None),
        ("Gemm", [("n", 4), (2, 4, 7)], {}, {}, None),
        ("Gemm", [("n",), (4, 7)], {}, {}, None),
        ("Gemm", [("n", 4), (4,)], {}, {}, None),
        ("Gemm", [(4,), (4,)], {}, {}, None),
        ("Gemm", [(2, 4, 4), (2, 4, 4)], {}, {}, None),
        ("Transpose", [("n", 2, 3)], {}, {"perm": [1, 2, 0]}, (2, 3, "n")),
        ("Transpose", [("n", 2, 3)], {}, {}, (3, 2, "n")),
        ("Transpose", [("n", 2, 3)], {}, {"perm": [1, 0]}, None),
        ("Transpose", [("n", 2, 3)], {}, {"perm": [1, 1, 0]}, None),
        ("Gather", [("a", "b", "c"), ("n", 2)], {}, {}, ("n", 2, "b", "c")),
        ("Gather", [("a", "b", "c"), ("n", 2)], {}, {"axis": 1}, ("a", "n", 2, "c")),
        ("Gather", [("a", "b", "c"), ()], {}, {"axis": -1}, ("a", "b")),
        ("Gather", [("a", "b", "c"), ()], {}, {"axis": -3}, ("b", "c")),
        ("Gather", [("a", "b", "c"), ()], {}, {"axis": 2}, ("a", "b")),
        ("Gather", [("a", "b", "c"), ()], {}, {"axis": 3}, None),
        ("Gather", [("a", "b", "c"), ()], {}, {"axis": -4}, None),
        ("Gather", [("a", "b", "c"), "?"], {}, {}, None),
        ("Gather", [("a", "b", "c"), None], {}, {}, None),
        ("Unsqueeze", [("n", 3), (1,)], {1: (0,)}, {}, (1, "n", 3)),
        ("Unsqueeze", [("n", 3)], {}, {"axes": [1, -1]}, ("n", 1, 3, 1)),
        ("Unsqueeze", [("n", 3), (1,)], {}, {}, None),
        ("Pad", [("n", 3), (4,)], {1: (0, 1, 0, 2)}, {}, ("n", 6)),
        ("Pad", [("n", 3), (4,), ()], {1: (0, 1, 0, 2)}, {}, ("n", 6)),
        ("Pad", [(3,), (2,), (), (1,)], {1: (1, 2), 3: (0,)}, {}, None),
        ("Pad", [("n", 3), (4,), None, None, None], {1: (0, 1, 0, 2)}, {}, ("n", 6)),
        ("Pad", [("n", 3)], {}, {"pads": [0, 1, 0, 0]}, ("n", 4)),
        ("Pad", [("n", 3), (4,)], {}, {}, None),
        ("Slice", [("n", 9), (1,), (1,), (1,), (1,)], {1: (1,), 2: (8,), 3: (1,), 4: (2,)}, {}, ("n", 4)),
        ("Slice", [("n", 9), (1,), (1,)], {1: (1,), 2: (8,)}, {}, (None, 9)),
        ("Slice", [("n", 9), (1,), (1,)], {1: (1,)}, {}, None),
        ("Expand", [("n", 1), (2,)], {1: (1, 4)}, {}, ("n", 4)),
        ("Expand", [(1,), (2,)], {1: (0, 4)}, {}, (0, 4)),
        ("Expand", [(1,), (1,)], {1: (-1,)}, {}, None),
        ("Expand", [(1,), (1,)], {1: ("n",)}, {}, ("n",)),
        ("Expand", [(1,), (1,)], {}, {}, None),
        ("Tile", [("n", 3), (2,)], {1: (1, 4)}, {}, ("n", 12)),
        ("Tile", [("n", 3), (2,)], {1: (1, 0)}, {}, ("n", 0)),
        ("Tile", [("n", 3), (2,)], {1: (1, -1)}, {}, None),
        ("Conv", ["?", (4, 3, 1)], {}, {}, (None, 4, None)),
        ("Conv", [("n", 3, 8), (4, 3, 1)], {}, {}, ("n", 4, None)),
        ("Conv", [("n", 3, 8), "?"], {}, {}, None),
        ("GlobalAveragePool", [("n", 3, None, 8)], {}, {}, ("n", 3, 1, 1)),
        ("GlobalAveragePool", ["?"], {}, {}, None),
    ],
)
def test_the_shape_that_an_operator_computes(
    op: str,
    shapes: list[Any],
    elements: dict[int, Dimensions],
    attributes: dict[str, Any],
    expected: Dimensions | None,
) -> None:
    assert shapes_of(op, shapes, elements, **attributes) == [expected]


@pytest.mark.parametrize(
    ("shapes", "elements", "attributes", "expected"),
    [
        ([(8, "n", 3)], {}, {}, [(4, "n", 3), (4, "n", 3)]),
        ([("n", 8, 3)], {}, {"axis": 1}, [("n", 4, 3), ("n", 4, 3)]),
        ([("n", 3, 8)], {}, {"axis": -1}, [("n", 3, 4), ("n", 3, 4)]),
        ([("n", 9)], {}, {"axis": 1}, [("n", None), ("n", None)]),
        ([("n", 8)], {}, {}, [(None, 8), (None, 8)]),
        ([("n", 8), (2,)], {1: (3, 5)}, {"axis": 1}, [("n", 3), ("n", 5)]),
        ([("n", 8)], {}, {"axis": 1, "split": [2, 6]}, [("n", 2), ("n", 6)]),
        ([("n", 8), (2,)], {}, {"axis": 1}, [("n", None), ("n", None)]),
        ([("n", 8), (3,)], {1: (3, 3, 2)}, {"axis": 1}, [("n", None), ("n", None)]),
        ([()], {}, {}, [None, None]),
        (["?"], {}, {}, [None, None]),
    ],
)
def test_the_shapes_of_the_parts_of_a_split(
    shapes: list[Any],
    elements: dict[int, Dimensions],
    attributes: dict[str, Any],
    expected: list[Dimensions | None],
) -> None:
    assert shapes_of("Split", shapes, elements, outputs=2, **attributes) == expected


@pytest.mark.parametrize(
    ("op", "shape", "elements", "attributes", "expected"),
    [
        ("Shape", ("n", 2, 3), [None], {}, ("n", 2, 3)),
        ("Shape", ("n", 2, 3), [None], {"start": 1}, (2, 3)),
        ("Shape", ("n", 2, 3), [None], {"start": -2, "end": -1}, (2,)),
        ("Shape", ("n", 2, 3), [None], {"end": 1}, ("n",)),
        ("Shape", None, [None], {}, None),
        ("Identity", None, [("n", 2)], {}, ("n", 2)),
        ("Cast", None, [("n", 2)], {"to": 7}, ("n", 2)),
        ("Unsqueeze", None, [("n",), (0,)], {}, ("n",)),
        ("Squeeze", None, [("n",)], {}, ("n",)),
        ("Squeeze", None, [None], {}, None),
        ("Neg", None, [("n",)], {}, None),
        ("Identity", None, [("n",)], {"domain": "own"}, None),
        ("Concat", None, [("n",), (2, None), ()], {}, ("n", 2, None)),
        ("Concat", None, [("n",), None], {}, None),
        ("Concat", None, [], {}, None),
        ("Gather", None, [("a", "b", "c"), (2, 0)], {}, ("c", "a")),
        ("Gather", None, [("a", "b", "c"), (-3, -1)], {}, ("a", "c")),
        ("Gather", None, [("a", "b", "c"), (3,)], {}, None),
        ("Gather", None, [("a", "b", "c"), (-4,)], {}, None),
        ("Gather", None, [("a", "b", "c"), (0, "n")], {}, None),
        ("Gather", None, [("a", "b", "c"), None], {}, None),
        ("Gather", None, [("a", "b", "c"), ()], {}, ()),
        ("Slice", None, [("a", "b", "c", "d"), (1,), (3,)], {}, ("b", "c")),
        ("Slice", None, [("a", "b", "c", "d"), (-3,), (-1,), (0,)], {}, ("b", "c")),
        ("Slice", None, [("a", "b", "c", "d"), (0,), (9,), (0,), (1,)], {}, ("a", "b", "c", "d")),
        ("Slice", None, [("a", "b", "c", "d"), (0,), (4,), (0,), (2,)], {}, ("a", "c")),
        ("Slice", None, [("a", "b", "c", "d"), (0,), (4,), (0,), (0,)], {}, None),
        ("Slice", None, [("a", "b", "c", "d"), (3,), (0,), (0,), (-1,)], {}, None),
        ("Slice", None, [("a", "b", "c", "d"), (0,), (4,), (0,), None], {}, None),
        ("Slice", None, [("a", "b", "c", "d"), ("n",), (4,)], {}, None),
        ("Slice", None, [("a", "b", "c", "d"), (0,), (None,)], {}, None),
        ("Slice", None, [("a", "b", "c", "d"), (), (4,)], {}, None),
        ("Slice", None, [("a", "b", "c", "d"), (0,)], {}, None),
        ("Slice", None, [None, (0,), (1,)], {}, None),
    ],
)
def test_the_sizes_that_an_operator_computes(
    op: str,
    shape: Dimensions | None,
    elements: list[Dimensions | None],
    attributes: dict[str, Any],
    expected: Dimensions | None,
) -> None:
    node = node_of(op, [()] * len(elements), 1, dict(attributes))
    found = SymbolicShapes([node])
    found._array = lambda _: None
    for value, known in zip(node.inputs, elements, strict=True):
        assert value is not None
        found._shapes[value], found._known[value] = shape, known
    assert found._elements(node.output) == expected


def test_the_depth_of_the_search_for_sizes_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two nodes are between the value and its known source."""
    for most, expected in ((1, None), (2, ("n",))):
        monkeypatch.setattr(symbolic, "_DEEPEST", most)
        first, second = (node_of("Identity", [()], 1, {}) for _ in range(2))
        second.inputs = first.outputs
        found = SymbolicShapes([first, second])
        found._array = lambda _: None
        assert first.inputs[0] is not None
        found._known[first.inputs[0]] = ("n",)
        assert found._elements(second.output) == expected


@pytest.mark.parametrize(
    ("array", "dtype", "expected"),
    [
        (np.ma.array([[2, 3]]), "i64", (2, 3)),
        (np.ma.array(5), "i32", (5,)),
        (np.ma.array([2, 3], mask=[True, False]), "i64", (None, 3)),
        (np.ma.array([2, 3], mask=[False, True]), "i32", (2, None)),
        (np.ma.array([2, 3], mask=[True, False]), "u8", None),
        (np.ma.array([2.0, 3.0]), "f32", None),
        (np.ma.array([2, 3], np.uint8), "u8", (2, 3)),
        (None, "i64", None),
    ],
)
def test_the_sizes_in_an_array(array: Any, dtype: Any, expected: Dimensions | None) -> None:
    value = Value("sizes")
    value.set_dtype(dtype)
    found = SymbolicShapes([])
    found._array = lambda _: array
    assert found._elements(value) == expected
    assert found._elements(None) is None
