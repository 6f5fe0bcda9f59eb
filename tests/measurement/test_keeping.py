"""The search for the least set of nodes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trtlint.measurement.keeping import Budget, least

UNITS = [frozenset({str(index)}) for index in range(200)]


@given(st.sets(st.integers(0, 199), max_size=12))
def test_what_matters_is_found_and_nothing_else(needed: set[int]) -> None:
    wanted = frozenset(map(str, needed))
    budget = Budget(10_000, 60.0)

    def enough(kept: frozenset[str]) -> bool:
        budget.charge()
        return wanted <= kept

    assert frozenset().union(*least(UNITS, enough, budget)) == wanted
    # Each unit that matters is found by halving.
    assert budget.runs <= 1 + len(needed) * 2 * 8


def test_neighbours_cost_little() -> None:
    budget = Budget(10_000, 60.0)
    wanted = frozenset(map(str, range(64, 96)))

    def enough(kept: frozenset[str]) -> bool:
        budget.charge()
        return wanted <= kept

    assert frozenset().union(*least(UNITS, enough, budget)) == wanted
    assert budget.runs < 90


def test_what_there_was_no_time_for_stays() -> None:
    budget = Budget(3, 60.0)
    tried: list[frozenset[str]] = []

    def enough(kept: frozenset[str]) -> bool:
        budget.charge()
        tried.append(kept)
        return "7" in kept

    left = least(UNITS, enough, budget)
    assert len(tried) == 3
    assert frozenset({"7"}) in left
    assert enough(frozenset().union(*left))
