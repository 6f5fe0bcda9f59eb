"""Limits for the difference of two results, and the verdict of an FP64 reference on a difference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx

from benchmarks.random_fixes.opinion import in_fp64, overflows_in_fp64, reference
from benchmarks.random_fixes.overflow import overflows

Array = np.ndarray[Any, Any]
ALARM = {np.dtype(np.float32): 2**-16, np.dtype(np.float16): 2**-8, np.dtype(np.float64): 1e-9}
"""Largest difference that counts as rounding, relative to the largest finite element."""
TOLERANCE = {np.dtype(np.float32): 1e-4, np.dtype(np.float16): 2e-2, np.dtype(np.float64): 1e-9}
"""Largest difference if the error of the original is unknown: no FP64 reference, or an overflow."""
LEAST = 1e-2
"""Smallest scale of an output. Outputs with a smaller scale use this scale."""
_WORSE = 4
"""Factor: an FP16 result is worse if its error against FP64 exceeds the original's error by this factor."""


def scale(array: Array) -> float:
    """Return the magnitude of the largest finite element."""
    finite = np.abs(array[np.isfinite(array)].astype(np.float64)) if array.size else np.zeros(0)
    return float(np.max(finite)) if finite.size else 0.0


def share(table: Mapping[Any, float], array: Array, half: bool) -> float:
    """Return the relative limit for the type of an output, or for FP16 if the model computes in FP16."""
    return max(table.get(array.dtype, 0.0), table[np.dtype(np.float16)] if half else 0.0)


def opinion(
    model: onnx.ModelProto,
    name: str,
    fed: Mapping[str, Array],
    index: int,
    pair: tuple[Array, Array],
    half: bool,
) -> bool | None:
    """Return whether ONNX's reference confirms the fixed model; None if the reference cannot tell.

    ONNX Runtime loses NaN in a scatter with min or max; the reference keeps it. For other operators, the
    error of the fixed model against FP64 must not be much larger than the original's. Elements of the
    original that are not finite are ignored. If an operator of the original overflows, or an element of its
    output is not finite, only the error of the fixed model counts.
    """
    original, fixed = (each.astype(np.float64) for each in pair)
    if name.startswith(("nan", "inf")):
        own = reference(model, fed)
        if own is None or own[index].shape != fixed.shape:
            return None
        return bool(np.allclose(own[index].astype(np.float64), fixed, rtol=1e-4, atol=1e-6, equal_nan=True))
    truths = in_fp64(model, fed)
    if truths is None or truths[index].shape != fixed.shape:
        return None
    truth = truths[index].astype(np.float64)
    # FP64 itself can overflow, as in exp(1000). Such infinities, and NaN after them, prove nothing.
    if (np.isnan(truth) & ~np.isfinite(original) & np.isfinite(fixed)).any():
        return None if overflows_in_fp64(model, fed) else False
    if not np.isfinite(truth).all():
        return None
    if not np.isfinite(fixed).all():
        return False
    known = np.isfinite(original)
    errors = [float(np.abs(each - truth)[known].max(initial=0.0)) for each in (original, fixed)]
    floor = share(ALARM, pair[0], half) * scale(truth)
    if known.all() and errors[1] <= _WORSE * errors[0] + floor:
        return True
    if known.all() and not overflows(model, fed):
        return False
    error = float(np.abs(fixed - truth).max(initial=0.0))
    return error <= share(TOLERANCE, pair[0], half) * max(scale(truth), LEAST)
