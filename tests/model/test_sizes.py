"""Tests of shape arithmetic: numbers as in NumPy, names and unknown sizes."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from trtlint.model.sizes import (
    broadcast_shape,
    concat_shape,
    matmul_shape,
    merge_shapes,
    pad_shape,
    quotient,
    slice_shape,
    tile_shape,
    unsqueeze_shape,
)

RANDOM = np.random.default_rng(0)


def shapes(count: int, rank: int) -> list[tuple[int, ...]]:
    """Return random small shapes."""
    return [tuple(RANDOM.integers(1, 4, rank).tolist()) for _ in range(count)]


@pytest.mark.parametrize(
    ("known", "inferred", "merged"),
    [
        (None, None, None),
        (None, (2, None), (2, None)),
        ((2, None), None, (2, None)),
        ((2, None, "n", None), (3, 4, 5, None), (2, 4, "n", None)),
        ((None,), (4, 5), (None,)),
        ((), (4,), ()),
    ],
)
def test_merged(known: Any, inferred: Any, merged: Any) -> None:
    assert merge_shapes(known, inferred) == merged


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([("n", 1, 3), (4, 3)], ("n", 4, 3)),
        ([("n",), (1,)], ("n",)),
        ([("n",), ("n",)], ("n",)),
        ([("n",), ("m",)], (None,)),
        ([("n",), (None,)], (None,)),
        ([(None,), (1,)], (None,)),
        ([("n",), (4,), (None,)], (4,)),
        ([(2,), (3,)], None),
        ([(), ()], ()),
        ([(0,), (1,)], (0,)),
    ],
)
def test_broadcast_names(parts: Any, expected: Any) -> None:
    assert broadcast_shape(parts) == expected
    assert broadcast_shape(parts[::-1]) == expected


def test_broadcast_and_product_as_numpy() -> None:
    for left, right in itertools.product(shapes(8, 3), shapes(4, 2) + shapes(4, 4)):
        try:
            expected: Any = np.broadcast_shapes(left, right)
        except ValueError:
            expected = None
        assert broadcast_shape([left, right]) == expected
        inner = (*right[:-2], left[-1], right[-1])
        try:
            expected = (np.ones(left) @ np.ones(inner)).shape
        except ValueError:
            expected = None
        assert matmul_shape(left, inner) == expected


def test_products_with_names() -> None:
    assert matmul_shape(("n", 4, "l", 8), (4, 8, None)) == ("n", 4, "l", None)
    assert matmul_shape((8,), (8, 2)) is None
    assert matmul_shape((2, 8), (8,)) is None
    assert matmul_shape((2, 3, 8), (3, 8, 4)) is None


@pytest.mark.parametrize(
    ("data", "pads", "expected"),
    [
        (("n", 4, None), (0, 1, 0, 0, 2, 0), ("n", 7, None)),
        (("n", 4, 5), (1, None, 0, 0, 0, -2), (None, None, 3)),
        ((4,), (0, "p"), (None,)),
        ((4,), ("p", 0), (None,)),
        ((4,), (-1, 1), (4,)),
        ((4, 5), (0, 0), None),
        ((), (), ()),
    ],
)
def test_padded(data: Any, pads: Any, expected: Any) -> None:
    assert pad_shape(data, pads) == expected


@pytest.mark.parametrize(
    ("data", "times", "expected"),
    [
        (("n", 4, None, 5), (1, 3, 1, None), ("n", 12, None, None)),
        (("n", 4), (2, "m"), (None, None)),
        ((4, 5), (0, 1), (0, 5)),
        ((4, 5), (1,), None),
    ],
)
def test_tiled(data: Any, times: Any, expected: Any) -> None:
    assert tile_shape(data, times) == expected


def test_slices_as_numpy() -> None:
    places = [-9, -3, -1, 0, 1, 2, 5, 1 << 31]
    for start, end, step in itertools.product(places, places, (-2, -1, 1, 3)):
        expected = (3, len(range(5)[start:end:step]))
        assert slice_shape((3, 5), [(start,), (end,), (1,), (step,)]) == expected
        assert slice_shape((3, 5), [(start,), (end,), (-1,), (step,)]) == expected


@pytest.mark.parametrize(
    ("data", "bounds", "expected"),
    [
        (("n", 5), [(0, 1), (2, 3)], (None, 2)),
        (("n", 5), [(0,), ((1 << 31) - 1,)], ("n", 5)),
        (("n", 5), [(0,), ((1 << 31) - 2,)], (None, 5)),
        (("n", 5), [(0,), ("n",)], ("n", 5)),
        (("n", 5), [(0,), ("m",)], (None, 5)),
        (("n", 5), [(1,), ("n",)], (None, 5)),
        (("n", 5), [(0,), ("n",), (0,), (2,)], (None, 5)),
        ((4, 5), [(0,), (3,), (1,)], (4, 3)),
        ((4, 5), [(0,), (3,), (2,)], None),
        ((4, 5), [(0,), (3,), (-2,)], (3, 5)),
        ((4, 5), [(0,), (3,), (-3,)], None),
        ((4, 5), [(0,), (3,), (None,)], None),
        ((4, 5), [(0,), (3,), (0,), (0,)], (None, 5)),
        ((4, 5), [(0,), (3,), (0,), (None,)], (None, 5)),
        ((4, 5), [(None,), (3,)], (None, 5)),
        ((4, 5), [(0,), (None,)], (None, 5)),
        ((4, 5), [(0,), (3, 2)], None),
        ((4, 5), [(0,)], None),
        ((4, 5), [(0,), None], None),
        ((4, 5), [(0,), (3,), None], None),
        ((0, 5), [(1,), (3,)], (0, 5)),
    ],
)
def test_slices(data: Any, bounds: Any, expected: Any) -> None:
    assert slice_shape(data, bounds) == expected


def test_inserted_axes_as_numpy() -> None:
    for axes in ([0], [-1], [1, 2], [0, -1], [3, 0, 1]):
        assert unsqueeze_shape((2, 3), axes) == np.expand_dims(np.ones((2, 3)), tuple(axes)).shape
    assert unsqueeze_shape(("n", None), [1]) == ("n", 1, None)


@pytest.mark.parametrize(
    ("parts", "axis", "expected"),
    [
        ([(2, 3)], 0, (2, 3)),
        ([("n", 3)], 0, ("n", 3)),
        ([(2, 3), (4, 3)], 0, (6, 3)),
        ([(2, 3), (2, 4), (2, 5)], -1, (2, 12)),
        ([("n", 3), ("m", 3)], 0, ("n+m", 3)),
        ([("n", 3), (1, 3)], 0, ("n+1", 3)),
        ([("n", 3), (None, 3)], 0, (None, 3)),
        ([("n", 3), ("n", 4)], 1, ("n", 7)),
        ([("n", 3), (None, 4)], 1, ("n", 7)),
        ([("n", 3), (None, 4), (None, 1)], -1, ("n", 8)),
        ([(0,), (2,)], 0, (2,)),
        ([(2, 3), (2,)], 0, None),
        ([()], 0, None),
        ([(), ()], 0, None),
        ([(2, 3), (2, 3, 4)], 0, None),
    ],
)
def test_concatenations(parts: Any, axis: int, expected: Any) -> None:
    assert concat_shape(parts, axis) == expected


@pytest.mark.parametrize(
    ("dividend", "divisor", "expected"),
    [
        (("batch", 4, 17, 8), [17, 8], "4*batch"),
        (("n", 4), [4], "n"),
        (("n", 4), ["n"], 4),
        (("n", "n", 4), ["n", 2], "2*n"),
        (("n", "m"), [1], "n*m"),
        (("n", "m"), ["m"], "n"),
        (("4*n", 3), [6], "2*n"),
        (("n*m",), ["m"], "n"),
        (("a+b", 4), [4], "a+b"),
        (("a+b", 4), [2], None),
        (("a+b", 4), ["a+b"], 4),
        (("a+b", "n"), [1], None),
        (("n", 4), [3], None),
        (("n", 4), ["m"], None),
        (("n", 4), [0], None),
        (("n", None), [1], None),
        (("n", 4), [None], None),
        (("n", 0), [2], 0),
        ((6, 4), [8], 3),
        ((), [], 1),
    ],
)
def test_quotients(dividend: Any, divisor: Any, expected: Any) -> None:
    assert quotient(dividend, divisor) == expected


def test_quotients_as_numbers() -> None:
    for dividend, divisor in itertools.product(shapes(8, 3), shapes(8, 2)):
        number, through = math.prod(dividend), math.prod(divisor)
        assert quotient(dividend, divisor) == (None if number % through else number // through)
