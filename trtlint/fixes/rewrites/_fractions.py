"""Detect tensors in which each element is zero or has a magnitude of at least 2^-24."""

from __future__ import annotations

import numpy as np

from trtlint.fixes.patch import MOST_ELEMENTS
from trtlint.model.graph import Value
from trtlint.model.operators import MOVING
from trtlint.model.protos import FLOAT_DTYPES
from trtlint.model.values import Constants

MOVES = MOVING | {"Slice", "Gather", "GatherElements", "Tile"}
"""Operators in which each output element is an element of the first input."""
DEEPEST = 16
"""Maximum length of a chain of operators that trtlint follows."""
_WHOLE = frozenset({"Add", "Sub", "Mul", "Neg", "Min", "Max", "Abs"})
"""Operators whose results are integers if their inputs are integers."""


def is_coarse(value: Value, constants: Constants) -> bool:
    """Return whether each element of a tensor is zero or has a magnitude of at least 2^-24.

    This is true for a tensor of integers, and for the result of 1 - x in FP32.
    """
    if _is_whole(value, constants):
        return True
    node = value.producer
    if node is None or node.domain or node.op != "Sub" or value.dtype == "f64":
        return False
    return constants.scalar(node.input(0)) == 1


def _is_whole(value: Value | None, constants: Constants, depth: int = 0) -> bool:
    """Return whether a tensor contains only integers."""
    if value is None or depth > DEEPEST:
        return False
    if value.dtype is not None and value.dtype not in FLOAT_DTYPES:
        return True
    node = value.producer
    if node is not None and not node.domain and constants.stored(value) is None:
        ports = {"Where": node.inputs[1:], **dict.fromkeys(_WHOLE, node.inputs)}.get(node.op, ())
        if node.op in MOVES | {"Cast"}:
            ports = node.inputs[:1]
        return bool(ports) and all(_is_whole(each, constants, depth + 1) for each in ports)
    array = constants.payload(value)
    if array is None or array.dtype.kind != "f" or array.size > MOST_ELEMENTS:
        return False
    return bool(np.all(np.isfinite(array)) and np.all(array == np.rint(array)))
