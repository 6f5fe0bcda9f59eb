"""Collect the functions that compute layers, by layer kind."""

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
