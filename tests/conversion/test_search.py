"""The search for operators to keep."""

from __future__ import annotations

import math

import pytest

from trtlint.conversion.search import (
    DIGITS,
    PRODUCT,
    RANGE,
    Candidates,
    connected,
    extended,
    grouped,
    resumed,
    search,
)
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


def test_products_are_freed_up_to_the_limit() -> None:
    """The limit of the first products is lower, and one product is too coarse for what is left."""
    errors = {"p1": 0.32, "p4": 0.3, "p6": 0.45}
    given = Candidates(frozenset(), [], ALL.products, [], ALL.costs)

    def measure(paths: frozenset[str]) -> float:
        return math.hypot(*(error for path, error in errors.items() if path not in paths))

    assert search(given, measure, BOUND, Budget(64, 60)).kept == {"p6": PRODUCT}


def test_other_inputs_add_operators() -> None:
    given = Candidates(frozenset(), [], ALL.products, ALL.regions, ALL.costs)

    def first(paths: frozenset[str]) -> float:
        return float("p3" not in paths)

    def later(paths: frozenset[str]) -> float:
        return float(not {"p3", "p5", "c"} <= paths)

    choice = search(given, first, BOUND, Budget(64, 60))
    assert choice.kept == {"p3": PRODUCT}
    expected = {"p3": PRODUCT, "p5": PRODUCT, "c": DIGITS}
    for found in (
        extended(given, choice, later, BOUND, Budget(64, 60)),
        resumed(given, choice.kept, later, BOUND, Budget(64, 60)),
    ):
        assert (found.kept, found.enough) == (expected, True)


def test_inputs_that_nothing_suits_keep_everything() -> None:
    choice = search(ALL, lambda paths: float("p3" not in paths), BOUND, Budget(64, 60))
    found = extended(ALL, choice, lambda _: None, BOUND, Budget(64, 60))
    assert not found.enough
    assert found.kept.keys() == {*(f"p{index}" for index in range(8)), "a", "b", "c", "r1", "r2"}


def test_a_choice_stays_if_the_time_is_over() -> None:
    choice = search(ALL, lambda paths: float("p3" not in paths), BOUND, Budget(64, 60))
    found = extended(ALL, choice, lambda _: 1.0, BOUND, Budget(0, 60))
    assert found == choice


def test_one_more_product_suffices_for_other_inputs() -> None:
    """The product is not the first in the order, so that the products before it stay in 16 bits."""
    given = Candidates(frozenset(), [], ALL.products, [], ALL.costs)
    choice = search(given, lambda paths: float("p3" not in paths), BOUND, Budget(64, 60))
    found = extended(given, choice, lambda paths: float(not {"p3", "p1"} <= paths), BOUND, Budget(64, 60))
    assert found.kept == {"p3": PRODUCT, "p1": PRODUCT}
