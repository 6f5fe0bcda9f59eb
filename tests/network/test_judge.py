"""What counts as a difference of two tensors, and which deviations are documented."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from trtlint.network.deviations import deviation
from trtlint.network.judge import compare, is_identical, says_nothing, tolerance_of

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
    assert says_nothing(one, nan)
    assert not says_nothing(nan, nan)
    assert not says_nothing(nan, one)
    assert not says_nothing(one, np.array([[np.nan, 1], [1, 1]], np.float32))
    assert not says_nothing(np.zeros((0, 2), np.float32), np.zeros((0, 2), np.float32))
    assert not says_nothing(np.ones((2, 2), np.int64), np.ones((2, 2), np.int64))


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


@pytest.mark.parametrize(
    ("kind", "kinds", "tolerance"),
    [("FLOAT", WIDE, 1e-3), ("FLOAT", NARROW, 1e-2), ("HALF", NARROW, 1e-2), ("INT32", NARROW, 0.0)],
)
def test_fp32_beside_a_narrow_type_has_its_tolerance(
    kind: str, kinds: frozenset[str], tolerance: float
) -> None:
    assert tolerance_of(kind, kinds) == tolerance


def test_ties_may_be_broken_otherwise() -> None:
    node = helper.make_node("ArgMax", ["x"], ["y"], axis=1, keepdims=0)
    source = np.array([[3.0, 3.0, 1.0]], np.float32)
    got, expected = np.array([1]), np.array([0])
    found = compare(got, expected, "INT64", 0.0)
    assert found is not None
    assert deviation(node, [source], (got, expected), found, 17) == "the choice among equal elements"
    other = np.array([2])
    assert deviation(node, [source], (other, expected), found, 17) == ""


def test_rows_of_a_suppression_may_come_in_another_order() -> None:
    node = helper.make_node("NonMaxSuppression", ["b", "s"], ["y"])
    got, expected = np.array([[0, 1, 2], [0, 0, 1]]), np.array([[0, 0, 1], [0, 1, 2]])
    found = compare(got, expected, "INT64", 0.0)
    assert found is not None
    assert deviation(node, [None, None], (got, expected), found, 17)
    assert not deviation(node, [None, None], (got + 1, expected), found, 17)


def test_a_cast_of_what_the_type_cannot_hold_is_not_judged() -> None:
    node = helper.make_node("Cast", ["x"], ["y"], to=3)
    source = np.array([300.0, 5.0], np.float32)
    expected = np.array([44, 5], np.int8)
    good, bad = np.array([127, 5], np.int8), np.array([127, 6], np.int8)
    for got, explained in ((good, True), (bad, False)):
        found = compare(got, expected, "INT8", 0.0)
        assert found is not None
        assert bool(deviation(node, [source], (got, expected), found, 17)) is explained
