"""Tests of number formats shared by all reports."""

from __future__ import annotations

import pytest

from trtlint.facts.figures import figure


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.0, "0"),
        (0.012345, "0.0123"),
        (4.1, "4.1"),
        (1234.5, "1,234"),
        (97344.0, "97,344"),
        (3.4e38, "3.4e+38"),
    ],
)
def test_figures_are_short_and_never_in_powers_below_a_billion(value: float, words: str) -> None:
    assert figure(value) == words
