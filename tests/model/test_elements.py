"""Tests of operator attributes as Python data, and of the positions of stored numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tests.graphs import model_of
from trtlint.model.elements import Value

HEAD = '< ir_version: 8, opset_import: ["" : 17, "my" : 1] > g (float[1,4,8,8] x) => (float[A] y) '


def node_of(text: str) -> Any:
    return model_of(f"{HEAD} {{ {text} }}").graph.nodes[0]


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("y = my.Op <a = 3> (x)", "a", 3),
        ("y = my.Op <a = 0.5> (x)", "a", 0.5),
        ('y = my.Op <a = "text"> (x)', "a", "text"),
        ("y = my.Op <a = [1, 2]> (x)", "a", (1, 2)),
        ("y = my.Op <a = [0.5, 2.0]> (x)", "a", (0.5, 2.0)),
        ('y = my.Op <a = ["b", "c"]> (x)', "a", ("b", "c")),
        ("y = my.Op (x)", "a", "absent"),
        ("y = Softmax <axis = 1> (x)", "axis", 1),
        ("y = Softmax <axis = 1.0> (x)", "axis", "absent"),
        ("y = Softmax <axis = [1]> (x)", "axis", "absent"),
        ('y = Gelu <approximate = "tanh"> (x)', "approximate", "tanh"),
    ],
)
def test_attributes(text: str, name: str, expected: object) -> None:
    assert node_of(text).attribute(name, "absent") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y = my.Op <a = 3> (x)", 3),
        ("y = my.Op <a = 0.5> (x)", 0.5),
        ('y = my.Op <a = "3"> (x)', None),
        ("y = my.Op <a = [3]> (x)", None),
        ("y = my.Op (x)", None),
    ],
)
def test_numeric_attributes(text: str, expected: float | None) -> None:
    assert node_of(text).number("a", None) == expected


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [("<a = 3>", 3), ("<a = 3.0>", 3), ("<a = 0.5>", 7), ('<a = "3">', 7), ("<a = [3]>", 7), ("", 7)],
)
def test_integer_attributes(attributes: str, expected: int) -> None:
    assert node_of(f"y = my.Op {attributes} (x)").integer("a", 7) == expected


def test_a_tensor_stays_one() -> None:
    found = node_of("y = Constant <value = float[2] {1, 2}> ()").attribute("value")
    assert isinstance(found, onnx.TensorProto)


@pytest.mark.parametrize(
    ("name", "apart"), [("two", True), ("one", False), ("raw", False), ("signed", False), ("fed", False)]
)
def test_whole_numbers_of_eight_bits_outside_of_the_raw_data(name: str, apart: bool) -> None:
    model = model_of(
        '< ir_version: 8, opset_import: ["" : 17] > g (uint8[2] fed) => (uint8[2] y) '
        "< uint8[2] two = {1, 2}, uint8[1] one = {1}, int8[2] signed = {1, 2} > "
        "{ a = Add (fed, two) b = Add (a, one) c = Cast <to = 2> (signed) y = Add (b, c) }"
    )
    values = model.graph.values
    if name == "raw":
        raw = numpy_helper.from_array(np.array([1, 2], np.uint8), "two")
        stored = values["two"][0].initializer
        assert stored is not None
        stored.CopyFrom(raw)
        name = "two"
    assert model.constants.in_int32_data(values[name][0]) is apart


@pytest.mark.parametrize(("count", "known"), [(63, True), (64, True), (65, False)])
@pytest.mark.parametrize("inferred", [True, False])
def test_types_with_too_many_dimensions_are_unknown(count: int, known: bool, inferred: bool) -> None:
    value = Value("x")
    type_ = helper.make_tensor_type_proto(1, [2] * count)
    if inferred:
        value.set_type(type_)
    else:
        value.set_type(None, type_)
    assert (value.dtype, value.shape) == ("f32", (2,) * count if known else None)


@pytest.mark.parametrize(
    ("inferred", "declared", "expected"),
    [
        ((1, ["a", None, 3]), None, ("f32", ("a", None, 3))),
        ((1, ["a", None, None]), (1, [7, "b", 4]), ("f32", ("a", "b", 4))),
        ((0, [None]), (10, [5]), ("f16", (5,))),
        ((1, [2]), (10, [5]), ("f32", (2,))),
        ((1, [None]), (10, [5, 6]), ("f32", (None,))),
        ((1, [None, None]), (10, [0, 6]), ("f32", (None, 6))),
        ((1, None), (1, [5]), ("f32", (5,))),
        ((1, [None]), (1, None), ("f32", (None,))),
        (None, (1, [0, "n"]), ("f32", (None, "n"))),
        (None, None, (None, None)),
    ],
)
def test_the_declared_type_completes_the_inferred_one(
    inferred: tuple[int, Any] | None, declared: tuple[int, Any] | None, expected: object
) -> None:
    value = Value("x")
    first, second = (
        None if type_ is None else helper.make_tensor_type_proto(*type_) for type_ in (inferred, declared)
    )
    value.set_type(first, second)
    assert (value.dtype, value.shape) == expected
