"""Compute, in NumPy, the layers that move elements: shuffle, slice, gather, scatter and padding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trtlint.network.layers import Array, Layer, NotComputedError
from trtlint.network.pointwise import Compute, Inputs
from trtlint.network.types import along, dtype_of, narrowed


def _constant(layer: Layer, _: Inputs) -> list[Array]:
    shape = layer.get("shape", ())
    values = layer.settings["weights"].array()
    dtype = dtype_of(layer.types[0])
    if values is None:
        return [np.zeros(shape, dtype)]
    if values.dtype != dtype:
        values = values.view(dtype) if values.dtype.itemsize == dtype.itemsize else values.astype(dtype)
    return [values.reshape(shape)]


def _shape(layer: Layer, inputs: Inputs) -> list[Array]:
    (x,) = inputs
    return [np.asarray(x.shape, dtype_of(layer.types[0]))]


def _shuffle(layer: Layer, inputs: Inputs) -> list[Array]:
    """Compute a shuffle layer: transpose, reshape, transpose."""
    x = _transposed(inputs[0], layer.get("first_transpose"))
    dims = _integers_of(layer, inputs, 1, "reshape_dims")
    if dims is not None:
        zero_copies = bool(layer.get("zero_is_placeholder", True))
        sizes = [x.shape[at] if dim == 0 and zero_copies else dim for at, dim in enumerate(dims)]
        x = x.reshape(sizes)
    return [_transposed(x, layer.get("second_transpose"))]


def _transposed(x: Array, order: Sequence[int] | None) -> Array:
    if order is None or x.ndim < 2:
        return x
    return np.asarray(x.transpose(order[: x.ndim]))


def _values(tensor: Any) -> tuple[int, ...]:
    return tuple(int(value) for value in np.asarray(tensor).ravel())


def _integers_of(layer: Layer, inputs: Inputs, port: int, name: str) -> tuple[int, ...] | None:
    """Return a setting of a layer from an input or an attribute, or None if the layer has neither.

    Args:
        layer: the layer.
        inputs: the values of the inputs of the layer.
        port: index of the input.
        name: name of the attribute, which is used if the input is missing.
    """
    if len(inputs) > port and inputs[port] is not None:
        return _values(inputs[port])
    found = layer.get(name)
    return None if found is None else tuple(found)


def _slice(layer: Layer, inputs: Inputs) -> list[Array]:
    """Compute a slice layer: take the elements ``start + i * stride`` on each axis.

    The setting ``mode`` decides what the layer returns for positions outside the tensor.
    """
    x, mode = inputs[0], layer.get("mode", "STRICT_BOUNDS")
    start, size, stride = (
        _integers_of(layer, inputs, port, name) for port, name in ((1, "start"), (2, "shape"), (3, "stride"))
    )
    if start is None or size is None:
        raise NotComputedError("a slice without start or size")
    axes = _integers_of(layer, inputs, 5, "axes") or tuple(range(len(size)))
    stride = stride or (1,) * len(size)
    fill = inputs[4] if len(inputs) > 4 and inputs[4] is not None else np.zeros((), x.dtype)
    for axis, first, count, step in zip(axes, start, size, stride, strict=True):
        axis %= x.ndim
        length = x.shape[axis]
        if count < 0:
            raise NotComputedError("a slice of negative size")
        if first == 0 and step == 1 and count == length:
            continue
        index = first + step * np.arange(count)
        within = (index >= 0) & (index < length)
        x = _taken(x, axis, index, within, mode, fill)
    return [x]


def _taken(x: Array, axis: int, index: Array, within: Array, mode: str, fill: Array) -> Array:
    length = x.shape[axis]
    if mode in ("STRICT_BOUNDS", "FILL") and within.all():
        return _stepped(x, axis, index)
    if mode == "STRICT_BOUNDS":
        raise NotComputedError("a slice outside the bounds of its input")
    if mode == "FILL":
        shape = [len(index) if at == axis else dim for at, dim in enumerate(x.shape)]
        found = np.full(shape, fill.item(), x.dtype)
        places: list[Any] = [slice(None)] * x.ndim
        places[axis] = np.flatnonzero(within)
        found[tuple(places)] = np.take(x, index[within], axis=axis)
        return found
    if length == 0:
        raise NotComputedError(f"a slice of an empty tensor with mode {mode}")
    if mode == "CLAMP":
        index = np.clip(index, 0, length - 1)
    elif mode == "WRAP":
        index = index % length
    elif mode == "REFLECT":
        period = max(1, 2 * (length - 1))
        index = np.abs((index + length - 1) % period - (length - 1)) if length > 1 else np.zeros_like(index)
    else:
        raise NotComputedError(f"slices of mode {mode}")
    return np.take(x, index, axis=axis)


def _stepped(x: Array, axis: int, index: Array) -> Array:
    """Take elements at evenly spaced positions along an axis, without a copy if possible."""
    if len(index) and (len(index) == 1 or index[1] > index[0]):
        step = int(index[1] - index[0]) if len(index) > 1 else 1
        places = [slice(None)] * x.ndim
        places[axis] = slice(int(index[0]), int(index[-1]) + 1, step)
        return x[tuple(places)]
    return np.take(x, index, axis=axis)


def _concatenation(layer: Layer, inputs: Inputs) -> list[Array]:
    return [np.concatenate(list(inputs), axis=int(layer.get("axis", 0)))]


def _gather(layer: Layer, inputs: Inputs) -> list[Array]:
    data, index = inputs[0], inputs[1]
    mode, axis = layer.get("mode", "DEFAULT"), int(layer.get("axis", 0))
    batch = int(layer.get("num_elementwise_dims", 0))
    if mode == "ELEMENT":
        return [data[_along(index.astype(np.int64), axis)]]
    if mode == "ND":
        return [_gather_nd(data, index.astype(np.int64), batch)]
    if batch == 0:
        return [np.take(data, index.astype(np.int64), axis=axis)]
    outer = data.shape[:batch]
    rows = [np.take(data[at], index[at].astype(np.int64), axis=axis - batch) for at in np.ndindex(*outer)]
    if not rows:
        return [np.zeros((*data.shape[:axis], *index.shape[1:], *data.shape[axis + 1 :]), data.dtype)]
    return [np.stack(rows).reshape((*outer, *rows[0].shape))]


def _gather_nd(data: Array, index: Array, batch: int) -> Array:
    depth = index.shape[-1]
    outer = np.broadcast_shapes(data.shape[:batch], index.shape[:batch])
    shape = (*outer, *index.shape[batch:-1], *data.shape[batch + depth :])
    grids = [along(np.arange(size), axis, index.ndim - 1) for axis, size in enumerate(outer)]
    places = (*grids, *(index[..., part] for part in range(depth)))
    return np.asarray(data[places]).reshape(shape)


def _along(index: Array, axis: int) -> tuple[Array, ...]:
    """Return an index for NumPy that selects the same elements as NumPy's ``take_along_axis``.

    ``index`` has the positions on ``axis``. On the remaining axes, an element keeps its position.
    """
    places: list[Array] = list(np.indices(index.shape, sparse=True))
    places[axis] = index
    return tuple(places)


def _scatter(layer: Layer, inputs: Inputs) -> list[Array]:
    data, index, updates = inputs[0].copy(), inputs[1].astype(np.int64), inputs[2]
    if layer.get("mode", "ELEMENT") == "ND":
        if index.size or index.shape[-1] == 0:
            data[tuple(index[..., part] for part in range(index.shape[-1]))] = updates
    else:
        data[_along(index, int(layer.get("axis", 0)))] = updates[tuple(map(slice, index.shape))]
    return [data]


def _padding(layer: Layer, inputs: Inputs) -> list[Array]:
    """Compute a padding layer: add zeros at both ends of the last axes. Negative padding removes elements."""
    (x,) = inputs
    before, after = layer.get("pre_padding_nd", (0, 0)), layer.get("post_padding_nd", (0, 0))
    for axis, first, last in zip(range(x.ndim - len(before), x.ndim), before, after, strict=True):
        width = [(0, 0)] * x.ndim
        width[axis] = (max(first, 0), max(last, 0))
        x = np.pad(x, width)
        cut = [slice(None)] * x.ndim
        cut[axis] = slice(max(-first, 0), x.shape[axis] - max(-last, 0))
        x = x[tuple(cut)]
    return [x]


def _one_hot(layer: Layer, inputs: Inputs) -> list[Array]:
    """Compute OneHot: the "on" value at the given positions, the "off" value elsewhere.

    Indices outside the range are ignored.
    """
    index, values, depth = inputs[0], inputs[1].ravel(), int(inputs[2].item())
    axis = int(layer.get("axis", -1)) % (index.ndim + 1)
    hot = np.expand_dims(index.astype(np.int64), axis) == along(np.arange(depth), axis, index.ndim + 1)
    return [narrowed(np.where(hot, values[1], values[0]), layer.types[0])]


def _non_zero(layer: Layer, inputs: Inputs) -> list[Array]:
    (x,) = inputs
    found = np.stack(np.nonzero(x)) if x.ndim else np.zeros((0, int(bool(x))))
    results = (found, np.asarray(found.shape[1]))
    return [narrowed(array, name) for array, name in zip(results, layer.types, strict=False)]


def _reverse_sequence(layer: Layer, inputs: Inputs) -> list[Array]:
    x, lengths = inputs[0].copy(), _values(inputs[1])
    batch, time = int(layer.get("batch_axis", 1)), int(layer.get("sequence_axis", 0))
    moved, source = np.moveaxis(x, (batch, time), (0, 1)), np.moveaxis(inputs[0], (batch, time), (0, 1))
    for row, length in enumerate(lengths):
        moved[row, :length] = source[row, :length][::-1]
    return [x]


def _squeeze(_: Layer, inputs: Inputs) -> list[Array]:
    if len(inputs) < 2:
        return [np.squeeze(inputs[0])]
    return [np.squeeze(inputs[0], axis=_values(inputs[1]))]


def _unsqueeze(_: Layer, inputs: Inputs) -> list[Array]:
    return [np.expand_dims(inputs[0], _values(inputs[1]))]


def _cache_update(_: Layer, inputs: Inputs) -> list[Array]:
    """Copy updates into the cache. The third input has the start position for each batch element."""
    cache, update, places = inputs[0].copy(), inputs[1], _values(inputs[2])
    length = update.shape[2]
    for row, place in enumerate(places):
        cache[row, :, place : place + length] = update[row]
    return [cache]


LAYERS: Mapping[str, Compute] = {
    "CONSTANT": _constant,
    "SHAPE": _shape,
    "SHUFFLE": _shuffle,
    "SLICE": _slice,
    "CONCATENATION": _concatenation,
    "GATHER": _gather,
    "SCATTER": _scatter,
    "PADDING": _padding,
    "ONE_HOT": _one_hot,
    "NON_ZERO": _non_zero,
    "REVERSE_SEQUENCE": _reverse_sequence,
    "SQUEEZE": _squeeze,
    "UNSQUEEZE": _unsqueeze,
    "KV_CACHE_UPDATE": _cache_update,
}
