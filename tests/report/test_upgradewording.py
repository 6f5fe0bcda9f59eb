"""Tests of sentences in the upgrade report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from tests.report.handmade import CLIP, SCALE
from tests.report.test_upgradesummary import line, listed, upgrade
from trtlint.engine.finding import Finding, Row
from trtlint.engine.upgrade import ReleaseAssessment, SafestRelease, Upgrade, UpgradeFinding, UpgradeStep
from trtlint.knowledge.releases import minors
from trtlint.report.upgradewording import (
    asks,
    newest_words,
    places,
    reasons,
    risks,
    since,
    some,
    still,
    when,
    why,
)

NAMES = ("10.5", "10.6", "10.7", "10.8")
LINES = tuple(line(name) for name in NAMES)
ERROR = replace(SCALE, rule="ERR1", name="first-error")
OTHER = replace(SCALE, rule="ERR2", name="second-error")
WARNING = replace(SCALE, rule="WRN1", name="a-warning", severity="warning")
NOTE = replace(SCALE, rule="NTE1", name="a-note", severity="note")


def chosen(lines: Sequence[ReleaseAssessment], best: int, *findings: UpgradeFinding, **more: Any) -> Upgrade:
    """Return the upgrade of a model with a safest version, and the additions at the range ends."""
    given: dict[str, Any] = {"equals": (best,), "last_adds": (), "first_adds": (), **more}
    return replace(upgrade("m.onnx", tuple(lines), *findings), safest=SafestRelease(best, **given))


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], "none"),
        (["a"], "a"),
        (["a", "b", "c"], "a, b, c"),
        (["a", "b", "c", "d", "e"], "a, b, c and 2 more"),
    ],
)
def test_the_first_names(names: Sequence[str], words: str) -> None:
    assert some(names) == words


def test_the_newest_version() -> None:
    known = minors("tensorrt")
    assert newest_words(upgrade("m", (line(known[0]), line(known[-1])))) == "the newest"
    assert newest_words(upgrade("m", (line(known[-1]), line(known[-2])))) == "the newest of the range"


@pytest.mark.parametrize(
    ("equals", "best", "words"),
    [
        (
            (0, 1, 2, 3),
            line("10.8"),
            "the newest of the range: no error or warning known for this graph, the same as for every "
            "version of the range",
        ),
        (
            (3,),
            line("10.8", error=1, warning=2, note=3),
            "1 error and 2 warnings known for this graph, fewer than for any other version of the range",
        ),
        (
            (1, 3),
            line("10.8", error=0, warning=1),
            "1 warning known for this graph, the same as for 10.6; 10.8 is the newest of these versions",
        ),
        (
            (0, 1, 3),
            line("10.8", note=1),
            "no error or warning known for this graph, the same as for 10.5 to 10.6; 10.8 is "
            "the newest of these versions",
        ),
    ],
)
def test_the_reason_for_the_safest_version(
    equals: Sequence[int], best: ReleaseAssessment, words: str
) -> None:
    assert why(chosen((*LINES[:3], best), 3, equals=tuple(equals))) == words


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (LINES, "10.5 to 10.8 none"),
        (
            (line("1", error=1), line("2", error=1, note=4), line("3", error=1, warning=2)),
            "1 to 2 1 error; 3 1 error, 2 warnings",
        ),
        (
            (line("1", error=0), line("2", supported=False, error=1), line("3", supported=False), line("4")),
            "1 none; 2 to 3 GPU not supported; 4 none",
        ),
    ],
)
def test_risks_of_versions(lines: Sequence[ReleaseAssessment], words: str) -> None:
    assert risks(chosen(lines, 0)) == f"known risks: {words}"


OLD, NEW = line("1", supported=False), line("4", supported=False)
GRAPH = (
    listed(ERROR, (0,), "graph"),
    listed(OTHER, (3,), "graph"),
    listed(WARNING, (3,), "graph"),
    listed(replace(WARNING, message="again"), (3,), "graph"),
)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (chosen(LINES, 1), []),
        (
            chosen(LINES, 1, *GRAPH, first_adds=(0,), last_adds=(1, 2, 3)),
            [
                "10.5 also has ERR1 first-error",
                "10.8 also has ERR2 second-error, WRN1 a-warning",
            ],
        ),
        (chosen(LINES, 0, *GRAPH, first_adds=(0,)), []),
        (chosen(LINES, 3, *GRAPH, last_adds=(1,)), []),
        (
            chosen((OLD, *LINES[1:3], NEW), 1, *GRAPH, last_adds=(1,)),
            ["1 does not support this GPU", "4 does not support this GPU"],
        ),
    ],
)  # fmt: skip
def test_reasons_against_the_ends_of_the_range(found: Upgrade, words: Sequence[str]) -> None:
    assert list(reasons(found)) == words


ALL = (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (
            listed(ERROR, ALL, "graph"),
            ["every version of the range has ERR1 first-error; change the graph first"],
        ),
        (listed(ERROR, ALL, "command"), []),
        (listed(WARNING, ALL, "graph"), []),
        (listed(ERROR, (1, 2), "graph"), ["avoid 10.6 to 10.7: ERR1 first-error"]),
        (listed(ERROR, (2,), "graph"), ["avoid 10.7: ERR1 first-error"]),
        (listed(replace(ERROR, confidence="medium"), (2,), "graph"), ["avoid 10.7: ERR1 first-error"]),
        (listed(replace(ERROR, confidence="low"), (2,), "graph"), []),
        (listed(ERROR, (0, 1), "graph"), []),
        (listed(ERROR, (2, 3), "graph"), []),
        (listed(ERROR, (2,), "code"), []),
        (listed(WARNING, (2,), "graph"), []),
    ],
)  # fmt: skip
def test_reasons_against_versions_in_the_range(item: UpgradeFinding, words: Sequence[str]) -> None:
    assert list(reasons(chosen(LINES, 1, item))) == words


def test_errors_of_every_version_are_named_once() -> None:
    again = listed(replace(ERROR, message="again"), ALL, "graph")
    found = chosen(LINES, 1, listed(ERROR, ALL, "graph"), again, listed(OTHER, ALL, "graph"))
    assert list(reasons(found)) == [
        "every version of the range has ERR1 first-error, ERR2 second-error; change the graph first"
    ]


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (listed(ERROR, (1,), "command"), ["for this upgrade, change the build command: ERR1 first-error"]),
        (listed(WARNING, (1, 2), "code"), ["for this upgrade, change the code: WRN1 a-warning"]),
        (listed(NOTE, (1,), "code"), []),
        (listed(ERROR, (1,), "graph"), []),
        (listed(ERROR, (2, 3), "command"), []),
        (listed(ERROR, (0, 1), "command"), []),
    ],
)
def test_changes_that_the_safest_version_requires(item: UpgradeFinding, words: Sequence[str]) -> None:
    assert list(asks(chosen(LINES, 1, item))) == words


def test_the_command_is_changed_before_the_code() -> None:
    items = [listed(finding, (1,), "code") for finding in (ERROR, OTHER, ERROR)]
    assert list(asks(chosen(LINES, 1, *items, listed(WARNING, (1,), "command")))) == [
        "for this upgrade, change the build command: WRN1 a-warning",
        "for this upgrade, change the code: ERR1 first-error, ERR2 second-error",
    ]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ((), ""),
        ((0, 1, 2, 3), "all versions"),
        ((0,), "10.5"),
        ((3,), "10.8"),
        ((2, 3), "from 10.7"),
        ((0, 1), "10.5 to 10.6"),
        ((0, 1, 2), "10.5 to 10.7"),
        ((0, 2), "10.5, 10.7"),
        ((0, 1, 3), "10.5 to 10.6, 10.8"),
        ((0, 2, 3), "10.5, from 10.7"),
    ],
)
def test_versions_with_a_finding(lines: Sequence[int], words: str) -> None:
    assert when(lines, NAMES) == words


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ((0, 1, 2, 3), "all versions, already on 10.5"),
        ((0, 1), "10.5 to 10.6, already on 10.5"),
        ((0,), "10.5"),
        ((1, 2), "10.6 to 10.7"),
    ],
)
def test_a_finding_of_the_current_version(lines: tuple[int, ...], words: str) -> None:
    assert since(listed(ERROR, lines), NAMES) == words


def test_versions_without_changes() -> None:
    steps = tuple(
        UpgradeStep(before, after, (), (at,))
        for at, (before, after) in enumerate([("1", "2"), ("2", "3"), ("3", "4"), ("4", "5"), ("5", "6")])
    )
    found = upgrade("m", LINES, steps=steps)
    assert still(found, steps) == []
    assert still(found, ()) == ["1 to 6"]
    assert still(found, steps[2:3]) == ["1 to 3", "4 to 6"]
    assert still(found, (steps[0], steps[4])) == ["2 to 5"]
    assert still(found, (steps[1], steps[3])) == ["1 to 2", "3 to 4", "5 to 6"]


def at(*names: str, details: Sequence[str] = ()) -> Finding:
    """Return a finding at nodes. The first node has rows with these details."""
    site = CLIP.sites[0]
    rows = tuple(Row("n", "Op", detail=detail) for detail in details)
    return replace(
        CLIP,
        sites=tuple(replace(site, node=name, rows=rows if not n else ()) for n, name in enumerate(names)),
    )


@pytest.mark.parametrize(
    ("finding", "graph", "code"),
    [
        (at(), "", ""),
        (at("n1"), "n1", ""),
        (at("", ""), "", ""),
        (at("n1", "n1"), "n1 (2 places)", ""),
        (at("a", "b", "c"), "a, b, c (3 places)", ""),
        (at("a", "b", "c", "d"), "a, b, c and 1 more (4 places)", ""),
        (at("a", details=("x", "", "y", "x")), "a", "x, y"),
        (at("a", "b", details=("x",)), "a, b (2 places)", "x (2 places)"),
        (replace(CLIP, sites=(replace(CLIP.sites[0], module="m.block"),)), "m.block", "0 to 6"),
    ],
)
def test_places_of_a_finding(finding: Finding, graph: str, code: str) -> None:
    assert places(listed(finding, (0,), "graph")) == graph
    assert places(listed(finding, (0,), "code")) == code
