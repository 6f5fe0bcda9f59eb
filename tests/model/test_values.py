"""Tests of values known without any input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graphs import model_of
from trtlint.model.folding import Array
from trtlint.model.load import Model


def value(model: Model, name: str) -> Array | None:
    return model.constants.array(model.graph.values[name][0])


def known(model: Model, name: str) -> list[Any]:
    array = value(model, name)
    assert array is not None
    return list(array.tolist())


SCALE = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[N,8,L,64] q) => (float y)
< int64[1] last = {-1}, int64[1] end = {9223372036854775807}, float one = {1} >
{
  shape = Shape (q)
  d = Slice (shape, last, end)
  df = Cast <to = 1> (d)
  sd = Sqrt (df)
  scale = Div (one, sd)
  y = Sqrt (scale)
}
"""


def test_head_size_is_known_behind_a_dynamic_batch() -> None:
    model = model_of(SCALE)
    assert known(model, "shape") == [None, 8, None, 64]
    assert model.constants.scalar(model.graph.values["y"][0]) == pytest.approx(64**-0.25)


def test_a_dynamic_shape_is_data_free_but_not_foldable() -> None:
    model = model_of(SCALE)
    y = model.graph.values["y"][0]
    assert model.constants.data_free(y)
    assert not model.constants.foldable(y)
    static = model_of(SCALE.replace("[N,8,L,64]", "[1,8,16,64]"))
    assert static.constants.foldable(static.graph.values["y"][0])


def test_an_unknown_dimension_makes_the_scale_unknown() -> None:
    model = model_of(SCALE.replace("[N,8,L,64]", "[N,8,L,D]"))
    assert model.constants.scalar(model.graph.values["y"][0]) is None


def arithmetic(op: str, a: list[int], b: list[int]) -> str:
    n = len(a)
    return f"""
    < ir_version: 8, opset_import: ["" : 17] >
    g (float x) => (int64[{n}] y)
    < int64[{n}] a = {{{", ".join(map(str, a))}}}, int64[{n}] b = {{{", ".join(map(str, b))}}} >
    {{ y = {op} (a, b) }}
    """


def test_integer_division_rounds_towards_zero() -> None:
    assert known(model_of(arithmetic("Div", [7, -7, 7, -7], [2, 2, -2, -2])), "y") == [3, -3, -3, 3]


def test_division_by_zero_is_unknown() -> None:
    assert known(model_of(arithmetic("Div", [7, 8], [0, 2])), "y") == [None, 4]


@pytest.mark.slow
@given(
    st.sampled_from(["Add", "Sub", "Mul", "Max", "Min"]),
    st.lists(st.tuples(st.integers(-1000, 1000), st.integers(-1000, 1000)), min_size=1, max_size=4),
)
def test_arithmetic_agrees_with_numpy(op: str, pairs: list[tuple[int, int]]) -> None:
    a, b = [p[0] for p in pairs], [p[1] for p in pairs]
    numpy = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Max": np.maximum, "Min": np.minimum}
    assert known(model_of(arithmetic(op, a, b)), "y") == list(numpy[op](a, b))


def test_a_huge_expand_is_not_computed() -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float x) => (float[1000000,1000000] y)
    < float one = {1}, int64[2] shape = {1000000, 1000000} >
    { y = Expand (one, shape) }
    """
    model = model_of(text)
    assert value(model, "y") is None
    assert model.constants.foldable(model.graph.values["y"][0])


def test_random_numbers_are_no_constants() -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float x) => (float[2] y)
    < float[2] like = {1, 2} >
    { y = RandomNormalLike (like) }
    """
    model = model_of(text)
    assert not model.constants.foldable(model.graph.values["y"][0])


def test_an_initializer_behind_identity_is_stored() -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[2] x) => (float[2] y)
    < float[2] w = {1, 2} >
    { v = Identity (w) y = Add (x, v) }
    """
    model = model_of(text)
    tensor = model.constants.stored(model.graph.values["v"][0])
    assert tensor is not None
    assert tensor.name == "w"
    assert known(model, "v") == [1, 2]


AXES = """
< ir_version: 8, opset_import: ["" : %d] >
g (float[N,8,L] x) => (float[A,B,C] y)
< int64[1] zero = {0}, int64[1] one = {1}, int64[2] some = {-1, 1} >
{ shape = Shape (x)  batch = Slice (shape, zero, one)  y = %s }
"""


@pytest.mark.parametrize(
    ("opset", "node", "axes"),
    [
        (17, "ReduceMean <axes = [-1, 1]> (x)", (-1, 1)),
        (18, "ReduceMean (x, some)", (-1, 1)),
        (17, "ReduceMean (x)", ()),
        (18, "ReduceMean (x)", ()),
        (18, "ReduceMean (x, batch)", None),
        (18, "ReduceMean <axes = 1.5> (x)", ()),
    ],
)
def test_axes_are_read_where_an_opset_has_them(opset: int, node: str, axes: tuple[int, ...] | None) -> None:
    model = model_of(AXES % (opset, node))
    (reduction,) = model.graph.by_op("ReduceMean")
    assert model.constants.axes(reduction) == axes


VALUES = """
< ir_version: 8, opset_import: ["" : 17, "own" : 1] >
g (float[N,3] x, bool b) => (float y)
< int64[2] two = {4, 4}, int64[2] differ = {4, 5}, int64[0] none = {}, bool[2] yes = {1, 1},
  uint8[2] bytes = {7, 7} >
{
  shape = Shape (x)  size = Size (x)  length = Gather (shape, two)
  words = Constant <value_string = "a"> ()
  number = Constant <value_float = 2.5> ()  numbers = Constant <value_floats = [2.5, 2.5]> ()
  whole = Constant <value_int = 3> ()  wholes = Constant <value_ints = [3, 4]> ()
  same = Identity (two)  foreign = own.Identity (two)
  random = RandomNormal <shape = [2]> ()
  branch = If (b) <then_branch = t () => (z) { z = Identity (two) }>
  added = Add (x, x)  fixed = Add (two, two)
  y = Neg (x)
}
"""


@pytest.fixture(scope="module")
def values() -> Model:
    """Return a model with values of several kinds."""
    return model_of(VALUES)


@pytest.mark.parametrize(
    ("name", "scalar", "integers"),
    [
        ("two", 4.0, (4, 4)),
        ("differ", None, (4, 5)),
        ("none", None, ()),
        ("yes", 1.0, None),
        ("bytes", 7.0, (7, 7)),
        ("shape", None, None),
        ("words", None, None),
        ("number", 2.5, None),
        ("numbers", 2.5, None),
        ("whole", 3.0, (3,)),
        ("wholes", None, (3, 4)),
        ("same", 4.0, (4, 4)),
        ("foreign", None, None),
        ("fixed", 8.0, (8, 8)),
        ("x", None, None),
    ],
)
def test_numbers_of_a_value(
    values: Model, name: str, scalar: float | None, integers: tuple[int, ...] | None
) -> None:
    (found,) = values.graph.values[name]
    assert values.constants.scalar(found) == scalar
    assert values.constants.integers(found) == integers


@pytest.mark.parametrize(
    ("name", "foldable", "data_free"),
    [
        ("two", True, True),
        ("x", False, False),
        ("b", False, False),
        ("shape", False, True),
        ("size", False, True),
        ("length", False, True),
        ("whole", True, True),
        ("words", True, True),
        ("foreign", True, True),
        ("random", False, False),
        ("branch", False, False),
        ("added", False, False),
        ("fixed", True, True),
    ],
)
def test_what_a_value_depends_on(values: Model, name: str, foldable: bool, data_free: bool) -> None:
    (found,) = values.graph.values[name]
    assert values.constants.foldable(found) is foldable
    assert values.constants.data_free(found) is data_free


def test_nothing_is_known_without_a_value(values: Model) -> None:
    known = values.constants
    assert (known.array(None), known.scalar(None), known.integers(None)) == (None, None, None)
    assert (known.stored(None), known.payload(None)) == (None, None)
    assert (known.foldable(None), known.data_free(None), known.in_int32_data(None)) == (False, False, False)
