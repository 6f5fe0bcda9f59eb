"""Arguments of operators are read from the JSON of a program."""

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
