"""The search for operators to keep."""

from __future__ import annotations

import pytest

from trtlint.conversion.search import DIGITS, PRODUCT, RANGE, Candidates, connected, grouped, search
from trtlint.measurement.keeping import Budget

ALL = Candidates(
    fixed=frozenset({"f"}),
    forced=[frozenset({"r1"}), frozenset({"r2"})],
    products=[frozenset({f"p{index}"}) for index in range(8)],
    regions=[frozenset({"a", "b"}), frozenset({"c"})],
    costs={f"p{index}": 10 for index in range(8)},
)
BOUND = 0.5


@pytest.mark.parametrize(
    ("needed", "kept"),
    [
        (set(), {}),
        ({"r2"}, {"r2": RANGE}),
        ({"c"}, {"c": DIGITS}),
        ({"p3"}, {"p3": PRODUCT}),
        ({"p3", "a", "r1"}, {"p3": PRODUCT, "a": DIGITS, "b": DIGITS, "r1": RANGE}),
    ],
)
def test_no_more_is_kept_than_is_needed(needed: set[str], kept: dict[str, str]) -> None:
    found = search(ALL, lambda paths: float(not needed <= paths), BOUND, Budget(64, 60))
    assert (found.kept, found.enough) == (kept, True)


def test_products_with_most_error_for_their_cost_are_kept() -> None:
    errors = {"p1": 0.4, "p4": 0.3, "p6": 0.3}
    costs = {**ALL.costs, "p4": 1000}
    given = Candidates(ALL.fixed, [], ALL.products, ALL.regions, costs)

    def measure(paths: frozenset[str]) -> float:
        return sum(error for path, error in errors.items() if path not in paths)

    assert search(given, measure, BOUND, Budget(64, 60)).kept == {"p1": PRODUCT, "p6": PRODUCT}


def test_few_runs_suffice_for_many_products() -> None:
    products = [frozenset({f"p{index}"}) for index in range(1000)]
    given = Candidates(frozenset(), [], products, [], {})
    budget = Budget(40, 60)

    def measure(paths: frozenset[str]) -> float:
        budget.charge()
        return float(not {"p500", "p503"} <= paths)

    found = search(given, measure, BOUND, budget)
    assert found.enough
    assert {"p500", "p503"} <= found.kept.keys()
    assert len(found.kept) < 100
    assert budget.runs < 80


def test_what_nothing_helps_is_said() -> None:
    assert not search(ALL, lambda _: None, BOUND, Budget(64, 60)).enough


def test_operators_of_a_group_stay_together() -> None:
    assert grouped("abcd", [frozenset("bd")]) == [frozenset("a"), frozenset("bd"), frozenset("c")]
    assert connected([frozenset("a"), frozenset("b"), frozenset("c")], [("a", "c"), ("b", "x")]) == [
        frozenset("ac"),
        frozenset("b"),
    ]
