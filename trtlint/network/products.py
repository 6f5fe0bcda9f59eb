"""Compute matrix products, convolutions and pooling layers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from trtlint.network.layers import Array, Layer, NotComputedError
from trtlint.network.onnxops import compute
from trtlint.network.pointwise import Compute, Inputs
from trtlint.network.types import is_float, narrowed, wide

_MOST_PLACES = 1 << 16
"""Largest number of elements in a pooling window.  trtlint does not compute larger windows."""


def _matrix_multiply(layer: Layer, inputs: Inputs) -> list[Array]:
    left, right = map(wide, inputs)
    vectors = "VECTOR" in (layer.get("op0"), layer.get("op1"))
    large = all(array.ndim > 1 and array.size and is_float(array.dtype) for array in inputs)
    multiply = _product if large and not vectors else _multiplied
    return [narrowed(multiply(layer, left, right), layer.types[0])]


def _multiplied(layer: Layer, left: Array, right: Array) -> Array:
    """Multiply matrices and vectors in NumPy."""
    left, right = _operand(left, layer.get("op0")), _operand(right, layer.get("op1"))
    vectors = [layer.get(name) == "VECTOR" for name in ("op0", "op1")]
    if vectors[0]:
        left = left[..., None, :]
    if vectors[1]:
        right = right[..., None]
    found = np.matmul(left, right)
    if vectors[1]:
        found = found[..., 0]
    if vectors[0]:
        found = found[..., 0] if vectors[1] else found[..., 0, :]
    return np.asarray(found)


def _product(layer: Layer, left: Array, right: Array) -> Array:
    """Multiply matrices with ONNX Runtime, which is much faster than NumPy for batches."""
    turned = [layer.get(name) == "TRANSPOSE" for name in ("op0", "op1")]
    if left.ndim == right.ndim == 2:
        return compute("Gemm", [left, right], {"transA": int(turned[0]), "transB": int(turned[1])})
    return compute("MatMul", [_operand(left, layer.get("op0")), _operand(right, layer.get("op1"))], {})


def _operand(array: Array, operation: str) -> Array:
    return np.swapaxes(array, -1, -2) if operation == "TRANSPOSE" else array


def _einsum(layer: Layer, inputs: Inputs) -> list[Array]:
    found = np.einsum(layer.get("equation"), *map(wide, inputs), optimize=True)
    return [narrowed(np.asarray(found), layer.types[0])]


def _weights(layer: Layer, name: str, inputs: Inputs, port: int) -> Array | None:
    """Return the weights of a layer, from its input ``port`` or its attribute ``name``.

    The attribute is used only if the layer does not have the input.
    """
    if len(inputs) > port and inputs[port] is not None:
        return np.asarray(inputs[port])
    found: Array | None = layer.settings[name].array()
    return found


def _convolution(layer: Layer, inputs: Inputs) -> list[Array]:
    x, kernel = wide(inputs[0]), _weights(layer, "kernel", inputs, 1)
    bias = _weights(layer, "bias", inputs, 2)
    if kernel is None:
        raise NotComputedError("a convolution without weights")
    groups, maps = int(layer.get("num_groups", 1)), int(layer.get("num_output_maps", 0))
    window = tuple(layer.get("kernel_size_nd"))
    transposed = layer.kind == "DECONVOLUTION"
    if kernel.ndim == 1:
        shape = (x.shape[1], maps // groups) if transposed else (maps, x.shape[1] // groups)
        kernel = kernel.reshape((*shape, *window))
    attributes: dict[str, Any] = {
        "strides": list(layer.get("stride_nd")),
        "dilations": list(layer.get("dilation_nd")),
        "group": groups,
        **_padded(layer),
    }
    operands = [x.astype(np.float32, copy=False), wide(kernel).astype(np.float32, copy=False)]
    if bias is not None:
        operands.append(wide(bias).astype(np.float32, copy=False).ravel())
    found = compute("ConvTranspose" if transposed else "Conv", operands, attributes)
    return [narrowed(found, layer.types[0])]


def _padded(layer: Layer) -> dict[str, Any]:
    mode = layer.get("padding_mode", "EXPLICIT_ROUND_DOWN")
    if mode.startswith("SAME"):
        return {"auto_pad": mode}
    if mode != "EXPLICIT_ROUND_DOWN":
        raise NotComputedError(f"a convolution with padding mode {mode}")
    return {"pads": [*layer.get("pre_padding"), *layer.get("post_padding")]}


def _pooling(layer: Layer, inputs: Inputs) -> list[Array]:
    (x,), kind = map(wide, inputs), layer.get("type")
    window, stride = tuple(layer.get("window_size_nd")), tuple(layer.get("stride_nd"))
    spatial = x.shape[-len(window) :]
    pads, sizes = _windows(layer, spatial, window, stride)
    if int(np.prod(window)) > _MOST_PLACES:
        raise NotComputedError(f"a pooling window of more than {_MOST_PLACES:,} elements")
    if min(sizes) < 1:
        raise NotComputedError("a pooling window larger than its input")
    found: dict[str, Array] = {}
    if kind in ("MAX", "MAX_AVERAGE_BLEND"):
        lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
        found["MAX"] = _greatest(_by_window_position(x, pads, window, stride, sizes, lowest))
    if kind in ("AVERAGE", "MAX_AVERAGE_BLEND"):
        total = sum(_by_window_position(x, pads, window, stride, sizes, 0))
        counted = np.ones(spatial, np.float32)
        if not layer.get("average_count_excludes_padding", True):
            counted = np.pad(counted, pads, constant_values=1)
            pads = [(0, 0)] * len(pads)
        counts = sum(_by_window_position(counted, pads, window, stride, sizes, 0))
        with np.errstate(all="ignore"):
            found["AVERAGE"] = np.asarray(total / np.asarray(counts))
    if kind == "MAX_AVERAGE_BLEND":
        share = np.float32(layer.get("blend_factor", 0.0))
        found[kind] = (1 - share) * found["MAX"] + share * found["AVERAGE"]
    return [narrowed(found[kind].astype(x.dtype, copy=False), layer.types[0])]


def _windows(
    layer: Layer, spatial: Sequence[int], window: Sequence[int], stride: Sequence[int]
) -> tuple[list[tuple[int, int]], list[int]]:
    """Return two lists: the padding before and after each axis, and the number of windows on each axis.

    Args:
        layer: the convolution or pooling layer.
        spatial: sizes of the spatial axes.
        window: sizes of the window.
        stride: distance between windows on each axis.
    """
    mode = layer.get("padding_mode", "EXPLICIT_ROUND_DOWN")
    pads, sizes = [], []
    before, after = layer.get("pre_padding"), layer.get("post_padding")
    for axis, (length, width, step) in enumerate(zip(spatial, window, stride, strict=True)):
        if mode.startswith("SAME"):
            count = -(-length // step)
            total = max(0, (count - 1) * step + width - length)
            first = total // 2 if mode == "SAME_UPPER" else total - total // 2
            pads.append((first, total - first))
        else:
            pads.append((before[axis], after[axis]))
            room = length + before[axis] + after[axis] - width
            count = (-(-room // step) if mode == "EXPLICIT_ROUND_UP" else room // step) + 1
        sizes.append(count)
    return pads, sizes


def _by_window_position(
    x: Array,
    pads: Sequence[tuple[int, int]],
    window: Sequence[int],
    stride: Sequence[int],
    sizes: Sequence[int],
    value: float,
) -> Iterator[Array]:
    """Yield one array for each position in a window.

    The array has the elements that all windows have at this position.  If the last window is incomplete, it
    gets more padding.

    Args:
        x: the array.
        pads: padding before and after each axis.
        window: sizes of the window.
        stride: distance between windows on each axis.
        sizes: number of windows along each axis.
        value: the number to pad with.
    """
    widths = [(0, 0)] * (x.ndim - len(pads))
    for axis, (first, last) in enumerate(pads):
        length = x.shape[x.ndim - len(pads) + axis] + first
        needed = (sizes[axis] - 1) * stride[axis] + window[axis]
        widths.append((first, max(last, needed - length)))
    x = np.pad(x, widths, constant_values=value) if any(map(any, widths)) else x
    for place in product(*map(range, window)):
        cut: list[Any] = [...]
        cut += [
            slice(at, at + (size - 1) * step + 1, step)
            for at, size, step in zip(place, sizes, stride, strict=True)
        ]
        yield x[tuple(cut)]


def _greatest(parts: Iterator[Array]) -> Array:
    found: Array = next(parts).copy()
    for part in parts:
        np.maximum(found, part, out=found)
    return found


LAYERS: Mapping[str, Compute] = {
    "MATRIX_MULTIPLY": _matrix_multiply,
    "EINSUM": _einsum,
    "CONVOLUTION": _convolution,
    "DECONVOLUTION": _convolution,
    "POOLING": _pooling,
}
