"""Describe the mask of an attention block."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from msgspec import Struct

from trtlint.model.folding import ma
from trtlint.model.graph import Node, Value
from trtlint.model.protos import FLOAT_DTYPES
from trtlint.model.values import Constants
from trtlint.model.walks import search

MaskKind = Literal["none", "additive", "where", "attribute"]


class Mask(Struct, frozen=True):
    """The mask that an attention block applies to its scores before the softmax.

    Attributes:
        kind: the way in which the block applies the mask. ``none``: there is no mask. ``additive``: an
            ``Add`` adds a mask or a position bias to the scores. ``where``: a ``Where`` replaces masked
            scores. ``attribute``: the mask is an input or flag of a fused operator.
        fill: the value that the mask gives to masked scores; None if there is no mask or the value is
            unknown.
    """

    kind: MaskKind = "none"
    fill: float | None = None


def fill_of(value: Value | None, constants: Constants) -> float | None:
    """Return the value that a mask gives to masked scores, or None if it is unknown.

    The result is the lowest constant in the computation of the mask, if this constant is negative.  The
    search goes upstream through the operators that build masks, such as:

    - a ``Where`` between two fill values,
    - a ``Mul`` of a 0/1 mask and a large number,
    - an ``Expand``, ``ConstantOfShape`` or ``Trilu`` of a constant.

    The file may also store the mask itself, for example a triangular mask.
    """
    lowest: float | None = None
    known: set[Node | None] = set()

    def before(node: Node) -> list[Value | None]:
        return [] if node in known else _parents(node)

    for current, _ in () if value is None else search(value, before):
        number = _lowest(current, constants)
        if number is not None:
            known.add(current.producer)
            lowest = number if lowest is None else min(lowest, number)
    return lowest if lowest is not None and lowest < 0 else None


_COMBINING = frozenset({"Add", "Sub", "Mul", "Max", "Min", "Concat"})
_MOVING = frozenset(
    {"Cast", "Expand", "Identity", "Trilu", "Reshape", "Unsqueeze", "Squeeze", "Slice", "Transpose"}
    | {"Gather", "Tile", "ScatterND"}
)


def _parents(node: Node) -> list[Value | None]:
    if node.op == "Where":
        return [node.input(1), node.input(2)]
    if node.op in _COMBINING:
        return list(node.inputs)
    return [node.input(0)] if node.op in _MOVING else []


def _lowest(value: Value, constants: Constants) -> float | None:
    array: np.ndarray[Any, Any] | None = constants.array(value)
    if array is None and value.dtype in FLOAT_DTYPES:
        array = constants.payload(value)
    if array is None or array.size == 0 or ma.is_masked(array) or array.dtype.kind in "OSU":
        return None
    return float(np.min(np.asarray(array, dtype=np.float64)))
