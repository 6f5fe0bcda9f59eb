"""Tests of the shares of equal choices."""

from __future__ import annotations

from trtlint.measurement.chosen import ChoiceShares, most_changed


def test_the_choice_that_changes_most() -> None:
    same, swapped, other = ChoiceShares("a", 1, 1), ChoiceShares("b", 1, 0.5), ChoiceShares("c", 0.9996, 0.5)
    assert most_changed([]) is None
    assert most_changed([same]) is None
    assert most_changed([same, swapped, other]) is other
    assert other.words == "c itself would choose 99.9 % of these elements, 50 % at the same position"
