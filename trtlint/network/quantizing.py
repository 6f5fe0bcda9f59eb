"""Evaluate the outputs of layers that quantize or dequantize."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trtlint.network.layers import Array, Layer
from trtlint.network.pointwise import Compute, Inputs
from trtlint.network.types import along, narrowed, saturated, wide


def _broadcastable(given: Array, x: Array, axis: int) -> Array:
    """Reshape scales or zero points so that they broadcast to x.

    Args:
        given: the scales or zero points: one number, one for each channel, or one for each block.
        x: the tensor to quantize or dequantize.
        axis: the axis of the channels.
    """
    if given.size == 1:
        return given.reshape(())
    if given.ndim == x.ndim:  # one scale for each block
        for at, (size, count) in enumerate(zip(x.shape, given.shape, strict=True)):
            if 1 < count < size:
                given = np.repeat(given, -(-size // count), axis=at).take(range(size), axis=at)
        return given
    return along(given, axis % x.ndim, x.ndim)


def _quantize(layer: Layer, inputs: Inputs) -> list[Array]:
    x = wide(inputs[0]).astype(np.float32, copy=False)
    axis = int(layer.get("axis", -1))
    scaled = x / _broadcastable(wide(inputs[1]).astype(np.float32), x, axis)
    if layer.types[0].startswith(("INT", "UINT")):
        scaled = np.rint(scaled)
    if len(inputs) > 2:
        scaled = scaled + _broadcastable(inputs[2].astype(np.float32), x, axis)
    return [saturated(scaled, layer.types[0])]


def _dequantize(layer: Layer, inputs: Inputs) -> list[Array]:
    x = inputs[0].astype(np.float32)
    axis = int(layer.get("axis", -1))
    if len(inputs) > 2:
        x = x - _broadcastable(inputs[2].astype(np.float32), x, axis)
    return [narrowed(x * _broadcastable(wide(inputs[1]).astype(np.float32), x, axis), layer.types[0])]


LAYERS: Mapping[str, Compute] = {"QUANTIZE": _quantize, "DEQUANTIZE": _dequantize}
