"""Tests of Kleene's three-valued logic."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trtlint.target.truth import Truth, Unknown, both, either, negate

GPU, TRT = frozenset({"--gpu"}), frozenset({"--trt"})
OPTIONS = st.sets(st.sampled_from(["--gpu", "--trt", "--fp16"])).map(frozenset)
TRUTHS = st.one_of(st.booleans(), st.builds(Unknown, OPTIONS, OPTIONS))


def level(truth: Truth) -> int:
    """Return the order of a truth value: false, unknown, true. ``and`` is the minimum, ``or`` the maximum."""
    return 1 if isinstance(truth, Unknown) else 2 * truth


@given(st.lists(TRUTHS, max_size=5))
def test_and_is_the_least_or_the_greatest(truths: list[Truth]) -> None:
    assert level(both(*truths)) == min(map(level, truths), default=2)
    assert level(either(*truths)) == max(map(level, truths), default=0)


@given(TRUTHS, TRUTHS)
def test_de_morgan_and_double_negation(a: Truth, b: Truth) -> None:
    assert negate(negate(a)) == a
    assert negate(both(a, b)) == either(negate(a), negate(b))
    assert both(a, b) == both(b, a)
    assert both(a, a) == a


@given(TRUTHS, TRUTHS, TRUTHS)
def test_and_is_associative(a: Truth, b: Truth, c: Truth) -> None:
    assert both(a, both(b, c)) == both(a, b, c) == both(both(a, b), c)


def test_the_options_that_settle_a_conjunction_are_those_of_its_parts() -> None:
    assert both(Unknown(GPU), True, Unknown(TRT)) == Unknown(GPU | TRT)
    assert either(Unknown(GPU), False, Unknown(TRT)) == Unknown(GPU | TRT)


def test_what_the_file_does_not_tell_cannot_be_made_true_by_an_option() -> None:
    conjunction = both(Unknown(), Unknown(GPU))
    assert isinstance(conjunction, Unknown)
    assert conjunction.needs == frozenset()
    assert conjunction.refutes == GPU
    assert either(Unknown(), Unknown(GPU)) == negate(both(Unknown(), Unknown(GPU)))
    assert either(Unknown(), Unknown(GPU)).needs == GPU  # type: ignore[union-attr]


def test_false_decides_whatever_is_unknown() -> None:
    unknown: list[Truth] = [Unknown(), Unknown(GPU)]
    for order in itertools.permutations([False, *unknown]):
        assert both(*order) is False
    for order in itertools.permutations([True, *unknown]):
        assert either(*order) is True


def test_an_unknown_is_not_taken_for_true_or_false_by_accident() -> None:
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(Unknown())
