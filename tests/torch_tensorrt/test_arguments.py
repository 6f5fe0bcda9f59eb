"""Tests of operator arguments from the JSON of a program."""

from __future__ import annotations

from typing import Any

import pytest

from trtlint.torch_tensorrt.arguments import OperatorArgument, TensorType, arguments_of, tensor_type

VALUES = {
    "x": {"dtype": 7, "sizes": [{"as_int": 4}, {"as_expr": {"expr_str": "Symbol('s0', integer=True)"}}]},
    "i": {"dtype": 5, "sizes": [{"as_expr": {"expr_str": "Symbol('u0', integer=True)"}}]},
}
X = TensorType("float32", (4, None))
INDEX = TensorType("int64", (None,), unbacked=True)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"as_tensor": {"name": "x"}}, OperatorArgument("a", tensors=(X,))),
        ({"as_tensor": {"name": "unknown"}}, OperatorArgument("a", tensors=(None,))),
        ({"as_tensors": [{"name": "x"}, {"name": "i"}]}, OperatorArgument("a", tensors=(X, INDEX))),
        (
            {"as_optional_tensors": [{"as_none": True}, {"as_tensor": {"name": "i"}}]},
            OperatorArgument("a", tensors=(None, INDEX)),
        ),
        ({"as_int": 2}, OperatorArgument("a", value=2)),
        ({"as_ints": [1, 2]}, OperatorArgument("a", value=(1, 2))),
        ({"as_scalar_type": 12}, OperatorArgument("a", value="bool")),
        ({"as_none": True}, OperatorArgument("a")),
        ({"as_sym_int": {"as_name": "item"}}, OperatorArgument("a", symbolic=True)),
        ({"as_sym_int": {"as_int": 3}}, OperatorArgument("a", value=3)),
        ({"as_sym_ints": [{"as_int": 1}, {"as_name": "sub"}]}, OperatorArgument("a", symbolic=True)),
        ({"as_sym_ints": [{"as_int": 1}, {"as_int": 2}]}, OperatorArgument("a")),
    ],
)
def test_an_argument_is_a_value_tensors_or_a_symbol(given: Any, expected: OperatorArgument) -> None:
    assert arguments_of([{"name": "a", "arg": given}], VALUES) == (expected,)


def test_a_tensor_without_a_type_is_unknown() -> None:
    assert tensor_type(None) is None
    assert arguments_of(None, VALUES) == ()


def test_a_long_list_is_cut() -> None:
    inputs = [{"name": str(number), "arg": {"as_int": number}} for number in range(1000)]
    assert len(arguments_of(inputs, VALUES)) == 64


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"as_float": 0.5}, OperatorArgument("a", value=0.5)),
        ({"as_bool": False}, OperatorArgument("a", value=False)),
        ({"as_string": "mean"}, OperatorArgument("a", value="mean")),
        ({"as_floats": [0.5]}, OperatorArgument("a", value=(0.5,))),
        ({"as_bools": []}, OperatorArgument("a", value=())),
        ({"as_ints": list(range(70))}, OperatorArgument("a", value=tuple(range(64)))),
        ({"as_scalar_type": 99}, OperatorArgument("a")),
        ({"as_sym_float": {"as_float": 0.5}}, OperatorArgument("a", value=0.5)),
        ({"as_sym_bool": {"as_bool": True}}, OperatorArgument("a", value=True)),
        ({"as_sym_bool": {"as_name": "x"}}, OperatorArgument("a", symbolic=True)),
        ({"as_sym_ints": []}, OperatorArgument("a")),
        ({"as_tensors": [{"name": "x"}] * 70}, OperatorArgument("a", tensors=(X,) * 64)),
        (
            {"as_optional_tensors": [{"as_none": True}] * 70},
            OperatorArgument("a", tensors=(None,) * 64),
        ),
        ({"as_tensors": None}, OperatorArgument("a")),
    ],
)
def test_more_arguments(given: Any, expected: OperatorArgument) -> None:
    assert arguments_of([{"name": "a", "arg": given}], VALUES) == (expected,)


def test_names_of_arguments() -> None:
    inputs = [{"name": name, "arg": {"as_int": 1}} for name in ("b", None, "n" * 101)]
    assert [each.name for each in arguments_of(inputs, {})] == ["b", "", "n" * 100]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([{"as_int": 4}, {"as_int": True}, {"as_int": "4"}], TensorType("float32", (4, None, None))),
        ([{"as_int": 4}] * 40, TensorType("float32", (4,) * 32)),
        ([{"as_expr": "s0*u12"}], TensorType("float32", (None,), unbacked=True)),
        ([{"as_expr": "s0 + us1"}, {"as_expr": None}], TensorType("float32", (None, None))),
        ([{"as_int": 1}] * 32 + [{"as_expr": "u0"}], TensorType("float32", (1,) * 32)),
        ([{"as_int": 1}] * 31 + [{"as_expr": "u0"}], TensorType("float32", (*[1] * 31, None), unbacked=True)),
        ([{"as_expr": " " * 998 + "u0"}], TensorType("float32", (None,), unbacked=True)),
        ([{"as_expr": " " * 999 + "u0"}], TensorType("float32", (None,))),
        ([], TensorType("float32", ())),
    ],
)
def test_sizes_of_a_tensor(sizes: list[Any], expected: TensorType) -> None:
    assert tensor_type({"dtype": 7, "sizes": sizes}) == expected


def test_element_types_of_the_schema_of_torch() -> None:
    """The order is that of ``ScalarType`` in torch/_export/serde/schema.py."""
    order = [
        "?", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32",
        "complex64", "complex128", "bool", "bfloat16",
    ]  # fmt: skip
    found = [tensor_type({"dtype": number, "sizes": []}) for number in (*range(14), 29)]
    assert [each and each.element for each in found] == [*order, "float8_e4m3fn"]
