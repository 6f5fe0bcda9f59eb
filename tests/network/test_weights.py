"""Weights of layers, in types that NumPy has and in those that it lacks."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.dry_build.rtx import NEEDS_WHEELS
from trtlint.network.weights import LayerWeights, _signed, _unpacked

BYTES = np.arange(256, dtype=np.uint8)


def read(weights: Any) -> Any:
    """Return the array of a layer's attribute."""
    return LayerWeights.of(SimpleNamespace(kernel=weights), "kernel").array()


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
