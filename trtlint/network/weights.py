"""Weights of layers, read when a layer is computed and not kept."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from trtlint.lean import dataclass
from trtlint.network.layers import Array, NotComputedError
from trtlint.network.types import dtype_of

_OBJECT = 16
"""Bytes of the head of a Python object, behind which pybind11 keeps the pointer to what it wraps.
https://github.com/pybind/pybind11/blob/master/include/pybind11/detail/common.h"""
_VALUES, _COUNT = 8, 16
"""Where ``nvinfer1::Weights`` has its values and their count, behind its type.
https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_weights.html"""
_HALVES = frozenset({"INT4", "FP4"})
"""Types of which a byte holds two, the first one in the low half."""


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """The weights of one attribute of a layer.

    Attributes:
        layer: the layer, an object of the library.
        name: its attribute.
    """

    layer: Any
    name: str

    @classmethod
    def of(cls, layer: Any, name: str) -> Weights:
        """Return the weights of an attribute of a layer."""
        return cls(layer, name)

    def array(self) -> Array | None:
        """Return the values as a flat array, None where there are none.

        Raises:
            NotComputedError: they cannot be read.
        """
        found = getattr(self.layer, self.name)
        if isinstance(found, np.ndarray):
            return found.reshape(-1) if found.size else None
        return _raw(found)


def _raw(weights: Any) -> Array | None:
    """Return weights of a type that NumPy lacks: the bindings give no access to these bytes.

    The memory is read only where it says of itself what the bindings say of it.
    """
    kind, count, size = str(weights.dtype.name), int(weights.size), int(weights.nbytes)
    if not count:
        return None
    dtype = dtype_of(kind)
    held = ctypes.c_void_p.from_address(id(weights) + _OBJECT).value
    if not held or ctypes.c_int32.from_address(held).value != int(weights.dtype.value):
        raise NotComputedError(f"weights of type {kind}")
    values = ctypes.c_void_p.from_address(held + _VALUES).value
    if not values or ctypes.c_int64.from_address(held + _COUNT).value != count:
        raise NotComputedError(f"weights of type {kind}")
    data: Array = np.frombuffer(memoryview((ctypes.c_uint8 * size).from_address(values)), np.uint8)
    if kind in _HALVES:
        return _unpacked(data)[:count].astype(np.uint8).view(dtype) if kind == "FP4" else _signed(data, count)
    return np.asarray(data.view(dtype).reshape(-1))


def _unpacked(data: Array) -> Array:
    """Return two numbers of four bits for each byte."""
    return np.stack([data & 15, data >> 4], axis=1).reshape(-1)


def _signed(data: Array, count: int) -> Array:
    """Return numbers of four bits as INT4."""
    numbers = _unpacked(data)[:count].astype(np.int8)
    return np.where(numbers > 7, numbers - 16, numbers).astype(dtype_of("INT4"))
