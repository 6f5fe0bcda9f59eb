"""The search for the least set of nodes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trtlint.measurement.keeping import Budget, least, window

UNITS = [frozenset({str(index)}) for index in range(200)]


@given(st.sets(st.integers(0, 199), max_size=12))
def test_what_matters_is_found_and_nothing_else(needed: set[int]) -> None:
    wanted = frozenset(map(str, needed))
    budget = Budget(10_000, 60.0)

    def enough(kept: frozenset[str]) -> bool:
        budget.charge()
        return wanted <= kept

    assert frozenset().union(*least(UNITS, enough, budget)) == wanted
    # Each unit that matters is found by halving, and the last three one by one.
    assert budget.runs <= 1 + len(needed) * (2 * 7 + 3)


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


@given(st.integers(0, 199), st.integers(0, 199))
def test_a_window_is_found_by_its_two_ends(one: int, other: int) -> None:
    wanted = frozenset({str(one), str(other)})
    budget = Budget(10_000, 60.0)

    def enough(kept: frozenset[str]) -> bool:
        budget.charge()
        return wanted <= kept

    assert window(UNITS, enough, budget) == (min(one, other), max(one, other) + 1)
    assert budget.runs <= 16


def test_what_is_dear_is_left_out_first() -> None:
    tried: list[frozenset[str]] = []

    def enough(kept: frozenset[str]) -> bool:
        tried.append(kept)
        return bool(kept)

    costs = [1.0] * 199 + [1000.0]
    (left,) = least(UNITS, enough, Budget(10_000, 60.0), costs, needed=True)
    assert "199" not in tried[0]
    assert left != UNITS[199]


def test_a_half_that_is_known_to_be_needed_is_not_tried() -> None:
    budget = Budget(10_000, 60.0)

    def enough(kept: frozenset[str]) -> bool:
        budget.charge()
        return "0" in kept

    assert least(UNITS[:2], enough, budget, needed=True) == [UNITS[0]]
    assert budget.runs == 2


def test_a_short_range_is_tried_one_by_one() -> None:
    """Where all units matter, joint attempts of two or three are in vain."""
    budget = Budget(10_000, 60.0)
    units = UNITS[:12]

    def enough(kept: frozenset[str]) -> bool:
        budget.charge()
        return len(kept) == len(units)

    assert least(units, enough, budget, needed=True) == list(units)
    assert budget.runs <= len(units) + 2
