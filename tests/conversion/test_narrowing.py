"""Tests of rounding to 16 bits."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from trtlint.conversion.narrowing import narrowed
from trtlint.measurement.formats import BF16, FP16

POWERS = 10.0 ** np.random.default_rng(1).integers(-12, 5, 1000)
NUMBERS = np.concatenate(
    [
        np.random.default_rng(0).standard_normal(1000) * POWERS,
        [0.0, -0.0, 65504, 65519, 65520, 1e30, -1e30, np.inf, -np.inf, 2**-24, 2**-25, 2**-26, 3.3e38],
    ]
).astype(np.float32)


@pytest.mark.parametrize(("format_", "dtype"), [(FP16, np.float16), (BF16, ml_dtypes.bfloat16)])
def test_each_number_becomes_the_nearest(format_: object, dtype: type) -> None:
    chosen = FP16 if format_ is FP16 else BF16
    with np.errstate(over="ignore"):
        wanted = NUMBERS.astype(dtype).view(np.uint16)
    assert (narrowed(NUMBERS, chosen, clamp=False) == wanted).all()


def test_numbers_beyond_the_range_are_clamped_and_infinity_stays() -> None:
    given = np.array([1e6, -3.4e38, np.inf, -np.inf, 1.0], np.float32)
    found = narrowed(given, FP16, clamp=True).view(np.float16)
    assert found.tolist() == [65504, -65504, np.inf, -np.inf, 1.0]


def test_nan_stays_nan_in_bf16() -> None:
    given = np.array([0x7F800001, 0xFFFFFFFF], np.uint32).view(np.float32)
    assert np.isnan(narrowed(given, BF16, clamp=False).view(ml_dtypes.bfloat16).astype(np.float32)).all()
