"""Trace an operand of an attention product upstream to its source tensor."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from trtlint.facts.blocks.walk import Scaling, scaling
from trtlint.model.graph import Value
from trtlint.model.operators import CAST, MOVING, QUANTIZE
from trtlint.model.values import Constants
from trtlint.model.walks import MAX_STEPS, cut_short


class Operand(Struct, frozen=True):
    """An operand of an attention product, and its source tensor.

    Attributes:
        root: the source tensor, from which views, casts and scalings compute the operand.
        scales: the scalings between ``root`` and the product. The scaling nearest to the product is first.
            Scalings by exactly 1 are left out.
        sequence_last: True if the sequence is the last axis of ``root`` (channels-first); None if unknown.
        scaled_sequence_last: True if the last scaling before the product scales a tensor whose last axis is
            the sequence.  None if there is no scaling, or if the axes are unknown.
    """

    root: Value
    scales: tuple[Scaling, ...]
    sequence_last: bool | None
    scaled_sequence_last: bool | None


Axis = Literal["sequence", "feature"]


def trace(value: Value, last: Axis | None, constants: Constants) -> Operand:
    """Trace an operand upstream to its source tensor.

    Args:
        value: the operand of an attention product.
        last: the meaning of the operand's last axis, sequence or feature; None if unknown.
        constants: the model's constants.
    """
    axes = _Axes(last)
    scales: list[Scaling] = []
    at_scaling: bool | None = None
    for _ in range(MAX_STEPS):
        node = value.producer
        if node is None or node.domain or node.input(0) is None:
            break
        scaled = scaling(node, constants)
        if scaled is not None:
            if scaled.factor != 1.0:
                at_scaling = at_scaling if scales else axes.sequence_last
                scales.append(scaled)
            value = scaled.data
        elif node.op in MOVING or node.op in CAST or node.op in QUANTIZE:
            axes.back_through(node.op, node.attribute("perm"))
            data = node.inputs[0]
            assert data is not None
            value = data
        else:
            break
    else:
        if value.producer is not None and not value.producer.domain:
            cut_short()
    return Operand(value, tuple(scales), axes.sequence_last, at_scaling)


class _Axes:
    """The positions of the sequence axis and the feature axis, while a search goes upstream from a product.

    Only a ``Transpose`` moves an axis.  A ``Reshape`` only splits or merges axes.  For example, a
    ``Reshape`` turns ``[B,L,H*D]`` into ``[B,L,H,D]``, or ``[B,C,H,W]`` into ``[B,C,H*W]``.  The last axis
    stays last, because exporters never move it with a ``Reshape``.
    """

    def __init__(self, last: Axis | None) -> None:
        # Positions are counted from the end.  One of the two axes is last, and the other axis is second to
        # last.
        self._position = (
            {"sequence": -1, "feature": -2} if last == "sequence" else {"feature": -1, "sequence": -2}
        )
        self._known = last is not None

    def back_through(self, op: str, perm: tuple[int, ...] | None) -> None:
        if op == "Transpose":
            if perm is None:
                self._known = False
                return
            rank = len(perm)
            for axis, position in self._position.items():
                if position < -rank or not 0 <= perm[position] < rank:
                    self._known = False
                else:
                    self._position[axis] = perm[position] - rank
        elif op in ("Reshape", "Squeeze", "Unsqueeze", "Flatten"):
            for axis, position in self._position.items():
                if position != -1:  # only the last axis is followed through a change of rank
                    self._position[axis] = -2

    @property
    def sequence_last(self) -> bool | None:
        if not self._known:
            return None
        if self._position["sequence"] == -1:
            return True
        return False if self._position["feature"] == -1 else None
