"""Compute layers that sample images: Resize and GridSample."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trtlint.network.layers import Array, Layer, NotComputedError
from trtlint.network.onnxops import compute
from trtlint.network.pointwise import Compute, Inputs
from trtlint.network.types import along, is_float, narrowed, wide

_OUTSIDE = {"FILL": "zeros", "CLAMP": "border", "REFLECT": "reflection"}


def _grid_sample(layer: Layer, inputs: Inputs) -> list[Array]:
    outside = _OUTSIDE.get(layer.get("sample_mode"))
    if outside is None:
        raise NotComputedError(f"grid samples of mode {layer.get('sample_mode')}")
    attributes = {
        "mode": str(layer.get("interpolation_mode")).lower(),
        "padding_mode": outside,
        "align_corners": int(bool(layer.get("align_corners"))),
    }
    operands = [wide(array).astype(np.float32, copy=False) for array in inputs[:2]]
    return [narrowed(compute("GridSample", operands, attributes), layer.types[0])]


def _resize(layer: Layer, inputs: Inputs) -> list[Array]:
    """Compute a resize layer: interpolate along one axis after the other."""
    x, mode = wide(inputs[0]), layer.get("resize_mode", "NEAREST")
    scales = layer.get("scales") or ()
    if len(inputs) > 1 and inputs[1] is not None:
        sizes = [int(size) for size in inputs[1].ravel()]
    elif len(scales) == x.ndim:
        sizes = [
            int(np.floor(np.float32(size) * np.float32(scale)))
            for size, scale in zip(x.shape, scales, strict=True)
        ]
    elif layer.get("shape") is not None:
        sizes = [int(size) for size in layer.get("shape")]
    else:
        raise NotComputedError("a resize without sizes")
    if len(scales) != x.ndim or (len(inputs) > 1 and inputs[1] is not None):
        scales = tuple(size / max(1, length) for size, length in zip(sizes, x.shape, strict=True))
    dtype = x.dtype
    found = x if mode == "NEAREST" else x.astype(np.float32, copy=False)
    for axis, (size, scale) in enumerate(zip(sizes, scales, strict=True)):
        length = found.shape[axis]
        if size == length and scale == 1.0:
            continue
        if length == 0 or size == 0:
            shape = [size if at == axis else dim for at, dim in enumerate(found.shape)]
            if size:
                raise NotComputedError("a resize of an empty tensor")
            found = np.zeros(shape, found.dtype)
            continue
        places = _input_positions(layer, size, length, float(scale))
        if mode == "NEAREST":
            found = np.take(found, _rounded(layer, places, length), axis=axis)
        elif mode == "LINEAR":
            found = _weighed(found, axis, *_linear(places, length))
        elif mode == "CUBIC":
            found = _weighed(found, axis, *_cubic(layer, places, length))
        else:
            raise NotComputedError(f"a resize of mode {mode}")
    if not is_float(dtype) and mode != "NEAREST":
        found = np.rint(found)
    return [narrowed(found, layer.types[0])]


def _input_positions(layer: Layer, size: int, length: int, scale: float) -> Array:
    """Return the input position for each element of the output along one axis.

    Args:
        layer: the resize layer.
        size: size of the output axis.
        length: size of the input axis.
        scale: ratio of the output size to the input size.
    """
    places: Array = np.arange(size, dtype=np.float32)
    if size == 1 and layer.get("selector_for_single_pixel") == "UPPER":
        return np.zeros(1, np.float32)
    how = layer.get("coordinate_transformation", "ASYMMETRIC")
    if how == "ALIGN_CORNERS":
        return np.asarray(places * np.float32((length - 1) / max(1, size - 1)))
    if how == "HALF_PIXEL":
        return np.asarray((places + np.float32(0.5)) / np.float32(scale) - np.float32(0.5))
    return np.asarray(places / np.float32(scale))


def _rounded(layer: Layer, places: Array, length: int) -> Array:
    how = layer.get("nearest_rounding", "FLOOR")
    if how == "HALF_UP":
        found = np.floor(places + np.float32(0.5))
    elif how == "HALF_DOWN":
        found = np.ceil(places - np.float32(0.5))
    else:
        found = np.ceil(places) if how == "CEIL" else np.floor(places)
    return np.asarray(np.clip(found, 0, length - 1).astype(np.int64))


def _linear(places: Array, length: int) -> tuple[Array, Array]:
    """Return the two nearest input positions for each element of the output, and their weights.

    Args:
        places: the input position of each element, with fractions.
        length: size of the input axis.
    """
    clipped = np.clip(places, 0, length - 1)
    first = np.floor(clipped).astype(np.int64)
    share = clipped - first
    index = np.stack([first, np.minimum(first + 1, length - 1)])
    return index, np.stack([1 - share, share]).astype(np.float32)


def _cubic(layer: Layer, places: Array, length: int) -> tuple[Array, Array]:
    a = np.float32(layer.get("cubic_coeff", -0.75))
    first = np.floor(places).astype(np.int64)
    share = (places - first).astype(np.float32)
    distances = np.stack([share + 1, share, 1 - share, 2 - share])
    near = (a + 2) * distances**3 - (a + 3) * distances**2 + 1
    far = a * distances**3 - 5 * a * distances**2 + 8 * a * distances - 4 * a
    weights = np.stack([far[0], near[1], near[2], far[3]])
    index = first + np.arange(-1, 3)[:, None]
    if layer.get("exclude_outside"):
        weights = np.where((index >= 0) & (index < length), weights, 0)
        weights = weights / weights.sum(axis=0)
    return np.clip(index, 0, length - 1), weights.astype(np.float32)


def _weighed(x: Array, axis: int, index: Array, weights: Array) -> Array:
    parts = (
        np.take(x, places, axis=axis) * along(shares, axis, x.ndim)
        for places, shares in zip(index, weights, strict=True)
    )
    return np.asarray(sum(parts))


LAYERS: Mapping[str, Compute] = {"RESIZE": _resize, "GRID_SAMPLE": _grid_sample}
