"""Tests of rule-language functions on values of a small model."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.graphs import model_of
from trtlint.language.functions import FUNCTIONS
from trtlint.language.operations import UNKNOWN
from trtlint.model.load import Model

TEXT = """
< ir_version: 8, opset_import: ["" : 17, "my" : 1] >
g (float[2,3] x, float16[2,N] h, int64[2] n, float[4,6,8] wide, float[1,4,6,8] deep)
=> (float[2,3] y, float[A] z)
< float two = {2}, float[3] row = {1, 2, 3}, float[2,1] thin = {1, 2}, float[2,3] alike = {5, 5, 5, 5, 5, 5},
  int64[4] by = {0, 0, 2, 4} >
{
  copy = Identity (row)  doubled = Mul (row, two)  same = Cast <to = 1> (copy)
  y = Add (x, row)  soft = Softmax <axis = 1> (x)
  filled = ConstantOfShape <value = float[1] {3}> (n)
  odd = my.Odd (x)  stored = Constant <value = float[2] {7, 8}> ()  false_constant = my.Constant (x)
  sizes = Shape (h)  joined = Concat <axis = 0> (sizes, n)
  length = Cast <to = 1> (n)  scaled = Mul (x, length)
  heads = Reshape (wide, by)  split = Transpose <perm = [0, 2, 1, 3]> (heads)
  turned = Transpose <perm = [0, 1, 3, 2]> (heads)  unsplit = Transpose <perm = [0, 2, 1, 3]> (deep)
  from_deep = Reshape (deep, by)  split_deep = Transpose <perm = [0, 2, 1, 3]> (from_deep)
  from_pair = Reshape (x, by)  split_pair = Transpose <perm = [0, 2, 1, 3]> (from_pair)
  from_odd = Reshape (odd, by)  split_odd = Transpose <perm = [0, 2, 1, 3]> (from_odd)
  plain = Transpose (heads)  z = my.End (y, y, doubled)
}
"""


@pytest.fixture(scope="module")
def model() -> Model:
    """Return the model."""
    return model_of(TEXT)


def called(model: Model, name: str, *arguments: Any, constants: bool = True, **options: Any) -> object:
    """Call a function; a text that starts with ``@`` is a value name."""
    given = [
        model.graph.resolve(each[1:]) if isinstance(each, str) and each.startswith("@") else each
        for each in arguments
    ]
    assert None not in given
    return FUNCTIONS[name].call(model.constants if constants else None, *given, **options)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("const", ("@two",), 2.0),
        ("const", ("@row",), None),
        ("const", ("@alike",), 5.0),
        ("const", ("@x",), None),
        ("uses", ("@x",), 6),
        ("uses", ("@y",), 3),
        ("uses", ("@z",), 1),
        ("uses", ("@soft",), 0),
        ("dtype", ("@h",), "f16"),
        ("dtype", ("@odd",), None),
        ("rank", ("@deep",), 4),
        ("rank", ("@odd",), None),
        *(
            ("dim", ("@x", index), size)
            for index, size in ((0, 2), (1, 3), (-1, 3), (-2, 2), (2, None), (-3, None))
        ),
        ("dim", ("@h", 1), None),
        ("dim", ("@h", 0), 2),
        ("dim", ("@x", 0.0), None),
        ("dim", ("@odd", 0), None),
        ("size", ("@x",), 6),
        ("size", ("@two",), 1),
        ("size", ("@h",), None),
        ("size", ("@odd",), None),
        ("repeated", ((0, 2, -1), 3), True),
        ("repeated", ((0, 1, -1), 3), False),
        ("repeated", ((0, 3, 3), 3), False),
        ("repeated", ((0, 0), 0), None),
        ("repeated", ((0.5, 0.5), 3), None),
        ("attribute", ("@soft", "axis"), 1),
        ("attribute", ("@soft", "other"), None),
        ("attribute", ("@x", "axis"), None),
        ("attribute", ("@filled", "value"), None),
        ("operator", ("@soft",), "Softmax"),
        ("operator", ("@x",), ""),
        ("split_heads", ("@split",), True),
        ("split_heads", ("@turned",), False),
        ("split_heads", ("@plain",), False),
        ("split_heads", ("@unsplit",), False),
        ("split_heads", ("@split_deep",), False),
        ("split_heads", ("@split_pair",), False),
        ("split_heads", ("@split_odd",), None),
        ("split_heads", ("@heads",), False),
        ("split_heads", ("@x",), False),
        ("initializer", ("@row",), True),
        ("initializer", ("@stored",), True),
        ("initializer", ("@copy",), False),
        ("initializer", ("@false_constant",), False),
        ("initializer", ("@x",), False),
        ("stored", ("@row",), True),
        ("stored", ("@same",), True),
        ("stored", ("@doubled",), False),
        ("stored", ("@x",), False),
        ("constant", ("@row",), True),
        ("constant", ("@doubled",), True),
        ("constant", ("@y",), False),
        ("constant", ("@sizes",), False),
        ("elements", ("@doubled",), (2.0, 4.0, 6.0)),
        ("elements", ("@two",), (2.0,)),
        ("elements", ("@sizes",), (2, None)),
        ("elements", ("@joined",), None),
        ("elements", ("@x",), None),
        ("fed", ("@scaled",), ("f32", "i64")),
        ("fed", ("@sizes",), ()),
        ("fed", ("@doubled",), ()),
        ("fed", ("@h",), ("f16",)),
        ("broadcasts", ("@x", "@row"), True),
        ("broadcasts", ("@x", "@two"), True),
        ("broadcasts", ("@x", "@h"), True),
        ("broadcasts", ("@wide", "@deep"), True),
        ("broadcasts", ("@x", "@thin"), True),
        ("broadcasts", ("@thin", "@x"), True),
        ("broadcasts", ("@x", "@wide"), False),
        ("broadcasts", ("@x", "@n"), False),
        ("broadcasts", ("@x", "@n", 1), True),
        ("broadcasts", ("@wide", "@x", 1), False),
        ("broadcasts", ("@wide", "@x", 2), True),
        ("broadcasts", ("@x", "@n", -1), None),
        ("broadcasts", ("@x", "@n", 0.5), None),
        ("broadcasts", ("@x", "@odd"), None),
        ("broadcasts", ("@odd", "@x"), None),
        ("static", ("@x",), True),
        ("static", ("@h",), False),
        ("static", ("@odd",), False),
        ("default", (1, 2), 1),
        ("default", (UNKNOWN, 2), 2),
        ("lower", ("aBC",), "abc"),
        ("known", (UNKNOWN,), False),
        ("known", (False,), True),
        ("given", (True,), True),
        ("given", (False,), False),
        ("given", (1,), False),
        ("given", (UNKNOWN,), False),
        ("abs", (-2.5,), 2.5),
        ("min", (3, 1, 2), 1),
        ("max", (3, 1, 2), 3),
        ("min", ((3, 1.5),), 1.5),
        ("max", ([3, 1.5],), 3),
        ("max", (frozenset({3, 1}),), 3),
        ("min", ((),), None),
        ("min", ((3, "a"),), None),
        ("max", (True, 2), None),
        ("max", ((1, 2), 3), None),
        ("len", ((1, 2, 3),), 3),
        ("len", ("ab",), 2),
        ("round", (2.567,), 3),
        ("round", (2.567, 2), 2.57),
        ("round", (1234, -2), 1200),
        ("round", (2.5, 20), 2.5),
        ("round", (2.5, 21), None),
        ("round", (2.5, -21), None),
        ("round", (2.5, 0.5), None),
        ("round", (math.inf,), None),
        ("round", (math.nan, 2), None),
    ],
)
def test_results(name: str, arguments: tuple[object, ...], expected: object, model: Model) -> None:
    found = called(model, name, *arguments)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("const", ("@two",), None),
        ("constant", ("@two",), None),
        ("elements", ("@two",), None),
        ("broadcasts", ("@x", "@row"), None),
        ("initializer", ("@row",), True),
        ("initializer", ("@stored",), True),
        ("initializer", ("@copy",), False),
    ],
)
def test_results_without_the_constants_of_a_model(
    name: str, arguments: tuple[object, ...], expected: object, model: Model
) -> None:
    assert called(model, name, *arguments, constants=False) is expected


def test_types_of_several_values(model: Model) -> None:
    values = tuple(model.graph.resolve(name) for name in ("x", "h", "odd"))
    assert called(model, "dtypes", (*values, 1)) == ("f32", "f16", None)
