"""By kind of layer, what computes it."""

from __future__ import annotations

from collections.abc import Mapping

from trtlint.network import (
    attention,
    boxes,
    movement,
    pointwise,
    products,
    quantizing,
    reductions,
    sampling,
)
from trtlint.network.pointwise import Compute

LAYERS: Mapping[str, Compute] = {
    **attention.LAYERS,
    **boxes.LAYERS,
    **movement.LAYERS,
    **pointwise.LAYERS,
    **products.LAYERS,
    **quantizing.LAYERS,
    **reductions.LAYERS,
    **sampling.LAYERS,
}
CONTROL = frozenset(
    {
        *("RECURRENCE", "ITERATOR", "TRIP_LIMIT", "LOOP_OUTPUT"),
        *("CONDITION", "CONDITIONAL_INPUT", "CONDITIONAL_OUTPUT"),
    }
)
"""Kinds of layers of loops and conditionals, which :mod:`trtlint.network.run` computes."""
