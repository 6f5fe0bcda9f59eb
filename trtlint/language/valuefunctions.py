"""Functions of the rule language for the elements of values, and for their storage in the file."""

from __future__ import annotations

from collections.abc import Sequence

from trtlint.language.function import Text, Tuple, Verdict, function
from trtlint.model.graph import Node, Value
from trtlint.model.values import Constants
from trtlint.model.walks import search

_MOST_VISITED = 100
_UNSIGNED = frozenset({"bool", "u8", "u16", "u32", "u64"})
_RESULT_NOT_NEGATIVE = frozenset(
    {
        *("Sigmoid", "HardSigmoid", "Softmax", "Softplus", "Relu", "Exp", "Abs", "Sqrt"),
        *("ReduceL1", "ReduceL2", "ReduceSumSquare", "ArgMax", "ArgMin", "NonZero", "Shape", "Size"),
    }
)
"""Operators whose results are never negative."""
_FIRST_INPUT = frozenset(
    {
        *("Identity", "Cast", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Expand", "Tile"),
        *("Slice", "Split", "Gather", "GatherND", "GatherElements", "Floor", "Ceil", "Round", "Pow"),
        *("ReduceMax", "ReduceMin", "ReduceMean", "ReduceSum", "ReduceProd"),
        *("MaxPool", "AveragePool", "TopK"),
    }
)
"""Operators whose results are never negative, as long as the first input is not negative."""
_ALL_INPUTS = frozenset({"Concat", "Add", "Mul", "Div", "Min", "Sum", "Mean"})
"""Operators whose results are never negative, as long as no input is negative."""


@function("never_negative(v)", "whether trtlint can prove that v never has a negative element")
def _never_negative(constants: Constants | None, value: Value) -> Verdict:
    """Return whether a value cannot be negative.

    The function searches upstream. It returns False if it finds a value that may be negative, or if the
    search reaches its limit.
    """
    for number, (made, _) in enumerate(search(value, _decisive, _MOST_VISITED + 1)):
        if number >= _MOST_VISITED:
            return False
        node = made.producer
        if node is not None and not node.domain and (_decisive(node) or _is_not_negative(node)):
            continue
        if made.dtype not in _UNSIGNED and not _stored_not_negative(constants, made):
            return False
    return True


def _decisive(node: Node) -> Sequence[Value | None]:
    """Return the inputs of an operator that decide whether its result can be negative.

    If none of these inputs is negative, the result is not negative. For most operators, the inputs do not
    decide this, and the returned sequence is empty.
    """
    if node.domain:
        return ()
    if node.op in _FIRST_INPUT:
        return node.inputs[:1]
    if _is_square(node):
        return ()
    if node.op == "Where":
        return node.inputs[1:]
    return node.inputs if node.op in _ALL_INPUTS else ()


def _is_not_negative(node: Node) -> bool:
    return _is_square(node) or node.op in _RESULT_NOT_NEGATIVE


def _is_square(node: Node) -> bool:
    return node.op == "Mul" and len(node.inputs) == 2 and node.inputs[0] is node.inputs[1]


def _stored_not_negative(constants: Constants | None, value: Value) -> bool:
    array = None if constants is None else constants.array(value)
    return array is not None and bool((array >= 0).all())


@function(
    "in_int32_data(vs)",
    "whether one of several values is a stored uint8 tensor whose elements (at least two) are in the field "
    "int32_data",
)
def _in_int32_data(constants: Constants | None, values: Tuple) -> Verdict:
    if constants is None:
        return None
    return any(isinstance(value, Value) and constants.in_int32_data(value) for value in values)


@function(
    "first_not_in(xs, ys)",
    "the first element of the tuple xs that is not in the tuple ys; unknown if all of xs are in ys",
)
def _first_not_in(_: object, many: Tuple, known: Tuple) -> Text:
    return next((item for item in many if item not in known), None)
