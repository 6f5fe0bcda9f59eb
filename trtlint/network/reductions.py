"""Compute layers that reduce axes, or normalize over axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from trtlint.network.layers import Array, Layer, NotComputedError
from trtlint.network.onnxops import LARGE, compute
from trtlint.network.pointwise import Compute, Inputs
from trtlint.network.types import along, dtype_of, is_float, narrowed, wide

_MOST_AXES = 32


def axes_of(mask: int) -> tuple[int, ...]:
    """Return the axes that a bit mask selects.

    >>> axes_of(0b1101)
    (0, 2, 3)
    """
    return tuple(axis for axis in range(_MOST_AXES) if mask >> axis & 1)


_REDUCTIONS: Mapping[str, Callable[..., Any]] = {
    "SUM": np.sum,
    "PROD": np.prod,
    "MAX": np.max,
    "MIN": np.min,
    "AVG": np.mean,
}


def _reduce(layer: Layer, inputs: Inputs) -> list[Array]:
    (x,), operation = map(wide, inputs), layer.get("op")
    if operation == "NONE":
        return [*inputs]
    if operation not in _REDUCTIONS:
        raise NotComputedError(f"the reduction {operation}")
    given: dict[str, Any] = {"axis": axes_of(layer.get("axes", 0)), "keepdims": bool(layer.get("keep_dims"))}
    if operation in ("SUM", "PROD"):
        given["dtype"] = x.dtype  # NumPy would widen whole numbers
    if operation in ("MAX", "MIN"):
        given["initial"] = _extreme(x.dtype, operation)
    return [narrowed(np.asarray(_REDUCTIONS[operation](x, **given)), layer.types[0])]


def _extreme(dtype: np.dtype[Any], operation: str) -> Any:
    """Return the result of a MIN or MAX of no elements."""
    if is_float(dtype):
        return np.inf if operation == "MIN" else -np.inf
    if dtype.kind == "b":
        return operation == "MIN"
    info = np.iinfo(dtype)
    return info.max if operation == "MIN" else info.min


def _softmax(layer: Layer, inputs: Inputs) -> list[Array]:
    (x,) = map(wide, inputs)
    return [narrowed(softmax(x, axes_of(layer.get("axes", 0))), layer.types[0])]


def softmax(x: Array, axes: tuple[int, ...]) -> Array:
    """Compute the softmax over axes."""
    if x.size == 0:
        return x
    if len(axes) == 1 and x.dtype == np.float32 and x.size > LARGE and not np.isinf(x).any():
        return compute("Softmax", [x], {"axis": axes[0]})
    shifted = x - np.max(x, axis=axes, keepdims=True)
    grown = np.exp(shifted)
    return np.asarray(grown / np.sum(grown, axis=axes, keepdims=True))


def _topk(layer: Layer, inputs: Inputs) -> list[Array]:
    """Compute a TopK layer: the largest or smallest elements along an axis, and their positions.

    If elements are equal, the element with the lower position comes first.
    """
    x = wide(inputs[0])
    k = int(inputs[1].item()) if len(inputs) > 1 else int(layer.get("k"))
    axes = axes_of(layer.get("axes", 0))
    if len(axes) != 1:
        raise NotComputedError("a TopK over several axes")
    (axis,) = axes
    key = x if layer.get("op") == "MIN" else (-x if is_float(x.dtype) else -x.astype(np.int64))
    places = np.argsort(key, axis=axis, kind="stable").take(np.arange(k), axis=axis)
    values = np.take_along_axis(inputs[0], places, axis=axis)
    return [narrowed(values, layer.types[0]), narrowed(places, layer.types[1])]


def _cumulative(layer: Layer, inputs: Inputs) -> list[Array]:
    x, axis = wide(inputs[0]), int(inputs[1].item()) if len(inputs) > 1 else 0
    if layer.get("op") != "SUM":
        raise NotComputedError(f"the cumulative operation {layer.get('op')}")
    turned = np.flip(x, axis) if layer.get("reverse") else x
    found = np.cumsum(turned, axis=axis, dtype=x.dtype)
    if layer.get("exclusive"):
        found = found - turned
    return [narrowed(np.flip(found, axis) if layer.get("reverse") else found, layer.types[0])]


def _normalization(layer: Layer, inputs: Inputs) -> list[Array]:
    """Compute a normalization over axes.  With more than one group, normalize groups of channels."""
    x, scale, bias = (wide(array) for array in inputs)
    groups, epsilon = int(layer.get("num_groups", 1)), np.float32(layer.get("epsilon", 1e-5))
    if groups > 1:
        apart = x.reshape(x.shape[0], groups, -1)
        found = _normed(apart, (2,), epsilon).reshape(x.shape)
        each = x.shape[1] // max(1, scale.shape[1]) if scale.ndim > 1 else 1
        if each > 1 and scale.shape[1] > 1:  # one number for each group
            scale, bias = (np.repeat(array, each, axis=1) for array in (scale, bias))
    else:
        found = _normed(x, axes_of(layer.get("axes", 0)), epsilon)
    return [narrowed(found * scale + bias, layer.types[0])]


def _normed(x: Array, axes: tuple[int, ...], epsilon: Any) -> Array:
    centre = x - np.mean(x, axis=axes, keepdims=True, dtype=np.float32)
    variance = np.mean(centre * centre, axis=axes, keepdims=True, dtype=np.float32)
    return np.asarray(centre / np.sqrt(variance + epsilon))


def _lrn(layer: Layer, inputs: Inputs) -> list[Array]:
    """Compute an LRN layer: normalize by the squares of neighbouring channels.

    This function divides ``alpha`` by the window size, as ONNX defines it. The formula in TensorRT's
    documentation does not divide ``alpha``. But the layers that the parser makes for ONNX's LRN follow the
    definition of ONNX.
    https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/operators/LRN.html
    """
    (x,), window = map(wide, inputs), int(layer.get("window_size"))
    before, after = (window - 1) // 2, window // 2 + 1
    squares = x * x
    sums = [squares[:, max(0, at - before) : at + after].sum(axis=1) for at in range(x.shape[1])]
    divisor = (layer.get("k") + layer.get("alpha") / window * np.stack(sums, axis=1)) ** layer.get("beta")
    return [narrowed((x / divisor).astype(x.dtype), layer.types[0])]


def _fill(layer: Layer, inputs: Inputs) -> list[Array]:
    """Compute a fill layer with evenly spaced numbers.  Random numbers are not supported."""
    operation = layer.get("operation")
    if operation != "LINSPACE":
        raise NotComputedError("random numbers")
    ports: list[Array | None] = [*inputs, None, None, None]
    shape = tuple(layer.get("shape", ())) if ports[0] is None else tuple(map(int, ports[0].ravel()))
    dtype = dtype_of(layer.types[0])
    exact = np.dtype(np.float32) if is_float(dtype) else np.dtype(np.int64)
    first = np.asarray(layer.get("alpha", 0.0) if ports[1] is None else wide(ports[1])).astype(exact)
    step = np.asarray(layer.get("beta", 1.0) if ports[2] is None else wide(ports[2])).astype(exact)
    found = np.zeros(shape, exact) + first.item()
    steps = np.broadcast_to(step.ravel(), (len(shape),)) if step.size == 1 else step.ravel()
    for axis, each in enumerate(steps[: len(shape)]):
        if each:
            found += along(np.arange(shape[axis], dtype=exact) * each, axis, len(shape))
    return [found.astype(dtype)]


LAYERS: Mapping[str, Compute] = {
    "REDUCE": _reduce,
    "SOFTMAX": _softmax,
    "TOPK": _topk,
    "CUMULATIVE": _cumulative,
    "NORMALIZATION": _normalization,
    "LRN": _lrn,
    "FILL": _fill,
}
