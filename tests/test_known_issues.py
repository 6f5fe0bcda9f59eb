"""Tests of the map of known issues: its rules exist, and it covers all collected issues."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.known_issues import MAP, Verdict, counts, verdict
from trtlint.engine.rulebook import load_builtin

ISSUES: dict[str, list[dict[str, Any]]] = yaml.safe_load(MAP.read_text(encoding="utf-8"))
LEAST = 190
"""Issues that rules cite."""


def test_every_rule_that_is_named_is_there() -> None:
    known = {entry.id for entry in load_builtin().entries}
    named = {rule for rows in ISSUES.values() for row in rows for rule in row.get("rules", ())}
    assert named - known == set()


def test_each_issue_has_one_verdict_and_its_reason() -> None:
    for source, rows in ISSUES.items():
        assert len({row["id"] for row in rows}) == len(rows), source
        for row in rows:
            assert len(row.keys() & {"rules", "open", "undecidable"}) == 1, row
            assert row.keys() <= {"id", "rules", "left", "open", "undecidable"}, row
            assert "left" not in row or row["rules"], row
            assert all(row[key] for key in row), row


def test_most_of_them_are_covered() -> None:
    every = [row for rows in ISSUES.values() for row in rows]
    assert counts(every)["covered"] >= LEAST


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"id": "a", "rules": ["ACC101"]}, "covered"),
        ({"id": "a", "rules": ["ACC101"], "left": "BF16"}, "partly"),
        ({"id": "a", "open": "rare"}, "open"),
        ({"id": "a", "undecidable": "data"}, "undecidable"),
    ],
)
def test_verdicts(row: dict[str, Any], expected: Verdict) -> None:
    assert verdict(row) == expected


@pytest.mark.parametrize("source", ["known", "field"])
def test_no_collected_issue_is_missing(shared: Path, source: str) -> None:
    text = (shared / "knowledge" / f"{source}-issues.yaml").read_text(encoding="utf-8")
    loaded = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    rows = loaded if isinstance(loaded, list) else next(v for v in loaded.values() if isinstance(v, list))
    assert [row["id"] for row in ISSUES[source]] == [row["id"] for row in rows]
