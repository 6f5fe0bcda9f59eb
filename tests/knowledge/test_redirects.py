"""Tests of renamed and removed rules."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from trtlint.engine.rulebook import load_builtin
from trtlint.knowledge.redirects import Redirect, current, first_id, redirects, redirects_by_word


def test_table_names_rules_that_are_there_and_none_that_is_not_gone() -> None:
    rules = {entry.id: entry.name for entry in load_builtin().entries}
    for each in redirects():
        assert each.because
        assert re.fullmatch(r"[0-9]+(\.[0-9]+){1,2}", each.since)
        assert each.name not in rules.values()
        assert each.id not in rules or each.to == each.id
        assert each.to is None or current(each.to) in rules


def test_chains_lead_to_the_end(redirected: Callable[..., None]) -> None:
    redirected(
        Redirect("ABC101", "first-name", "ABC102", "1.1", "moved"),
        Redirect("ABC102", "second-name", "XYZ101", "1.2", "moved again"),
        Redirect("XYZ101", "third-name", "XYZ101", "1.3", "says more"),
        Redirect("ABC103", "gone-name", None, "1.2", "measured to be wrong"),
        Redirect("ABC104", "joined", "ABC103", "1.1", "said twice"),
    )
    for word in ("ABC101", "abc102", "first-name", "second-name", "third-name"):
        became = redirects_by_word().get(word.lower())
        assert became is not None
        assert became.to == "XYZ101"
    assert "xyz101" not in redirects_by_word()
    assert current("ABC101") == "XYZ101"
    assert first_id("XYZ101") == "ABC101"
    for word in ("ABC103", "ABC104", "joined"):
        became = redirects_by_word().get(word.lower())
        assert became is not None
        assert became.to is None
    assert current("ABC103") == "ABC103"


def test_the_first_id_is_the_oldest(redirected: Callable[..., None]) -> None:
    redirected(
        Redirect("XYZ101", "third-name", "XYZ101", "1.3", "says more"),
        Redirect("ABC101", "first-name", "ABC102", "1.1", "moved"),
        Redirect("ABC103", "joined", "ABC102", "1.1", "said twice"),
        Redirect("ABC102", "second-name", "XYZ101", "1.2", "moved again"),
        Redirect("ABC104", "gone-name", None, "1.2", "measured to be wrong"),
    )
    first = {id_: first_id(id_) for id_ in ("XYZ101", "ABC101", "ABC102", "ABC103", "ABC104", "NEW101")}
    assert first == {
        "XYZ101": "ABC101", "ABC101": "ABC101", "ABC102": "ABC101", "ABC103": "ABC103", "ABC104": "ABC104",
        "NEW101": "NEW101",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("to", "words"),
    [
        ("XYZ101", "abc101 is XYZ101 since trtlint 1.2: moved"),
        (None, "abc101 was removed in trtlint 1.2: moved"),
    ],
)
def test_a_change_in_words(to: str | None, words: str) -> None:
    assert Redirect("ABC101", "first-name", to, "1.2", "moved").words("abc101") == words


def test_a_ring_ends(redirected: Callable[..., None]) -> None:
    redirected(
        Redirect("ABC101", "first-name", "ABC102", "1.1", "moved"),
        Redirect("ABC102", "second-name", "ABC101", "1.2", "moved back"),
    )
    assert current("ABC101") in ("ABC101", "ABC102")
