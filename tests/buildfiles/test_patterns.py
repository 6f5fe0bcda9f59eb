"""Tests of the message table: candidates by prefix and by content, and matches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from trtlint.buildfiles import patterns
from trtlint.buildfiles.patterns import KEY, LogPattern, Table, pattern_names, table

Found = tuple[tuple[str, dict[str, str]], ...]


def entry(name: str, regex: str = "", severity: str = "", **fields: Any) -> LogPattern:
    return LogPattern(name, "any", severity, regex or name, "", "", **fields)


def names(found: Any) -> Found:
    """Return the names and the groups of the entries that match."""
    return tuple((pattern.name, groups) for pattern, groups in found)


def test_beginnings_that_identify_an_entry() -> None:
    """A prefix does not identify an entry with a shared prefix or an unanchored expression."""
    made = Table(
        (
            entry("long", starts=("Total time", "Totals: ")),
            entry("longer", starts=("Total time of all",)),
            entry("other", starts=("Total memory",)),
            entry("searched", starts=("Timing ",), decisive=False),
        )
    )
    rows = {
        key: [(literal, pattern.name, alone) for literal, pattern, alone in found]
        for key, found in made.by_key.items()
    }
    assert rows == {
        b"Total ": [
            (b"Total time", "long", False),
            (b"Total time of all", "longer", False),
            (b"Total memory", "other", True),
        ],
        b"Totals": [(b"Totals: ", "long", True)],
        b"Timing": [(b"Timing ", "searched", False)],
    }


def test_a_beginning_has_a_minimum_length() -> None:
    assert Table((entry("a", starts=("x" * KEY,)),)).by_key.keys() == {b"x" * KEY}
    with pytest.raises(ValueError, match=r"a: b'xxxxx' is shorter than 6 bytes"):
        Table((entry("a", starts=("x" * (KEY - 1),)),))


@pytest.mark.parametrize(
    ("severity", "quiet"), [("", True), ("V", True), ("IW", True), ("W", False), ("EF", False)]
)
def test_entries_of_low_severity(severity: str, quiet: bool) -> None:
    made = Table((entry("a", severity=severity, starts=("Starts",)), entry("b", severity="E")))
    pattern = made.patterns[0]
    assert made.quiet == ({b"Starts": [(b"Starts", pattern, True)]} if quiet else {})
    assert made.by_key == {b"Starts": [(b"Starts", pattern, True)]}
    assert made.by_name == {"a": pattern, "b": made.patterns[1]}
    assert (made.named("a"), made.named("other")) == (pattern, None)


LOUD = Table(
    (
        entry("inside", r"with (?P<what>\w+)(?: and (?P<more>\w+))?", "E", contains=("with ", "and")),
        entry("begins", r"^Begins (?P<what>\w+)", "W", starts=("Begins ",)),
        entry("outcome", "failed", "E", contains=("failed",), says="cause"),
        entry("skip", "failed", "E", contains=("failed",), says="skipped"),
        entry("bare", "failed", "EF", contains=("failed",), bare=True),
    )
)


@pytest.mark.parametrize(
    ("message", "severity", "found"),
    [
        ("Begins x with y", "", (("begins", {"what": "x"}), ("inside", {"what": "y"}))),
        ("It Begins x", "", ()),
        ("Begins", "W", ()),
        ("a with b and c", "W", (("inside", {"what": "b", "more": "c"}),)),
        ("it failed", "E", (("outcome", {}), ("skip", {}), ("bare", {}))),
        ("it failed", "F", (("skip", {}), ("bare", {}))),
        ("it failed", "W", (("skip", {}),)),
        ("Begins x", "E", (("begins", {"what": "x"}),)),
        ("nothing", "W", ()),
    ],
)
def test_entries_of_a_message(message: str, severity: str, found: Found) -> None:
    for _ in range(2):  # the answers are stored
        assert names(LOUD.loud(message, severity)) == found


def test_the_number_of_stored_answers_is_limited() -> None:
    made = Table((entry("a", r"\d+$", contains=("number",)),))
    for length in (999, 1000):
        text = f"{'x' * (length - 9)} number 1"
        assert names(made.loud(text, "W")) == (("a", {}),)
        assert len(made._known) == 1
    for number in range(499):
        made.loud(f"number {number}", "W")
    assert len(made._known) == 500
    assert names(made.loud("number x", "W")) == ()
    assert list(made._known) == ["number x"]


BARE = Table(
    (
        entry("hint", contains=("error",), bare=True, tells="hint"),
        entry("known", r"error (?P<code>\d+)", contains=("error ",), starts=("An error",), bare=True),
        entry("later", "error 7", contains=("error 7",), bare=True, tells="hint"),
        entry("printed", "error", contains=("error",)),
    )
)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("an error", ()),
        ("hint: error", (("hint", {}),)),
        ("hint: error 5", (("hint", {}), ("known", {"code": "5"}))),
        ("An error 7", (("known", {"code": "7"}),)),
        ("nothing", ()),
    ],
)
def test_entries_of_a_line_without_a_prefix(line: str, found: Found) -> None:
    """An entry that only suggests a reason yields to an earlier entry."""
    assert names(BARE.bare(line)) == found


def test_long_messages_are_searched_around_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "SEARCHED", 10)
    monkeypatch.setattr(patterns, "_BEFORE", 4)
    near, whole = entry("a", "[abc]"), entry("a", "[abc]", whole=True)
    for text, at, place in (
        ("xxxxxxxxxa", 9, 9),  # as long as the limit
        ("xxxxxxxxxxa", 0, None),
        ("xxxxxxxxxax", 0, 9),
        ("xxxxxxxxxxa", 4, None),
        ("xxxxxxxxxxa", 5, 10),
        ("axxxxxxxxxxxxxxb", 5, None),
        ("xaxxxxxxxxxxxxxb", 5, 1),
    ):
        found = near.search(text, at)
        assert (None if found is None else found.start()) == place
        found = whole.search(text, at)
        assert found is not None
        assert found.start() == min(text.find(letter) % 99 for letter in "ab")


def test_the_stored_table_is_that_of_the_file() -> None:
    rows = yaml.load(Path(patterns.__file__).with_name("patterns.yaml").read_text("utf-8"), yaml.CSafeLoader)
    found = table().patterns
    assert (*(pattern.name for pattern in found), "other") == pattern_names()
    assert {pattern.keep for row, pattern in zip(rows, found, strict=True) if "keep" not in row} == {100}
    for row, pattern in zip(rows, found, strict=True):
        stored = {name: getattr(pattern, name) for name in row}
        assert {name: list(x) if isinstance(x, tuple) else x for name, x in stored.items()} == row
