"""Tests of language functions on tuples, types, sizes and origins of values."""

# ruff: noqa: E501 - a graph, a message or a case in one line is read at once

from __future__ import annotations

from typing import Any

import pytest

from tests.graphs import model_of
from trtlint.language import graphfunctions
from trtlint.language.functions import FUNCTIONS
from trtlint.language.graphfunctions import (
    _computed_by,
    _halves_equal,
    _product,
    _same_size,
)
from trtlint.language.operations import UNKNOWN
from trtlint.model.load import Model
from trtlint.model.protos import MOST_DIMENSIONS

TEXT = """
< ir_version: 8, opset_import: ["" : 17, "my" : 1] >
g (float[2,3] x, float16[2,N] h, int32[2] sizes, float[4] column, float[M] named, float[1,1,4] thin, int8[2,3] fed,
   bool c, float[1] unit, uint8[4] bytes)
=> (float[2,3] y, uint8[4] given, float[] z)
< uint8[4] stored = {1, 2, 3, 4}, int8[2,3] weights = {1, 2, 3, 4, 5, 6}, float s = {0.5}, float[1] one = {1},
  float[3] row = {1, 2, 3}, int8 point = {0}, int64[2] fixed = {2, 3}, float[2,3] tail = {} >
{
  i = Identity (stored)
  given = Identity (stored)
  ii = Identity (i)
  flat = Flatten (weights)
  moved = Transpose (weights)
  cast = Cast <to = 1> (h)
  turned = Transpose (cast)
  negated = Neg (cast)
  d = DequantizeLinear (fed, s, point)
  dd = Transpose (d)
  e = DequantizeLinear (weights, row)
  odd = my.Odd (x)
  f = DequantizeLinear (fed, odd)
  q = QuantizeLinear (x, s, zero)
  zero = Identity (point)
  zeroed = Abs (zero)
  n = Neg (x)
  a = Add (n, tail)
  b = Abs (a)
  copied = Identity (x)
  again = Identity (copied)
  sum = Add (x, x)
  counted = Cast <to = 7> (named)
  shape = Shape (h)
  u = Mul (stored, stored)
  z = Add (odd, d)
  y = If (c) < then_branch = t () => (float[2,3] p) { p = Abs (b) }, else_branch = l () => (float[2,3] o) { o = Exp (x) } >
}
"""


@pytest.fixture(scope="module")
def model() -> Model:
    return model_of(TEXT)


def found(model: Model, name: str) -> Any:
    value = model.graph.resolve(name) or next(iter(model.graph.values.get(name, ())), None)
    assert value is not None, name
    return value


def called(model: Model, name: str, *arguments: object, constants: bool = True) -> object:
    """Call a function: a text with ``@`` is a value, and one with ``@`` and spaces is a tuple of values."""
    given: list[object] = []
    for each in arguments:
        if isinstance(each, str) and each.startswith("@"):
            values = [found(model, word.removeprefix("@")) for word in each.split()]
            given.append(tuple(values) if each.endswith(" ") or len(values) > 1 else values[0])
        else:
            given.append(each)
    return FUNCTIONS[name].call(model.constants if constants else None, *given)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("imported", ("@stored",), "i32"),
        ("imported", ("@x",), "f32"),
        ("imported", ("@bytes",), "u8"),
        ("internal", ("@n ", "f32"), True),
        ("internal", ("@z ", "f32"), False),
        ("internal", ("@p ", "f32"), False),
        ("internal", ("@n ", "f16"), False),
        ("internal", ("@z @n", "f32"), True),
        ("internal", ("@stored ", "i32"), False),
        ("internal", ((), "f32"), False),
        ("internal", ((1, None), "f32"), False),
        ("quantized", ("@weights ",), True),
        ("quantized", ("@flat ",), True),
        ("quantized", ("@moved ",), False),
        ("quantized", ("@fed ",), False),
        ("quantized", ("@row ",), False),
        ("quantized", ("@row @weights",), True),
        ("cast_from", ("@cast",), "f16"),
        ("cast_from", ("@turned",), "f16"),
        ("cast_from", ("@negated",), None),
        ("cast_from", ("@x",), None),
        ("dequantized", ("@d",), "i8"),
        ("dequantized", ("@dd",), "i8"),
        ("dequantized", ("@cast",), None),
        ("one_scale", ("@d",), True),
        ("one_scale", ("@dd",), True),
        ("one_scale", ("@e",), False),
        ("one_scale", ("@f",), None),
        ("one_scale", ("@x",), None),
        ("scale_rank", ("@d",), 0),
        ("scale_rank", ("@e",), 1),
        ("scale_rank", ("@x",), None),
        ("rest", ((1, 2, 3), 1), (2, 3)),
        ("rest", ((1, 2, 3), 4), ()),
        ("first", ((1, 2, 3), 2), (1, 2)),
        ("first", ((1, 2, 3), -1), (1, 2)),
        ("computed_by", ("@b ",), ("Abs", "Add", "Neg")),
        ("computed_by", ("@p ",), ("Abs",)),
        ("computed_by", ("@x ",), ()),
        ("computed_by", ("@b @cast",), ("Abs", "Add", "Cast", "Neg")),
        ("computed_by", ((),), ()),
        ("are_read", ("@zeroed ",), False),
        ("are_read", ("@zeroed @x",), True),
        ("are_read", ((),), False),
        ("same_ranks", ("@x @column", "@h @row"), True),
        ("same_ranks", ("@x @column", "@h @x"), False),
        ("same_ranks", ("@odd ", "@x "), UNKNOWN),
        ("same_ranks", ("@odd @x", "@x @row"), False),
        ("same_ranks", ("@x @column", "@h "), True),
        ("same_types", ("@x @h", "@row @h"), True),
        ("same_types", ("@x @h", "@row @x"), False),
        ("same_types", ("@odd ", "@x "), UNKNOWN),
        ("same_shapes", ("@x ", "@n "), True),
        ("same_shapes", ("@x ", "@dd "), False),
        ("same_shapes", ("@x ", "@h "), UNKNOWN),
        ("same_shapes", ("@x ", "@column "), False),
        ("same_shapes", ("@odd ", "@x "), UNKNOWN),
        ("same_shapes", ("@x ", "@odd "), UNKNOWN),
        ("same_shapes", ("@x @column", "@h @row"), False),
        ("concatenates", ("@x @h", 1), True),
        ("concatenates", ("@x @dd", 0), False),
        ("concatenates", ("@x @dd", 1), False),
        ("concatenates", ("@x @n", 0), True),
        ("concatenates", ("@x @column", 0), False),
        ("concatenates", ("@column @row", 0), True),
        ("concatenates", ("@column @row", -1), True),
        ("concatenates", ("@x @odd", 0), True),
        ("concatenates", ((), 0), True),
        ("expands", ("@x", (2, 3)), True),
        ("expands", ("@x", (3,)), True),
        ("expands", ("@x", (7, 2, 3)), True),
        ("expands", ("@x", (1, 1)), True),
        ("expands", ("@x", (3, 2)), False),
        ("expands", ("@x", (2, "n")), True),
        ("expands", ("@unit", (5,)), True),
        ("expands", ("@h", (2, 9)), True),
        ("expands", ("@odd", (2,)), None),
        ("zero_point", ("@zero",), False),
        ("zero_point", ("@point",), False),
        ("zero_point", ("@zeroed",), False),
        ("zero_point", ("@s",), False),
        ("ones", ("@thin", (0, 1)), True),
        ("ones", ("@thin", (0, 2)), False),
        ("ones", ("@thin", (-3, -2)), True),
        ("ones", ("@thin", (-4,)), None),
        ("ones", ("@thin", (3,)), None),
        ("ones", ("@thin", (0, "a")), None),
        ("ones", ("@thin", (-1,)), False),
        ("ones", ("@thin", ()), True),
        ("ones", ("@h", (1,)), UNKNOWN),
        ("ones", ("@odd", (0,)), None),
        ("dynamic", ("@x", 0), False),
        ("dynamic", ("@h", 1), True),
        ("dynamic", ("@h", -1), True),
        ("dynamic", ("@h", -2), False),
        ("dynamic", ("@h", 2), None),
        ("dynamic", ("@h", -3), None),
        ("dynamic", ("@h", "0"), None),
        ("dynamic", ("@odd", 0), None),
        ("unsigned", ("@i ",), True),
        ("unsigned", ("@x @u",), True),
        ("unsigned", ("@bytes ",), False),
        ("unsigned", ((),), False),
        ("settled", ("@shape",), None),
        ("settled", ("@fixed",), True),
        ("settled", ("@x",), False),
        ("miscounted", ("@counted ",), True),
        ("miscounted", ("@sizes ",), False),
        ("miscounted", ("@sizes @counted",), True),
        ("miscounted", ("@fixed ",), False),
        ("handed", ("@x ",), False),
        ("handed", ((),), False),
    ],
)
def test_results(name: str, arguments: tuple[object, ...], expected: object, model: Model) -> None:
    result = called(model, name, *arguments)
    assert (result, type(result)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("same_shapes", ("@x ", "@n "), None),
        ("concatenates", ("@x @column", 0), True),
        ("expands", ("@x", (3, 2)), None),
        ("ones", ("@thin", (0, 1)), True),
        ("ones", ("@thin", (2,)), False),
        ("dynamic", ("@h", 1), None),
    ],
)
def test_results_without_constants(
    name: str, arguments: tuple[object, ...], expected: object, model: Model
) -> None:
    assert called(model, name, *arguments, constants=False) is expected


def test_a_zero_point_of_quantizers_only() -> None:
    model = model_of("""
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[4] x) => (float[4] y) < float s = {1}, int8 p = {0}, int8 other = {0} >
    { q = QuantizeLinear (x, s, p)  y = DequantizeLinear (q, s, p)  z = DequantizeLinear (other, s, other) }
    """)
    assert [called(model, "zero_point", f"@{name}") for name in ("p", "other", "q", "s", "y")] == [
        True, False, False, False, False,
    ]  # fmt: skip


def test_the_search_for_operators_is_limited(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    values = (found(model, "b"),)
    for most, expected in ((2, ("Abs", "Add", "Neg")), (1, None)):
        monkeypatch.setattr(graphfunctions, "MOST_VISITED", most)
        assert _computed_by(None, values) == expected


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("N", "N", True),
        ("N", "M", UNKNOWN),
        ("N", "N+N", False),
        ("N+1", "N", False),
        ("N", "NN", UNKNOWN),
        ("M+N", "N", False),
        (2, 2, True),
        (2, 3, False),
        (2, "N", UNKNOWN),
        (None, 2, UNKNOWN),
        (2, None, UNKNOWN),
        (None, None, UNKNOWN),
    ],
)
def test_equal_sizes(left: object, right: object, expected: object) -> None:
    assert _same_size(left, right) == expected


def test_products_of_whole_numbers() -> None:
    assert _product(None, (2, 3)) == 6
    assert _product(None, ()) == 1
    assert _product(None, (2, True)) is None
    assert _product(None, (2, 3.0)) is None
    assert _product(None, (2, None)) is None
    assert _product(None, (1,) * MOST_DIMENSIONS) == 1
    assert _product(None, (1,) * (MOST_DIMENSIONS + 1)) is None
    assert _halves_equal(None, (1, 2, 1, 2)) is True
    assert _halves_equal(None, (1, 2, 1)) is False
    assert _halves_equal(None, (1, 2)) is False
    assert _halves_equal(None, ()) is True
