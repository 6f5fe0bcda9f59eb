"""Read the weights of a layer each time that the layer is computed, without a cache."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from msgspec import Struct

from trtlint.network.layers import Array, NotComputedError
from trtlint.network.types import dtype_of

_OBJECT = 16
"""Size of the header of a Python object, in bytes.

After the header, Pybind11 stores the pointer to the wrapped object:
https://github.com/pybind/pybind11/blob/master/include/pybind11/detail/common.h
"""
_VALUES, _COUNT = 8, 16
"""Byte offsets of two fields of ``nvinfer1::Weights``: the pointer to the values, and their number.

https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_weights.html
"""
_HALVES = frozenset({"INT4", "FP4"})
"""4-bit types.  A byte has two numbers, with the first number in its lower half."""


class LayerWeights(Struct, frozen=True, eq=False):
    """Weights in an attribute of a layer.

    Attributes:
        layer: the layer, an object of the TensorRT library.
        name: the attribute of the layer, such as ``kernel``.
    """

    layer: Any
    name: str

    def array(self) -> Array | None:
        """Return the weights as a flat array, or None if the attribute is empty.

        Raises:
            NotComputedError: the values cannot be read.
        """
        found = getattr(self.layer, self.name)
        if isinstance(found, np.ndarray):
            return found.ravel() if found.size else None
        return _raw(found)


def _raw(weights: Any) -> Array | None:
    """Read weights of a type that NumPy lacks, or return None if there are no weights.

    TensorRT's Python API gives no access to the bytes of such weights.  So trtlint reads the values from the
    C structure in memory.  Before that, trtlint checks that the type and the count in this structure agree
    with the Python API.
    """
    kind, count = str(weights.dtype.name), int(weights.size)
    if not count:
        return None
    dtype = dtype_of(kind)
    held = ctypes.c_void_p.from_address(id(weights) + _OBJECT).value
    if not held or ctypes.c_int32.from_address(held).value != int(weights.dtype.value):
        raise NotComputedError(f"weights of type {kind}")
    values = ctypes.c_void_p.from_address(held + _VALUES).value
    if not values or ctypes.c_int64.from_address(held + _COUNT).value != count:
        raise NotComputedError(f"weights of type {kind}")
    size = (count + 1) // 2 if kind in _HALVES else count * dtype.itemsize
    data: Array = np.frombuffer(memoryview((ctypes.c_uint8 * size).from_address(values)), np.uint8)
    if kind in _HALVES:
        return _unpacked(data)[:count].astype(np.uint8).view(dtype) if kind == "FP4" else _signed(data, count)
    return np.asarray(data.view(dtype).ravel())


def _unpacked(data: Array) -> Array:
    """Split each byte into two 4-bit numbers."""
    return np.stack([data & 15, data >> 4], axis=1).ravel()


def _signed(data: Array, count: int) -> Array:
    """Convert 4-bit numbers to INT4. Each byte of ``data`` stores two; the result has ``count`` numbers."""
    shifted: Array = (_unpacked(data)[:count] << 4).view(np.int8)
    return (shifted >> 4).astype(dtype_of("INT4"))
