"""Tests of the search for the smallest set of nodes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trtlint.measurement import keeping
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
    """If all units matter, attempts with two or three units at once fail."""
    budget = Budget(10_000, 60.0)
    units = UNITS[:12]

    def enough(kept: frozenset[str]) -> bool:
        budget.charge()
        return len(kept) == len(units)

    assert least(units, enough, budget, needed=True) == list(units)
    assert budget.runs <= len(units) + 2


class Tries:
    """Record the tests of unit sets, with letters as units."""

    def __init__(self, needed: str, budget: Budget) -> None:
        self._needed = frozenset(needed)
        self._budget = budget
        self.sets: list[str] = []

    def __call__(self, paths: frozenset[str]) -> bool:
        self._budget.charge()
        self.sets.append("".join(sorted(paths)))
        return paths >= self._needed


ONES_AND_A_DEAR_LAST = [1.0] * 7 + [100.0]


@pytest.mark.parametrize(
    ("units", "needed", "costs", "tried"),
    [
        ("", "", None, []),
        ("a", "a", None, [""]),
        ("ab", "ab", None, ["", "b", "a"]),
        ("abc", "b", None, ["", "ac", "ab", "b"]),
        ("abcd", "c", None, ["", "bcd", "cd", "d", "c"]),
        ("abcdefgh", "", None, [""]),
        ("abcdefgh", "c", None, ["", "efgh", "bcdefgh", "cdefgh", "defgh", "cefgh", "c"]),
        (
            "abcdefgh",
            "ch",
            None,
            ["", "efgh", "bcdefgh", "cdefgh", "defgh", "cefgh", "c", "cfgh", "cgh", "ch"],
        ),
        ("abcdefgh", "c", ONES_AND_A_DEAR_LAST, ["", "abcdefg", "abc", "ac", "a", "c"]),
    ],
)
def test_the_order_in_which_units_are_left_out(
    units: str, needed: str, costs: list[float] | None, tried: list[str]
) -> None:
    for known in (False, True)[: 1 + bool(needed)]:
        budget = Budget(99, 60.0)
        enough = Tries(needed, budget)
        found = least([frozenset(unit) for unit in units], enough, budget, costs, needed=known)
        assert found == [frozenset(unit) for unit in needed]
        assert enough.sets == (tried[1:] if known else tried)


@pytest.mark.parametrize(
    ("needed", "runs", "found", "tried"),
    [
        ("cf", 99, (2, 6), ["efgh", "cdefgh", "defgh", "cde", "cdef"]),
        ("a", 99, (0, 1), ["efgh", "cdefgh", "bcdefgh", "abcd", "ab", "a"]),
        ("h", 99, (7, 8), ["efgh", "gh", "h"]),
        ("ah", 99, (0, 8), ["efgh", "cdefgh", "bcdefgh", "abcd", "abcdef", "abcdefg"]),
        ("d", 99, (3, 4), ["efgh", "cdefgh", "defgh", "de", "d"]),
        ("cf", 2, (2, 8), ["efgh", "cdefgh"]),
        ("cf", 4, (2, 8), ["efgh", "cdefgh", "defgh", "cde"]),
        ("cf", 0, (0, 8), []),
    ],
)
def test_the_ends_of_a_window_are_bisected(
    needed: str, runs: int, found: tuple[int, int], tried: list[str]
) -> None:
    budget = Budget(runs, 60.0)
    enough = Tries(needed, budget)
    assert window([frozenset(unit) for unit in "abcdefgh"], enough, budget) == found
    assert enough.sets == tried
    assert window([frozenset("a")], enough, budget) == (0, 1)


@pytest.mark.parametrize(
    ("weights", "begin", "end", "middle"),
    [
        ([1, 1, 1, 1], 0, 4, 2),
        ([1, 1, 1], 0, 3, 1),
        ([10, 1, 1], 0, 3, 1),
        ([1, 1, 10], 0, 3, 2),
        ([1, 10, 1], 0, 3, 1),
        ([1, 100], 0, 2, 1),
        ([9, 1, 1, 1, 1, 9], 1, 5, 3),
        ([1, 1, 1, 1, 1, 5], 0, 6, 5),
    ],
)
def test_a_range_is_split_into_halves_of_similar_cost(
    weights: list[float], begin: int, end: int, middle: int
) -> None:
    assert keeping._middle(weights, begin, end) == middle


def test_a_budget_ends_with_its_runs_or_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(keeping, "time", SimpleNamespace(monotonic=lambda: now[0]))
    budget = Budget(3, 10.0)
    assert (budget.runs, budget.left, budget.seconds, budget.spent) == (0, 3, 10.0, False)
    budget.charge()
    budget.reserve(1)
    assert (budget.runs, budget.left, budget.spent) == (1, 1, False)
    budget.reserve(1)
    assert (budget.left, budget.spent) == (0, True)
    budget.reserve(-2)
    now[0] = 109.5
    assert (budget.left, budget.seconds, budget.spent) == (2, 0.5, False)
    now[0] = 110.0
    assert (budget.left, budget.seconds, budget.spent) == (0, 0.0, True)
    now[0] = 111.0
    assert (budget.left, budget.seconds, budget.spent) == (0, 0.0, True)
