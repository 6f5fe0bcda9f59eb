"""Tests of the verdict on two tensors."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from trtlint.network.judge import _near, compare, is_identical, no_numbers, tolerance_of

RANDOM = np.random.default_rng(0)
NARROW = frozenset({"FLOAT", "HALF"})
WIDE = frozenset({"FLOAT"})


def test_rounding_is_no_difference() -> None:
    expected = np.array([1.0, -2.0, 1000.0], np.float32)
    assert compare(expected * np.float32(1.0005), expected, "FLOAT", 1e-3) is None
    assert compare(expected * np.float32(1.01), expected, "FLOAT", 1e-3) is not None


def test_a_mask_of_large_numbers_hides_nothing() -> None:
    expected = np.array([[0.5, -3.4e38], [0.25, -3.4e38]], np.float32)
    found = compare(expected + np.array([[0.1, 0.0], [0.0, 0.0]], np.float32), expected, "FLOAT", 1e-3)
    assert found is not None
    assert (found.place, found.got, found.expected) == ((0, 0), "0.6", "0.5")


def test_a_tensor_that_is_nan_everywhere_allows_anything() -> None:
    nan, one = np.full((2, 2), np.nan, np.float32), np.ones((2, 2), np.float32)
    assert no_numbers(nan) == "ONNX's value is NaN everywhere"
    assert no_numbers(np.zeros((0, 2), np.float32)) == "the tensor is empty for these inputs"
    assert no_numbers(np.zeros((2, 0), np.int64)) == "the tensor is empty for these inputs"
    for numbers in (one, np.array([[np.nan, 1], [1, 1]], np.float32), np.ones((2, 2), np.int64)):
        assert no_numbers(numbers) == ""
    assert no_numbers(nan, one)
    assert no_numbers(nan, nan)
    assert no_numbers(nan, np.ones((2, 2), np.int64)) == no_numbers(nan, one[0]) == ""


def test_identical_arrays_have_the_same_bytes() -> None:
    numbers = np.arange(1 << 17, dtype=np.float32)
    other = numbers.copy()
    assert is_identical(numbers, other)
    assert is_identical(numbers.reshape(2, -1).T, other.reshape(2, -1).T)
    other[-1] += 1
    assert not is_identical(numbers, other)
    assert not is_identical(np.array([0.0], np.float32), np.array([-0.0], np.float32))


def test_the_worst_element_is_named() -> None:
    expected = np.zeros((2, 3), np.float32)
    got = expected.copy()
    got[1, 2], got[0, 1] = 5.0, 1.0
    found = compare(got, expected, "FLOAT", 1e-3)
    assert found is not None
    assert found.beyond is not None
    assert (found.place, found.worst, int(found.beyond.sum())) == ((1, 2), 5.0, 2)


def test_shapes_that_differ_are_a_difference() -> None:
    found = compare(np.zeros((2, 3)), np.zeros((3, 2)), "FLOAT", 1e-3)
    assert found is not None
    assert (found.got, found.expected, found.worst) == ("[2, 3]", "[3, 2]", None)


def test_whole_numbers_must_be_equal() -> None:
    found = compare(np.array([127], np.int8), np.array([200], np.uint8), "INT8", 0.0)
    assert found is not None
    assert (found.got, found.expected) == ("127", "200")


def test_nan_of_onnx_may_be_anything_and_infinity_may_not() -> None:
    nan, infinite = np.array([np.nan], np.float32), np.array([np.inf], np.float32)
    assert compare(np.ones(1, np.float32), nan, "FLOAT", 1e-3) is None
    assert compare(np.ones(1, np.float32), infinite, "FLOAT", 1e-3) is not None
    assert compare(infinite, np.array([65504.0], np.float32), "HALF", 1e-2) is None


def naive(got: Any, expected: Any, tolerance: float, limit: float | None) -> list[tuple[int, float]]:
    """Return the elements that differ, with their differences."""
    magnitudes = [abs(number) for number in expected if abs(number) < 1e6]
    usual = max(float(np.percentile(magnitudes, 95)), 1e-3)
    found = []
    for at, (one, other) in enumerate(zip(got, expected, strict=True)):
        overflows = limit is not None and min(abs(one), abs(other)) >= limit and (one > 0) == (other > 0)
        equal = one == other or np.isnan(other) or abs(one - other) <= tolerance * (usual + abs(other))
        if not overflows and not equal:
            found.append((at, abs(one - other)))
    return found


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(
    ("kind", "dtype", "tolerance", "limit"),
    [
        ("FLOAT", np.float32, 1e-3, None),
        ("HALF", np.float16, 1e-2, 6e4),
        ("BF16", ml_dtypes.bfloat16, 4e-2, 3.3e38),
        ("FP8", ml_dtypes.float8_e4m3fn, 0.13, 440.0),
    ],
)
def test_elements_that_differ(
    kind: str, dtype: Any, tolerance: float, limit: float | None, seed: int
) -> None:
    random = np.random.default_rng(seed)
    largest = 440 if kind == "FP8" else 6.5e4
    expected = random.choice([0, 1, -2, 3.5, 0.01, largest, -largest, np.nan], 30).astype(dtype)
    factors = random.choice([1, 1, 1, 1 + tolerance / 2, 1 + 4 * tolerance, -1, 0.5], 30)
    with np.errstate(all="ignore"):
        got = (expected.astype(np.float64) * factors + random.choice([0, 0, 0.2 * tolerance], 30)).astype(
            dtype
        )
        if kind != "FP8":
            got[random.integers(0, 30, 3)] = [np.inf, -np.inf, np.nan]
        one, other = got.astype(np.float64), expected.astype(np.float64)
        wanted = naive(one.tolist(), other.tolist(), tolerance, limit)
    found = compare(got.reshape(5, 6), expected.reshape(5, 6), kind, tolerance)
    assert (found is None) == (not wanted)
    if found is None:
        return
    assert found.beyond is not None
    assert np.flatnonzero(found.beyond).tolist() == [at for at, _ in wanted]
    sizes = [size for _, size in wanted if np.isfinite(size)]
    assert found.worst == (max(sizes) if sizes else None)
    ranked = [size if np.isfinite(size) else np.inf for _, size in wanted]
    at = wanted[ranked.index(max(ranked))][0]
    assert found.place == divmod(at, 6)
    assert (found.got, found.expected) == (f"{one[at]:.6g}", f"{other[at]:.6g}")


@pytest.mark.parametrize("at", [0, (1 << 15) - 1, 1 << 15, 70_000])
def test_one_element_of_many(at: int) -> None:
    expected = RANDOM.normal(size=70_001).astype(np.float32)
    got = expected.copy()
    got[at] += 0.01
    found = compare(got, expected, "FLOAT", 1e-3)
    assert found is not None
    assert found.place == (at,)
    assert compare(got, expected, "FLOAT", 1e-2) is None


@pytest.mark.parametrize(
    ("kind", "tolerance", "expected", "got", "same"),
    [
        ("FLOAT", 0.5, 1, 2, True),
        ("FLOAT", 0.5, 1, 2.001, False),
        ("FLOAT", 0.5, 0, 0.000499, True),
        ("FLOAT", 0.5, 0, 0.00051, False),
        ("HALF", 0.01, 65504, 60000, True),
        ("HALF", 0.01, 65504, 59968, False),
        ("HALF", 0.01, 60000, -np.inf, False),
        ("FLOAT", 0.01, 3e38, np.inf, False),
        ("BF16", 0.01, 3.35e38, np.inf, True),
        ("FP8", 0.13, 440, 1e9, True),
    ],
)
def test_the_largest_differences_without_a_report(
    kind: str, tolerance: float, expected: float, got: float, same: bool
) -> None:
    found = compare(np.array([got], np.float32), np.array([expected], np.float32), kind, tolerance)
    assert (found is None) is same


@pytest.mark.parametrize(
    ("got", "expected", "difference"),
    [
        (np.array([1, 5, -3]), np.array([1, 2, 3]), ([False, True, True], (2,), 6, "-3", "3")),
        (np.array([True, False]), np.array([True, True]), ([False, True], (1,), 1, "False", "True")),
        (np.array([2, 3], np.int8), np.array([2, 3], np.int64), None),
        (np.array([2, 3], np.float32), np.array([2, 3], np.int64), None),
        (np.array([2, 3]), np.array([2, 4], np.float32), ([False, True], (1,), 1, "3", "4")),
        (np.array(["a"], object), np.array(["b"], object), None),
        (np.ones((0, 2)), np.zeros((0, 2)), None),
    ],
)
def test_tensors_of_other_types(got: Any, expected: Any, difference: Any) -> None:
    found = compare(got, expected, "INT64", 0.0)
    assert (found is None) == (difference is None)
    if found is not None and found.beyond is not None:
        whole = (found.beyond.tolist(), found.place, found.worst, found.got, found.expected)
        assert whole == difference


@pytest.mark.parametrize(
    ("kind", "kinds", "tolerance"),
    [("FLOAT", WIDE, 1e-3), ("FLOAT", NARROW, 1e-2), ("HALF", NARROW, 1e-2), ("INT32", NARROW, 0.0)],
)
def test_fp32_beside_a_narrow_type_has_its_tolerance(
    kind: str, kinds: frozenset[str], tolerance: float
) -> None:
    assert tolerance_of(kind, kinds) == tolerance


@pytest.mark.parametrize(
    ("count", "usual", "differing", "near"),
    [
        (4, 1.0, 0.9e-3, True),
        (4, 100.0, 0.09, True),
        (4, 100.0, 0.11, False),
        (4, 0.0, 0.9e-6, True),
        (4, 0.0, 1.1e-6, False),
        (4, 100.0, np.nan, False),
        (40_000, 100.0, -0.09, True),
        (40_000, 100.0, -0.11, False),
    ],
)
def test_differences_that_are_small_beside_the_usual_number(
    count: int, usual: float, differing: float, near: bool
) -> None:
    expected = np.full(count, usual, np.float32)
    for places in ([0], [count - 1], [0, count - 1]):
        got = expected.astype(np.float64)
        got[places] += differing
        assert _near(got, expected, 1e-3) is near
