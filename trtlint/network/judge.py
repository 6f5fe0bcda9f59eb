"""Compare a tensor of a network with the same tensor of the ONNX model.

Each element type has its own tolerance.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from trtlint.network.layers import Array
from trtlint.network.types import is_float, wide

TOLERANCES: Mapping[str, float] = {
    "FLOAT": 1e-3,
    "HALF": 1e-2,
    "BF16": 4e-2,
    "FP8": 0.13,
    "FP4": 0.5,
}
"""For each element type, the largest relative difference that counts as rounding."""
_LEAST = 1e-3
"""Smallest scale of a tensor.  Differences are relative to the scale, which must not be near 0."""
_SAMPLE = 10_000
"""Number of elements from which the usual magnitude of a tensor is estimated."""
_QUANTILE = 95
_BLOCK = 1 << 15
"""Number of elements to compare in one step."""
_PAGE = 1 << 18
"""Number of bytes to compare in one step."""
_MASKED = 1e6
"""Magnitude above which a number counts as a mask value, if the tensor also has smaller numbers."""
_LARGEST = {"HALF": 6.0e4, "BF16": 3.3e38, "FP8": 440.0}
"""For each type, the smallest magnitude at which a sum may overflow with another order of additions."""


class Difference(Struct, frozen=True, eq=False):
    """The difference between a tensor of the network and ONNX's tensor.

    Attributes:
        beyond: BOOL array, True for each element whose difference exceeds the tolerance; None if the shapes
            differ.
        place: the position of the element with the largest difference; empty if the shapes differ.
        worst: the largest absolute difference; None if the shapes differ or no difference is finite.
        got: value of the network's tensor at ``place``; if the shapes differ, the shape of this tensor.
        expected: value of ONNX's tensor at ``place``; if the shapes differ, the shape of this tensor.
    """

    beyond: Array | None
    place: tuple[int, ...]
    worst: float | None
    got: str
    expected: str


def tolerance_of(kind: str, kinds: frozenset[str]) -> float:
    """Return the relative difference that is allowed for tensors of one type.

    An FP32 or FP16 tensor gets at least the tolerance of each 16-bit type (FP16, BF16) in the network.

    Args:
        kind: TensorRT's name of the type, such as ``HALF``.
        kinds: all types of the network.
    """
    beside = max((TOLERANCES[name] for name in ("HALF", "BF16") if name in kinds), default=0.0)
    return max(TOLERANCES.get(kind, 0.0), beside if kind in ("FLOAT", "HALF") else 0.0)


def compare(got: Array, expected: Array, kind: str, tolerance: float) -> Difference | None:
    """Compare two tensors; return their difference, or None if they agree within a tolerance.

    Args:
        got: the tensor of the network.
        expected: ONNX's tensor.
        kind: TensorRT's name of the element type.
        tolerance: the relative difference that is allowed.
    """
    if got.shape != expected.shape:
        return Difference(None, (), None, str(list(got.shape)), str(list(expected.shape)))
    if not got.size or (expected.dtype.kind not in "fiub" and not is_float(expected.dtype)):
        return None
    if is_float(got.dtype) or is_float(expected.dtype):
        if _near(got, expected, tolerance):
            return None
        beyond, off = _floats(wide(got), wide(expected), kind, tolerance)
    else:
        beyond, off = _whole(got, expected)
    if not beyond.any():
        return None
    ranked = np.where(beyond, np.where(np.isfinite(off), off, np.inf), -1.0)
    place = tuple(int(at) for at in np.unravel_index(int(np.argmax(ranked)), got.shape))
    numbers = off[beyond & np.isfinite(off)]
    worst = float(numbers.max()) if numbers.size else None
    return Difference(beyond, place, worst, shown(got[place]), shown(expected[place]))


def _whole(got: Array, expected: Array) -> tuple[Array, Array]:
    one, other = (array.astype(np.int64) for array in (got, expected))
    return one != other, np.abs(one.astype(np.float64) - other.astype(np.float64))


def _floats(got: Array, expected: Array, kind: str, tolerance: float) -> tuple[Array, Array]:
    """Return two arrays: whether each element is beyond the tolerance, and the absolute differences.

    Elements that are NaN in ONNX's tensor may have any value in the network.
    """
    one, other = (array.astype(np.float64) for array in (got, expected))
    with np.errstate(all="ignore"):
        off = np.abs(one - other)
        allowed = tolerance * (_scale(other) + np.abs(other))
        finite = np.isfinite(one) & np.isfinite(other)
        beyond = ~(finite & (off <= allowed)) & (one != other) & ~np.isnan(other)
        limit = _LARGEST.get(kind)
        if limit is not None:
            beyond &= ~((np.abs(one) >= limit) & (np.abs(other) >= limit) & (np.sign(one) == np.sign(other)))
    return beyond, off


def no_numbers(expected: Array, got: Array | None = None) -> str:
    """Return why ONNX's tensor has no numbers to compare: it is empty, or NaN everywhere.

    The result is an empty text if the tensor has numbers.  The result is also empty if the tensor ``got`` of
    the network has another shape or another kind of type.
    """
    if got is not None and (got.shape != expected.shape or is_float(got.dtype) != is_float(expected.dtype)):
        return ""
    if not expected.size:
        return "the tensor is empty for these inputs"
    if not is_float(expected.dtype) or not np.isnan(expected.ravel()[0]) or not np.isnan(expected).all():
        return ""
    return "ONNX's value is NaN everywhere"


def is_identical(one: Array, other: Array) -> bool:
    """Return whether two arrays of the same type and size have the same bytes."""
    mine, theirs = (np.ascontiguousarray(array).ravel().view(np.uint8) for array in (one, other))
    return all(
        np.array_equal(mine[at : at + _PAGE], theirs[at : at + _PAGE]) for at in range(0, mine.size, _PAGE)
    )


def _near(got: Array, expected: Array, tolerance: float) -> bool:
    """Return whether all differences are small compared with the usual magnitude of the tensor.

    This is a quick check before an exact comparison. The function compares blocks that fit into the
    processor's cache. Comparing the blocks takes a third of the time of comparing whole tensors.
    """
    if got.dtype == expected.dtype and is_identical(got, expected):
        return True
    one, other = got.ravel(), expected.ravel()
    buffer = np.empty(min(_BLOCK, one.size), np.float32)
    allowed, scaled = tolerance * _LEAST, False
    with np.errstate(all="ignore"):
        for at in range(0, one.size, _BLOCK):
            mine, theirs = (wide(flat[at : at + _BLOCK]) for flat in (one, other))
            off = np.subtract(mine, theirs, out=buffer[: mine.size], casting="unsafe")
            worst = max(float(off.max()), -float(off.min()))
            if not worst <= allowed and not scaled:
                allowed, scaled = tolerance * _scale(wide(expected)), True
            if not worst <= allowed:  # also true for NaN
                return False
    return True


def _scale(array: Array) -> float:
    """Return a typical magnitude of the elements. Very large numbers, as in attention masks, are ignored."""
    flat = array.ravel()
    sample = np.abs(flat[:: max(1, flat.size // _SAMPLE)])
    finite = sample[np.isfinite(sample)]
    if not finite.size:
        return _LEAST
    usual = finite[finite < _MASKED]
    return max(float(np.percentile(usual if usual.size else finite, _QUANTILE)), _LEAST)


def shown(value: Any) -> str:
    """Format a number with six significant digits. Return other values unchanged."""
    array = np.asarray(value)
    return f"{float(array):.6g}" if is_float(array.dtype) else str(array.item())
