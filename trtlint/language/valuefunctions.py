"""Functions of the rule language for the elements of values, their storage and their origin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trtlint.language.function import MOST_VISITED, Text, Tuple, Verdict, function
from trtlint.model.folding import ma
from trtlint.model.graph import WITH_BODIES, Node, Value
from trtlint.model.operators import CAST, MOVING, PRODUCTS, RANDOM
from trtlint.model.values import Constants
from trtlint.model.walks import behind, search

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

_IDENTITY = frozenset({"Identity"})
_NEVER_MERGED = PRODUCTS - {"Einsum"} | RANDOM | WITH_BODIES
"""Operators whose results are never the same, even if they read the same values.

TensorRT-RTX 1.7 does not merge most pairs of MatMul, Gemm or Conv with the same inputs (measured).
"""


@function(
    "same(v, w)",
    "whether v and w are the same value, or results of equal operators that read the same values; Identity "
    "is ignored, and two MatMul, Gemm or Conv are never equal",
)
def _same(constants: Constants | None, one: Value, other: Value) -> Verdict:
    pairs = [(one, other)]
    for _ in range(MOST_VISITED):
        if not pairs:
            return True
        left, right = (behind(value, _IDENTITY) for value in pairs.pop())
        if left is right or _equally_stored(constants, left, right):
            continue
        first, second = left.producer, right.producer
        if first is None or second is None or left.port != right.port or not _is_like(first, second):
            return False
        for before, after in zip(first.inputs, second.inputs, strict=True):
            if before is not None and after is not None:
                pairs.append((before, after))
            elif before is not after:
                return False
    return False


def _is_like(one: Node, other: Node) -> bool:
    """Return whether two nodes compute the same results from the same inputs."""
    return (
        one.op == other.op
        and one.domain == other.domain
        and one.op not in _NEVER_MERGED
        and len(one.inputs) == len(other.inputs)
        and one.attributes == other.attributes
    )


def _equally_stored(constants: Constants | None, one: Value, other: Value) -> bool:
    if constants is None or one.dtype != other.dtype:
        return False
    left, right = constants.array(one), constants.array(other)
    if left is None or right is None or ma.is_masked(left) or ma.is_masked(right):
        return False
    return bool(np.array_equal(left, right))


@function(
    "origin(v)",
    "the type of the operator that computes v, ignoring Cast and operators that only move elements; empty if "
    "there is none",
)
def _origin(_: object, value: Value) -> Text:
    node = behind(value, MOVING | CAST).producer
    return "" if node is None else node.op


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
