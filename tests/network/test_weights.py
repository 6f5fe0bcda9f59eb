"""Tests of layer weights, in types with and without NumPy support."""

from __future__ import annotations

import ctypes
import importlib
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.dry_build.rtx import NEEDS_WHEELS
from trtlint.network.layers import NotComputedError
from trtlint.network.read import LayerWeights, _signed, _unpacked

BYTES = np.arange(256, dtype=np.uint8)


def read(weights: Any) -> Any:
    """Return the array of a layer's attribute."""
    return LayerWeights(SimpleNamespace(kernel=weights), "kernel").array()


def stored(kind: str, data: Any, count: int) -> Any:
    """Return weights of the TensorRT library at the address of an array."""
    trt: Any = importlib.import_module("tensorrt_rtx_bindings")
    return trt.Weights(getattr(trt.DataType, kind), data.ctypes.data, count)


def test_arrays_are_flat_and_none_without_values() -> None:
    assert read(np.ones((2, 3), np.float32)).tolist() == [1] * 6
    assert read(np.ones((0, 3), np.float32)) is None


def test_each_byte_holds_two_numbers_of_4_bits() -> None:
    halves = [half for byte in range(256) for half in (byte % 16, byte // 16)]
    assert _unpacked(BYTES).tolist() == halves
    found = _signed(BYTES, 511)
    assert found.dtype == ml_dtypes.int4
    assert found.astype(int).tolist() == [half - 16 if half >= 8 else half for half in halves][:511]


@NEEDS_WHEELS
@pytest.mark.parametrize(
    ("kind", "dtype"),
    [("BF16", ml_dtypes.bfloat16), ("FP8", ml_dtypes.float8_e4m3fn)],
)
def test_types_that_numpy_lacks(kind: str, dtype: Any) -> None:
    numbers = np.array([-2, -0.5, 0, 1, 3], dtype)
    found = read(stored(kind, numbers, 5))
    assert (found.dtype, found.astype(np.float32).tolist()) == (dtype, [-2, -0.5, 0, 1, 3])
    assert read(stored(kind, numbers, 0)) is None


@NEEDS_WHEELS
@pytest.mark.parametrize(
    ("kind", "numbers"),
    [("INT4", [1, -8, 7, -1, 0]), ("FP4", [0.5, -0.0, 6, -6, 0])],
)
def test_types_of_4_bits(kind: str, numbers: list[float]) -> None:
    data = np.array([0x81, 0xF7, 0x50], np.uint8)  # the last half byte is not used
    found = read(stored(kind, data, 5))
    assert found.astype(np.float32).tolist() == numbers


class InMemory(ctypes.Structure):
    """Weights with the library's memory layout: a header, then a pointer to the data."""

    _fields_ = (("type", ctypes.c_int32), ("values", ctypes.c_void_p), ("count", ctypes.c_int64))

    def named(self, kind: str, number: int, size: int) -> InMemory:
        """Set the type and size of the Python API."""
        self.dtype = SimpleNamespace(name=kind, value=number)
        self.size = size
        return self


TENS = np.array([0x21, 0x43, 0x65, 0x87], np.uint8)


@pytest.mark.parametrize(
    ("kind", "data", "count", "numbers"),
    [
        ("BF16", np.array([1, -2], ml_dtypes.bfloat16), 2, [1, -2]),
        ("FP8", np.array([1, -2, 3], ml_dtypes.float8_e4m3fn), 3, [1, -2, 3]),
        ("FP8", np.array([1, -2, 3], ml_dtypes.float8_e4m3fn), 1, [1]),
        ("INT4", TENS, 8, [1, 2, 3, 4, 5, 6, 7, -8]),
        ("INT4", TENS, 7, [1, 2, 3, 4, 5, 6, 7]),
        ("INT4", TENS, 1, [1]),
        ("FP4", TENS, 3, [0.5, 1, 1.5]),
        ("FP4", TENS, 0, None),
    ],
)
def test_weights_in_memory(kind: str, data: Any, count: int, numbers: list[float] | None) -> None:
    found = read(InMemory(7, data.ctypes.data, count).named(kind, 7, count))
    assert (None if found is None else found.astype(np.float32).tolist()) == numbers


@pytest.mark.parametrize(
    ("number", "values", "count"),
    [(8, 1, 4), (6, 1, 4), (7, 0, 4), (7, 1, 5), (7, 1, 3), (7, 0, 5)],
)
def test_weights_that_lie_otherwise_in_memory_are_not_read(number: int, values: int, count: int) -> None:
    weights = InMemory(number, TENS.ctypes.data if values else None, count).named("FP8", 7, 4)
    with pytest.raises(NotComputedError, match=r"^weights of type FP8$"):
        read(weights)
    with pytest.raises(NotComputedError, match=r"^the element type OTHER$"):
        read(weights.named("OTHER", 7, 4))
