"""Tests of the search for operators to keep."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from trtlint.conversion import search as searching
from trtlint.conversion.search import (
    DIGITS,
    PRODUCT,
    RANGE,
    Candidates,
    Choice,
    Search,
    connected,
    grouped,
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
    found = Search(ALL, lambda paths: float(not needed <= paths), Budget(64, 60)).chosen(BOUND)
    assert (found.kept, found.enough) == (kept, True)


def test_products_with_most_error_for_their_cost_are_kept() -> None:
    errors = {"p1": 0.4, "p4": 0.3, "p6": 0.3}
    costs = {**ALL.costs, "p4": 1000}
    given = Candidates(ALL.fixed, [], ALL.products, ALL.regions, costs)

    def measure(paths: frozenset[str]) -> float:
        return sum(error for path, error in errors.items() if path not in paths)

    assert Search(given, measure, Budget(64, 60)).chosen(BOUND).kept == {"p1": PRODUCT, "p6": PRODUCT}


def test_few_runs_suffice_for_many_products() -> None:
    products = [frozenset({f"p{index}"}) for index in range(1000)]
    given = Candidates(frozenset(), [], products, [], {})
    budget = Budget(40, 60)

    def measure(paths: frozenset[str]) -> float:
        budget.charge()
        return float(not {"p500", "p503"} <= paths)

    found = Search(given, measure, budget).chosen(BOUND)
    assert found.enough
    assert {"p500", "p503"} <= found.kept.keys()
    assert len(found.kept) < 100
    assert budget.runs < 80


def test_what_nothing_helps_is_said() -> None:
    assert not Search(ALL, lambda _: None, Budget(64, 60)).chosen(BOUND).enough


def test_operators_of_a_group_stay_together() -> None:
    assert grouped("abcd", [frozenset("bd")]) == [frozenset("a"), frozenset("bd"), frozenset("c")]
    assert connected([frozenset("a"), frozenset("b"), frozenset("c")], [("a", "c"), ("b", "x")]) == [
        frozenset("ac"),
        frozenset("b"),
    ]


def test_products_are_freed_up_to_the_limit() -> None:
    """The first products have a lower limit, and one product is too coarse for the rest."""
    errors = {"p1": 0.32, "p4": 0.3, "p6": 0.45}
    given = Candidates(frozenset(), [], ALL.products, [], ALL.costs)

    def measure(paths: frozenset[str]) -> float:
        return math.hypot(*(error for path, error in errors.items() if path not in paths))

    assert Search(given, measure, Budget(64, 60)).chosen(BOUND).kept == {"p6": PRODUCT}


def test_other_inputs_add_operators() -> None:
    given = Candidates(frozenset(), [], ALL.products, ALL.regions, ALL.costs)

    def first(paths: frozenset[str]) -> float:
        return float("p3" not in paths)

    def later(paths: frozenset[str]) -> float:
        return float(not {"p3", "p5", "c"} <= paths)

    choice = Search(given, first, Budget(64, 60)).chosen(BOUND)
    assert choice.kept == {"p3": PRODUCT}
    expected = {"p3": PRODUCT, "p5": PRODUCT, "c": DIGITS}
    for found in (
        Search(given, later, Budget(64, 60)).extended(choice, BOUND),
        Search(given, later, Budget(64, 60)).resumed(choice.kept, BOUND),
    ):
        assert (found.kept, found.enough) == (expected, True)


def test_inputs_that_nothing_suits_keep_everything() -> None:
    choice = Search(ALL, lambda paths: float("p3" not in paths), Budget(64, 60)).chosen(BOUND)
    found = Search(ALL, lambda _: None, Budget(64, 60)).extended(choice, BOUND)
    assert not found.enough
    assert found.kept.keys() == {*(f"p{index}" for index in range(8)), "a", "b", "c", "r1", "r2"}


def test_a_choice_stays_if_the_time_is_over() -> None:
    choice = Search(ALL, lambda paths: float("p3" not in paths), Budget(64, 60)).chosen(BOUND)
    found = Search(ALL, lambda _: 1.0, Budget(0, 60)).extended(choice, BOUND)
    assert found == choice


def test_one_more_product_suffices_for_other_inputs() -> None:
    """The product is not the first one, so earlier products stay in 16 bits."""
    given = Candidates(frozenset(), [], ALL.products, [], ALL.costs)
    choice = Search(given, lambda paths: float("p3" not in paths), Budget(64, 60)).chosen(BOUND)
    found = Search(given, lambda paths: float(not {"p3", "p1"} <= paths), Budget(64, 60)).extended(
        choice, BOUND
    )
    assert found.kept == {"p3": PRODUCT, "p1": PRODUCT}


class Measured:
    """Fake measurements with an error per set or a default, recorded as texts."""

    def __init__(self, usual: float | None = 1.0, **errors: float | None) -> None:
        self._usual = usual
        self._errors = errors
        self.calls: list[str] = []

    def __call__(self, paths: frozenset[str]) -> float | None:
        self.calls.append("".join(sorted(paths)))
        return self._errors.get(self.calls[-1], self._usual)


def groups(*texts: str) -> list[frozenset[str]]:
    return [frozenset(text) for text in texts]


SMALL = Candidates(
    fixed=frozenset("F"),
    forced=groups("r"),
    products=groups("p", "q", "s"),
    regions=groups("ab", "c"),
    costs={"p": 10, "q": 20},
)
BEFORE = Choice({"q": PRODUCT}, enough=True, order=groups("s", "q", "p"))
FULL = {"a": DIGITS, "b": DIGITS, "c": DIGITS, "p": PRODUCT, "q": PRODUCT, "r": RANGE, "s": PRODUCT}


@pytest.mark.parametrize(
    ("error", "enough"), [(None, False), (BOUND + 0.01, False), (BOUND, True), (0.0, True)]
)
def test_more_operators_are_tried_one_by_one_then_together(error: float | None, enough: bool) -> None:
    measure = Measured(Fabcpqrs=error)
    found = Search(SMALL, measure, Budget(64, 60)).extended(BEFORE, BOUND)
    singles = ["Fpq", "Fqs", "Fcq", "Fabq", "Fqr"]
    assert measure.calls[:7] == [*singles, "Fabcpqr", "Fabcpqrs"]
    assert found == Choice(FULL, enough, BEFORE.order)


@pytest.mark.parametrize(
    ("paths", "added"),
    [
        ("Fpq", {"p": PRODUCT}),
        ("Fqs", {"s": PRODUCT}),
        ("Fcq", {"c": DIGITS}),
        ("Fabq", {"a": DIGITS, "b": DIGITS}),
        ("Fqr", {"r": RANGE}),
    ],
)
def test_one_more_group_is_enough(paths: str, added: dict[str, str]) -> None:
    measure = Measured(**{paths: BOUND})
    found = Search(SMALL, measure, Budget(64, 60)).extended(BEFORE, BOUND)
    assert found == Choice({**BEFORE.kept, **added}, enough=True, order=BEFORE.order)
    assert measure.calls[-1] == paths


def test_few_groups_are_tried_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "_MOST_SINGLE", 1)
    measure = Measured()
    Search(SMALL, measure, Budget(64, 60)).extended(BEFORE, BOUND)
    assert measure.calls == ["Fpq", "Fcq", "Fabcpqr", "Fabcpqrs", "Fabcpqrs"]


def test_without_time_only_the_other_operators_are_tried() -> None:
    measure = Measured()
    assert Search(SMALL, measure, Budget(0, 60)).extended(BEFORE, BOUND) == BEFORE
    assert measure.calls == ["Fabcqr"]
    measure = Measured(Fabcqr=BOUND)
    found = Search(SMALL, measure, Budget(0, 60)).extended(BEFORE, BOUND)
    assert found == Choice(
        {"q": PRODUCT, "a": DIGITS, "b": DIGITS, "c": DIGITS, "r": RANGE}, enough=True, order=BEFORE.order
    )
    assert measure.calls == ["Fabcqr"]


def test_groups_that_are_not_needed_are_left_out_again() -> None:
    """Two products and one region are necessary, and the search tries more products first."""

    def measure(paths: frozenset[str]) -> float:
        return float(not paths >= frozenset("psc"))

    found = Search(SMALL, measure, Budget(64, 60)).extended(BEFORE, BOUND)
    assert found.kept == {"q": PRODUCT, "p": PRODUCT, "s": PRODUCT, "c": DIGITS}
    assert (found.enough, found.order) == (True, BEFORE.order)


def test_an_earlier_search_continues_with_products_by_error() -> None:
    measure = Measured(0.0, Fabcpqrs=0.25, Fabcqrs=0.25, Fabcpqr=0.5)
    found = Search(SMALL, measure, Budget(64, 60)).resumed({"q": PRODUCT}, BOUND)
    assert found.order == groups("p", "s")
    assert measure.calls[:3] == ["Fabcqrs", "Fabcqrs", "Fabcpqr"]


@pytest.mark.parametrize(
    ("costs", "budget", "order"),
    [
        ({"a": 1, "b": 10, "c": 1, "d": 1}, 64, "dbac"),
        ({"a": 4, "b": 10}, 64, "dabc"),
        ({"a": 10, "b": 25}, 64, "dabc"),
        ({"a": 1, "b": 10, "c": 1, "d": 1}, 4, "abcd"),
        ({"a": 1, "b": 10, "c": 1, "d": 1}, 1, "abcd"),
    ],
)
def test_products_in_the_order_of_their_error_by_cost(costs: dict[str, int], budget: int, order: str) -> None:
    given = Candidates(frozenset(), [], groups(*"abcd"), [], costs)
    sample = Measured(1.0, bcd=2.0, acd=5.0, abd=None, abc=0.0, cd=3.0, ab=None)
    found = Search(given, sample, Budget(budget, 60))._by_error(given.products, frozenset("abcd"))
    assert found == groups(*order)
    parts = {64: ["bcd", "acd", "abd", "abc"], 4: ["cd", "ab"], 1: [""]}[budget]
    assert sample.calls == ["bcd", *parts]


def test_slow_simulations_compare_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two simulations of 10 seconds fit into 40 % of a minute."""
    clock = iter([5.0, 15.0])
    monkeypatch.setattr(searching, "time", SimpleNamespace(monotonic=clock.__next__))
    given = Candidates(frozenset(), [], groups(*"abcd"), [], {})
    sample = Measured()
    Search(given, sample, Budget(64, 60))._by_error(given.products, frozenset("abcd"))
    assert sample.calls == ["bcd", "cd", "ab"]


def test_a_group_costs_at_least_one_operation() -> None:
    assert [SMALL.cost(frozenset(unit)) for unit in ("p", "pq", "s", "")] == [10, 30, 1, 1]


@pytest.mark.parametrize(
    ("errors", "count"),
    [
        ({}, 4),
        ({"bcd": 0.6, "cd": 0.6, "d": 0.6, "": 0.6}, 0),
        ({"bcd": None, "cd": None, "d": None, "": None}, 0),
        ({"bcd": BOUND, "cd": BOUND, "d": 0.6, "": 0.6}, 2),
        ({"bcd": BOUND, "cd": BOUND, "d": BOUND, "": None}, 3),
    ],
)
def test_how_many_products_can_be_in_16_bits(errors: dict[str, float | None], count: int) -> None:
    measure = Measured(0.0, **errors)
    everything = frozenset("abcd")
    order = groups(*"abcd")
    assert Search(SMALL, measure, Budget(9, 60))._count_in_16_bits(order, everything, BOUND) == count
    assert Search(SMALL, measure, Budget(0, 60))._count_in_16_bits(order, everything, BOUND) == 0
    assert Search(SMALL, measure, Budget(9, 60))._count_in_16_bits([], everything, BOUND) == 0


@pytest.mark.parametrize(
    ("needed", "left", "calls"),
    [
        ("", "", ["bcde", "de", ""]),
        ("d", "d", ["bcde", "de", "", "e", "d"]),
        ("a", "a", ["bcde", "acde", "ae", "a"]),
        ("abcde", "abcde", ["bcde", "acde", "abde", "abce", "abcd"]),
    ],
)
def test_more_groups_are_left_out_after_each_success(needed: str, left: str, calls: list[str]) -> None:
    tried: list[str] = []

    def enough(paths: frozenset[str]) -> bool:
        tried.append("".join(sorted(paths)))
        return paths >= frozenset(needed)

    assert searching._fewer_groups(groups(*"abcde"), enough, Budget(64, 60)) == groups(*left)
    assert tried == calls
    assert searching._fewer_groups(groups(*"ab"), enough, Budget(0, 60)) == groups(*"ab")


@pytest.mark.parametrize(
    ("units", "most", "parts"),
    [
        ("", 3, []),
        ("ab", 1, ["ab"]),
        ("ab", 2, ["a", "b"]),
        ("ab", 3, ["a", "b"]),
        ("abcde", 2, ["ab", "cde"]),
        ("abcde", 3, ["a", "bc", "de"]),
    ],
)
def test_units_in_parts(units: str, most: int, parts: list[str]) -> None:
    assert searching._parts(groups(*units), most) == [groups(*part) for part in parts]


@pytest.mark.parametrize(
    ("error", "calls"),
    [(0.4, ["F", "Fq", "F"]), (0.41, ["F", "Fq", "Fq", "F", "F"])],
)
def test_products_may_use_most_of_the_limit_at_first(error: float, calls: list[str]) -> None:
    """Products use the rest of the limit if no operator between them needs it."""
    given = Candidates(frozenset("F"), [], groups("p", "q"), [], {})
    measure = Measured(F=0.6, Fpq=0.0, Fq=error)
    found = Search(given, measure, Budget(64, 60), lambda _: 0.0).chosen(BOUND)
    assert found == Choice({"q": PRODUCT}, enough=True, order=groups("p", "q"))
    assert measure.calls == ["F", "Fpq", "F", *calls]


def test_a_model_whose_error_is_the_limit_keeps_nothing() -> None:
    measure = Measured(F=BOUND)
    assert Search(SMALL, measure, Budget(64, 60)).chosen(BOUND) == Choice({}, enough=True)
    assert measure.calls == ["F"]
