"""Map TensorRT's element types to NumPy types, and convert arrays between these types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np

from trtlint.network.layers import Array, NotComputedError

DTYPES: Mapping[str, np.dtype[Any]] = {
    "FLOAT": np.dtype(np.float32),
    "HALF": np.dtype(np.float16),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "INT8": np.dtype(np.int8),
    "UINT8": np.dtype(np.uint8),
    "INT32": np.dtype(np.int32),
    "INT64": np.dtype(np.int64),
    "BOOL": np.dtype(np.bool_),
    "FP8": np.dtype(ml_dtypes.float8_e4m3fn),
    "INT4": np.dtype(ml_dtypes.int4),
    "FP4": np.dtype(ml_dtypes.float4_e2m1fn),
    "E8M0": np.dtype(ml_dtypes.float8_e8m0fnu),
}
"""NumPy types by the names of TensorRT's element types.

https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/python-api/infer/FoundationalTypes/DataType.html
"""
_RANGES = {
    "INT8": (-128, 127),
    "UINT8": (0, 255),
    "INT4": (-8, 7),
    "FP8": (-448.0, 448.0),
    "FP4": (-6.0, 6.0),
}
_NARROW = frozenset(DTYPES[name] for name in ("HALF", "BF16", "FP8", "FP4", "E8M0"))
NATIVE = frozenset(DTYPES[name] for name in ("FLOAT", "HALF", "INT8", "UINT8", "INT32", "INT64", "BOOL"))
"""Types that ONNX Runtime's Python API accepts as NumPy arrays."""
BY_BITS = frozenset(DTYPES[name] for name in ("BF16", "FP8"))
"""Types that ONNX Runtime's Python API accepts and returns as raw bits."""


def dtype_of(name: str) -> np.dtype[Any]:
    """Return NumPy's type for the name of a TensorRT type, such as ``HALF``.

    Raises:
        NotComputedError: NumPy has no such type.
    """
    found = DTYPES.get(name)
    if found is None:
        raise NotComputedError(f"the element type {name}")
    return found


def is_float(dtype: np.dtype[Any]) -> bool:
    """Return whether a type of NumPy or ``ml_dtypes`` is a floating-point type."""
    return dtype.kind == "f" or dtype in _NARROW


def wide(array: Array) -> Array:
    """Convert 8-bit and 16-bit floats to FP32. Return the remaining arrays unchanged."""
    return array.astype(np.float32) if array.dtype in _NARROW else array


def along(numbers: Array, axis: int, rank: int) -> Array:
    """Reshape a vector to ``rank`` dimensions, so that its elements lie along one axis."""
    return np.expand_dims(numbers, tuple(at for at in range(rank) if at != axis))


def narrowed(array: Array, name: str) -> Array:
    """Round an array to the TensorRT type ``name``. Numbers beyond the range are not clamped."""
    dtype = dtype_of(name)
    return array if array.dtype == dtype else array.astype(dtype)


def saturated(array: Array, name: str) -> Array:
    """Convert FP32 numbers to a quantized type: clamp to the range of the type, then round half to even."""
    low, high = _RANGES.get(name, (-np.inf, np.inf))
    clipped = np.clip(array, low, high)
    if name.startswith(("INT", "UINT")):
        clipped = np.nan_to_num(np.rint(clipped), nan=0.0)
    return clipped.astype(dtype_of(name))


def is_lossy(value: Array, expected: Array) -> bool:
    """Return whether the integer type of the network's tensor cannot represent ONNX's values.

    Args:
        value: the tensor of the network.
        expected: ONNX's tensor.
    """
    if is_float(value.dtype) or is_float(expected.dtype) or value.dtype == expected.dtype:
        return False
    return not np.array_equal(expected.astype(value.dtype).astype(np.int64), expected.astype(np.int64))
