"""Tests of the difference between two scans, in numbers and words."""

from __future__ import annotations

import json

from msgspec.structs import asdict, replace

from trtlint.report import trend
from trtlint.report.rows import ReportRow, Status
from trtlint.report.trend import Trend, as_json, as_text, compare


def row(
    model: str, rule: str = "", severity: str = "error", status: Status = "found", print_: str = "p"
) -> ReportRow:
    """Return a row of a scan."""
    return ReportRow(
        model, "r1", "TensorRT 10.8", status, rule, f"name-{rule}", severity, "high", print_, 1, "m"
    )


def clean(model: str, status: Status = "clean", revision: str = "r1") -> ReportRow:
    """Return the row of a model without findings."""
    return ReportRow(model, revision, "TensorRT 10.8", status)


EARLIER = (
    row("a", "ACC1"),
    row("a", "ACC2", "warning"),
    row("a", "ACC2", "warning", print_="q"),
    row("a", "BLD1", status="suppressed"),
    row("b", "ACC1"),
    clean("c"),
    clean("d", "unreadable"),
    row("e", "ACC1"),
    row("g", "ACC1"),
    clean("h", revision=""),
)
LATER = (
    row("a", "ACC1"),
    row("a", "BLD1", "note"),
    row("a", "ACC2", "warning", print_="s"),
    clean("b", "skipped"),
    replace(row("c", "PORT1", "note"), revision="r2"),
    row("d", "ACC1"),
    row("f", "ACC3", "warning"),
    row("g", "ACC1", status="caveat"),
    clean("h"),
)


def shown(rows: tuple[ReportRow, ...]) -> list[tuple[str, str, str]]:
    """Return the identities of rows."""
    return [(each.model, each.rule, each.fingerprint) for each in rows]


def test_differences_of_two_scans() -> None:
    found = compare(EARLIER, LATER)
    assert shown(found.new) == [("a", "BLD1", "p"), ("a", "ACC2", "s"), ("c", "PORT1", "p")]
    assert shown(found.gone) == [("a", "ACC2", "p"), ("a", "ACC2", "q")]
    assert shown(found.still) == [("a", "ACC1", "p")]
    assert shown(found.added) == [("d", "ACC1", "p"), ("f", "ACC3", "p")]
    assert found.models == {"both": 6, "added": 1, "removed": 1, "changed": 1, "unreadable": 1}
    assert list(found.counts()) == [
        ("ACC1", 1, 0, 1),
        ("ACC2", 1, 2, 0),
        ("ACC3", 1, 0, 0),
        ("BLD1", 1, 0, 0),
        ("PORT1", 1, 0, 0),
    ]


def test_rules_are_counted_in_alphabetical_order() -> None:
    rows = tuple(row("a", rule) for rule in ("NEW", "GONE", "STILL", "ADDED"))
    found = Trend((rows[0], rows[0]), rows[1:2], rows[2:3], (rows[3], rows[0], rows[1]), {})
    assert list(found.counts()) == [
        ("ADDED", 1, 0, 0),
        ("GONE", 1, 1, 0),
        ("NEW", 3, 0, 0),
        ("STILL", 0, 0, 1),
    ]
    assert list(Trend((), (), (), (), {}).counts()) == []
    one = rows[:1]
    for trend_, counts in (
        (Trend(one, (), (), (), {}), (1, 0, 0)),
        (Trend((), one, (), (), {}), (0, 1, 0)),
        (Trend((), (), one, (), {}), (0, 0, 1)),
        (Trend((), (), (), one, {}), (1, 0, 0)),
    ):
        assert list(trend_.counts()) == [("NEW", *counts)]


def test_the_identity_of_a_finding() -> None:
    one = row("a", "ACC1")
    for other in (
        replace(one, target="TensorRT 10.9"),
        replace(one, rule="ACC2"),
        replace(one, fingerprint="q"),
    ):
        found = compare([one], [other])
        assert (found.new, found.gone, found.still) == ((other,), (one,), ())
    other = replace(one, message="other", severity="note", places=9, revision="r2")
    assert compare([one], [other]).still == (other,)


def test_the_text() -> None:
    assert list(as_text(compare(EARLIER, LATER))) == [
        "6 models in both scans; 1 changed, 1 added, 1 removed, 1 unreadable",
        "5 new, 2 gone, 1 still there",
        "",
        "rule           new    gone   still",
        "ACC1             1       0       1",
        "ACC2             1       2       0",
        "ACC3             1       0       0",
        "BLD1             1       0       0",
        "PORT1            1       0       0",
        "",
        "new error[ACC1] name-ACC1: d  (TensorRT 10.8)",
        "new warning[ACC2] name-ACC2: a  (TensorRT 10.8)",
        "new warning[ACC3] name-ACC3: f  (TensorRT 10.8)",
        "new note[BLD1] name-BLD1: a  (TensorRT 10.8)",
        "new note[PORT1] name-PORT1: c  (TensorRT 10.8)",
    ]
    assert list(as_text(compare([clean("a")], [clean("a")]))) == [
        "1 model in both scans; 0 changed, 0 added, 0 removed, 0 unreadable",
        "0 new, 0 gone, 0 still there",
    ]


def test_many_new_findings_are_counted() -> None:
    rows = tuple(row(f"m{at:03}", "ACC1") for at in range(trend._SHOWN + 2))
    empty = {"both": 0, "added": 0, "removed": 0, "changed": 0, "unreadable": 0}
    lines = list(as_text(Trend(rows, (), (), (), empty)))
    assert lines[-2:] == ["new error[ACC1] name-ACC1: m039  (TensorRT 10.8)", "and 2 more new findings"]
    lines = list(as_text(Trend(rows[:40], (), (), (), empty)))
    assert lines[-1] == "new error[ACC1] name-ACC1: m039  (TensorRT 10.8)"
    unknown = replace(rows[0], severity="other", model="z")
    assert "z" in list(as_text(Trend((unknown, *rows[:2]), (), (), (), empty)))[-1]


def test_the_document() -> None:
    found = compare(EARLIER, LATER)
    document = json.loads(as_json(found))
    assert list(document) == ["schema", "models", "rules", "still", "new", "gone", "added"]
    assert (document["schema"], document["models"], document["still"]) == ("trtlint.trend/1", found.models, 1)
    assert document["rules"][1] == {"rule": "ACC2", "new": 1, "gone": 2, "still": 0}
    assert len(document["rules"]) == 5
    for name in ("new", "gone", "added"):
        assert document[name] == [asdict(each) for each in getattr(found, name)]
