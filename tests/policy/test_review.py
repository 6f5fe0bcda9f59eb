"""Tests of the review: from rule findings to the findings of a team."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.report import handmade
from trtlint.engine.rulebook import load_builtin
from trtlint.policy import suppression
from trtlint.policy.review import ApplicableRules, Policy, Review
from trtlint.target.target import Target

MODEL = Path("m.onnx")


def test_findings_of_one_severity_are_in_the_order_of_their_rules() -> None:
    late, early = (replace(handmade.SCALE, rule=rule) for rule in ("T2", "T1"))
    report = replace(handmade.clean_model(), findings=(late, early))
    (reviewed,) = Review().apply(MODEL, [report], Policy(severity=(("ALL", "note"),)), ApplicableRules())
    assert [(each.rule, each.severity) for each in reviewed.findings] == [("T1", "note"), ("T2", "note")]


@pytest.mark.parametrize("own", [True, False])
def test_a_model_that_suppresses_nothing_has_no_note_of_that(own: bool) -> None:
    (reviewed,) = Review().apply(MODEL, [handmade.clean_model()], Policy(own=own), ApplicableRules())
    assert reviewed.notes == handmade.clean_model().notes


def test_a_rule_that_may_be_about_an_unknown_version_ran() -> None:
    entries = [entry for entry in load_builtin().entries if entry.id == "ACC102"]
    for version, ran in ((None, ["ACC102"]), ("10.7", ["ACC102"]), ("10.8", [])):
        assert [name.id for name in ApplicableRules(entries, [Target(version=version)]).names] == ran


def test_a_model_suppresses_by_a_thousand_entries_at_most() -> None:
    row = {"rule": "ACC102", "reason": "r"}
    for count in (1000, 1001):
        report = replace(handmade.clean_model(), suppress=json.dumps([row] * count))
        own, refused = suppression.written_in(report)
        assert (len(own), refused is None) == ((1000, True) if count == 1000 else (0, False))


def test_a_reason_is_one_line() -> None:
    table = {"rule": "ACC102", "reason": " measured:\n  no  loss "}
    found = suppression.Acceptance.of(table, "model", "m.onnx")
    assert found.suppression.reason == "measured: no loss"
