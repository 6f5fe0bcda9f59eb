"""Tests of elementwise verdicts on outputs before and after a fix."""

from __future__ import annotations

import numpy as np
import pytest

from trtlint.compare._judging import Judgement, judge

INF, NAN = np.inf, np.nan


def judged(before: list[float], after: list[float], truth: list[float] | None = None) -> Judgement:
    one, other = ([{"y": np.array(each, np.float16)}] for each in (before, after))
    wide = None if truth is None else [{"y": np.array(truth, np.float64)}]
    return judge(one, other, truth=wide)


def test_what_was_not_finite_and_is_now_is_better() -> None:
    found = judged([1, INF, NAN, -INF], [1, 6e4, 0, -6e4], [1, 7e4, 5, -7e4])
    assert (found.equal, found.gained, found.unsure, found.difference) == (True, 3, 0, 0.0)


def test_an_infinity_that_fp64_gives_too_is_not_surely_better() -> None:
    assert judged([1, -INF], [1, -6e4], [1, -INF]).unsure == 1
    assert judged([1, -INF], [1, -6e4]).unsure == 1


def test_what_was_finite_and_is_not_is_worse_and_counted() -> None:
    found = judged([1, 2, 3, INF], [1, INF, NAN, 4], [1, 2, 3, 4])
    assert (found.equal, found.lost, found.gained) == (False, 2, 1)


@pytest.mark.parametrize("pair", [([INF], [-INF]), ([INF], [NAN]), ([NAN], [INF])])
def test_infinity_and_nan_are_not_taken_for_each_other(pair: tuple[list[float], list[float]]) -> None:
    found = judged(*pair)
    assert (found.equal, found.changed) == (False, 1)
    assert judged(pair[0], pair[0]).equal


def test_nan_that_was_to_be_mended_may_become_anything() -> None:
    before, after = [{"y": np.array([NAN, 1.0])}], [{"y": np.array([INF, 1.0])}]
    assert not judge(before, after).equal
    assert judge(before, after, ignore_nan=True).equal


def test_the_difference_is_that_of_numbers() -> None:
    found = judged([1, 2, INF], [1, 2.5, INF])
    assert (found.equal, found.beyond, found.difference) == (False, 1, 0.5)


def test_an_output_of_another_shape_or_that_is_missing_is_named() -> None:
    before = [{"y": np.zeros(2)}]
    assert judge(before, [{"y": np.zeros((1, 2))}]).shape == "y"
    assert judge(before, [{}]).shape == "y"
    assert not judge(before, [{}]).equal


def test_whole_numbers_and_texts_are_to_be_the_same() -> None:
    for one, other in ((np.array([1, 2]), np.array([1, 3])), (np.array(["a"]), np.array(["b"]))):
        assert not judge([{"y": one}], [{"y": other}]).equal
        assert judge([{"y": one}], [{"y": one}]).equal


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_integers_that_are_equal_in_fp64_differ(dtype: str) -> None:
    one, other = (np.array([number], dtype) for number in (1 << 60, (1 << 60) + 1))
    assert judge([{"y": one}], [{"y": other}]).beyond == 1


@pytest.mark.parametrize(
    ("values", "tells"),
    [([], True), ([NAN], False), ([INF, NAN], False), ([NAN, 1.0], True)],
)
def test_an_output_without_a_finite_element_tells_nothing(values: list[float], tells: bool) -> None:
    assert judged(values, values).comparable is tells
    names = [{"y": np.array(["a"])}]
    assert judge(names, names).comparable


@pytest.mark.parametrize(
    ("dtype", "within", "beyond"), [("float64", 5e-7, 3e-6), ("float32", 5e-4, 3e-3), ("float16", 0.01, 0.06)]
)
def test_the_tolerance_is_that_of_the_type(dtype: str, within: float, beyond: float) -> None:
    before = [{"y": np.ones(3, dtype)}]
    for change, equal in ((within, True), (-within, True), (beyond, False), (-beyond, False)):
        assert judge(before, [{"y": np.full(3, 1 + change, dtype)}]).equal is equal
    assert judge(before, [{"y": np.full(3, 1 + beyond, dtype)}]).beyond == 3


def test_numbers_near_zero_are_compared_with_a_thousandth() -> None:
    before = [{"y": np.zeros(1, np.float32)}]
    assert judge(before, [{"y": np.full(1, 9e-7, np.float32)}]).equal
    assert not judge(before, [{"y": np.full(1, 1.2e-6, np.float32)}]).equal


def outputs(*values: float, dtype: str = "float32") -> dict[str, np.ndarray]:
    return {"y": np.array(values, dtype)}


@pytest.mark.parametrize(
    ("difference", "equal"), [(0.009, True), (-0.009, True), (0.011, False), (-0.011, False)]
)
def test_small_outputs_are_compared_with_a_hundredth_of_the_largest_set(
    difference: float, equal: bool
) -> None:
    """The tolerance is a thousandth of 10, which is a hundredth of 1000."""
    for others in ([outputs(-1000, 3), outputs(5)], [outputs(5), outputs(-1000, 3)]):
        before, after = [*others, outputs(0, 0.0)], [*others, outputs(0, difference)]
        found = judge(before, after)
        assert (found.equal, found.beyond, found.sets) == (equal, int(not equal), 3)
        assert found.difference == pytest.approx(abs(difference))


def test_all_numbers_of_a_judgement() -> None:
    nothing = {
        "equal": True,
        "sets": 0,
        "largest_difference": 0.0,
        "beyond": 0,
        "lost": 0,
        "gained": 0,
        "unsure": 0,
        "changed": 0,
        "shape": "",
        "comparable": False,
    }
    assert judge([], []).document == nothing
    assert judge([outputs(NAN)], [outputs(NAN)]).document == {**nothing, "sets": 1}
    before = {**outputs(1, 2, INF, NAN, INF, INF), "z": np.zeros(2), "a": np.zeros(3)}
    after = {**outputs(1.5, INF, 3, 4, NAN, -INF), "z": np.zeros(3)}
    wide = [{"y": np.array([1, 2, INF, 3, 4, 5]), "a": np.zeros(3)}]
    assert judge([before, before], [after, after], truth=wide * 2).document == {
        "equal": False,
        "sets": 2,
        "largest_difference": 0.5,
        "beyond": 2,
        "lost": 2,
        "gained": 4,
        "unsure": 2,
        "changed": 4,
        "shape": "z",
        "comparable": True,
    }


@pytest.mark.parametrize(
    ("truth", "unsure"),
    [
        (None, 2),
        ({}, 2),
        (outputs(7), 2),
        (outputs(7, 7, 7), 2),
        (outputs(7, 7), 0),
        (outputs(7, INF), 1),
        (outputs(NAN, INF), 2),
    ],
)
def test_a_gain_is_unsure_unless_fp64_confirms_it(truth: dict[str, np.ndarray] | None, unsure: int) -> None:
    found = judge([outputs(INF, -INF)], [outputs(1, 2)], truth=None if truth is None else [truth])
    assert (found.gained, found.unsure, found.changed, found.equal) == (2, unsure, 0, True)


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [(NAN, NAN, 0), (NAN, INF, 1), (INF, NAN, 1), (INF, -INF, 1), (INF, INF, 0)],
)
def test_nan_is_ignored_only_in_the_original(before: float, after: float, changed: int) -> None:
    assert judge([outputs(before)], [outputs(after)]).changed == changed
    found = judge([outputs(before)], [outputs(after)], ignore_nan=True)
    assert found.changed == (0 if np.isnan(before) else changed)


def test_the_largest_difference_of_all_outputs_counts() -> None:
    before = [{"a": np.zeros(2), "b": np.zeros(2)}, {"a": np.zeros(2), "b": np.zeros(2)}]
    after = [{"a": np.array([0, 1.0]), "b": np.array([-3.0, 0])}, {"a": np.array([2.0, 0]), "b": np.zeros(2)}]
    assert judge(before, after).difference == 3.0


def test_texts_are_counted_and_have_no_difference() -> None:
    one, other = np.array(["a", "z", "c"]), np.array(["a", "x", "y"])
    found = judge([{"y": one}], [{"y": other}])
    assert (found.changed, found.beyond, found.difference, found.comparable) == (2, 0, 0.0, True)
    assert judge([{"y": one}], [{"y": np.arange(3)}]).changed == 3
    assert judge([{"y": np.arange(3)}], [{"y": one}]).changed == 3


def test_integers_and_booleans_have_no_tolerance() -> None:
    large = np.array([1000, -2000], np.int32)
    assert judge([{"y": large}], [{"y": large}]).comparable
    assert judge([{"y": large}], [{"y": large + np.array([0, 1], np.int32)}]).beyond == 1
    assert judge([{"y": np.array([True, False])}], [{"y": np.array([True, True])}]).beyond == 1
    assert judge([{"y": np.array([3], np.uint8)}], [{"y": np.array([4], np.uint8)}]).difference == 1.0
