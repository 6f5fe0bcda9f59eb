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
)


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
    found = search(ALL, lambda paths: needed <= paths, Budget(64, 60))
    assert (found.kept, found.enough) == (kept, True)


def test_what_nothing_helps_is_said() -> None:
    assert not search(ALL, lambda _: False, Budget(64, 60)).enough


def test_operators_of_a_group_stay_together() -> None:
    assert grouped("abcd", [frozenset("bd")]) == [frozenset("a"), frozenset("bd"), frozenset("c")]
    assert connected([frozenset("a"), frozenset("b"), frozenset("c")], [("a", "c"), ("b", "x")]) == [
        frozenset("ac"),
        frozenset("b"),
    ]
