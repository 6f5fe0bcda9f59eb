"""Layers that quantize and dequantize."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trtlint.network.layers import Array, Layer
from trtlint.network.pointwise import Compute, Inputs
from trtlint.network.types import narrowed, saturated, wide


def _spread(given: Array, x: Array, axis: int) -> Array:
    """Reshape scales or zero points (per tensor, channel or block) so that they broadcast with x."""
    if given.size == 1:
        return given.reshape(())
    if given.ndim == x.ndim and x.ndim > 1:  # blocks
        for at, (size, count) in enumerate(zip(x.shape, given.shape, strict=True)):
            if count not in (1, size) and count:
                given = np.repeat(given, -(-size // count), axis=at).take(range(size), axis=at)
        return given
    return given.reshape([-1 if at == axis % x.ndim else 1 for at in range(x.ndim)])


def _quantize(layer: Layer, inputs: Inputs) -> list[Array]:
    x = wide(inputs[0]).astype(np.float32, copy=False)
    axis = int(layer.get("axis", -1))
    scaled = x / _spread(wide(inputs[1]).astype(np.float32), x, axis)
    if layer.types[0].startswith(("INT", "UINT")):
        scaled = np.rint(scaled)
    if len(inputs) > 2:
        scaled = scaled + _spread(inputs[2].astype(np.float32), x, axis)
    return [saturated(scaled, layer.types[0])]


def _dequantize(layer: Layer, inputs: Inputs) -> list[Array]:
    x = inputs[0].astype(np.float32)
    axis = int(layer.get("axis", -1))
    if len(inputs) > 2:
        x = x - _spread(inputs[2].astype(np.float32), x, axis)
    return [narrowed(x * _spread(wide(inputs[1]).astype(np.float32), x, axis), layer.types[0])]


LAYERS: Mapping[str, Compute] = {"QUANTIZE": _quantize, "DEQUANTIZE": _dequantize}
