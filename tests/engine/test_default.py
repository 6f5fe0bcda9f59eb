"""Tests of default rules and default advice, which apply if no others do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.rules import make_rule
from tests.facts.builds import facts_of_build
from trtlint.engine.evaluate import evaluate
from trtlint.engine.rule import Rule, RuleError
from trtlint.target.target import Target

FAILED = "[E] Error Code 2: Internal Error (Assertion x failed.)\n"
GIVEN_UP = "[E] Engine could not be created from network\n"
LAST = {"id": "TST002", "name": "of-last", "find": "log_message", "severity": "error", "default": "true"}
OTHER = {"id": "TST001", "name": "of-other", "find": "log_message", "severity": "error", "message": "m"}


def advice_of(rule: Rule, log: str = FAILED, target: Target | None = None) -> tuple[str, ...]:
    report = evaluate([rule], facts_of_build(log=log), target or Target())
    return report.findings[0].advice


@pytest.mark.parametrize(
    ("entries", "shown"),
    [
        ('{where: "line > 0", do: one}, {default: true, do: two}', ("one",)),
        ('{where: "line < 0", do: one}, {default: true, do: two}', ("two",)),
        # Only entries before it count, and the first default ends the chain.
        ('{default: true, do: one}, {where: "line > 0", do: two}', ("one", "two")),
        ("{default: true, do: one}, {default: true, do: two}", ("one",)),
        ('{default: true, where: "line < 0", do: one}, {default: true, do: two}', ("two",)),
        ("{do: one}, {do: two}, {default: false, do: three}", ("one", "two", "three")),
    ],
)
def test_default_advice(tmp_path: Path, entries: str, shown: tuple[str, ...]) -> None:
    rule = make_rule(tmp_path, **{**OTHER, "where": "stops", "advice": f"[{entries}]"})
    assert advice_of(rule) == shown


@pytest.mark.parametrize(
    ("entries", "shown"),
    [
        ("{do: Use one.}, {do: Or use two.}", ("Use one.", "Or use two.")),
        (
            '{where: "line < 0", do: Use one.}, {do: Or use two.}, {do: Or use three.}',
            ("Use two.", "Or use three."),
        ),
        ("{do: Orders matter.}", ("Orders matter.",)),
        ('{tensorrt: "<10.9", do: Or use two.}', ("TensorRT up to 10.8: Use two.",)),
    ],
)
def test_the_first_advice_is_no_alternative(tmp_path: Path, entries: str, shown: tuple[str, ...]) -> None:
    rule = make_rule(tmp_path, **{**OTHER, "where": "stops", "advice": f"[{entries}]"})
    assert advice_of(rule) == shown


def test_advice_for_some_versions_is_not_sure_without_a_version(tmp_path: Path) -> None:
    advice = '[{tensorrt: "<10.9", do: one}, {default: true, do: two}]'
    rule = make_rule(tmp_path, **{**OTHER, "where": "stops", "advice": advice})
    assert advice_of(rule) == ("TensorRT up to 10.8: one", "two")
    assert advice_of(rule, target=Target(version="10.8")) == ("one",)
    assert advice_of(rule, target=Target(version="10.9")) == ("two",)


def test_references_of_the_shown_advice_come_first(tmp_path: Path) -> None:
    own, other = "https://example.org/own", "https://example.org/other"
    advice = f'[{{where: "line < 0", do: one, see: [{other}]}}, {{do: two, see: [{own}]}}]'
    rule = make_rule(tmp_path, **{**OTHER, "where": "stops", "advice": advice})
    assert rule.references[-2:] == (other, own)
    found = evaluate([rule], facts_of_build(log=FAILED), Target()).findings[0]
    assert found.references == (own, *rule.references[:-1])


def fired(rules: list[Rule], log: str) -> list[str]:
    return [finding.rule for finding in evaluate(rules, facts_of_build(log=log), Target()).findings]


def test_default_rule_skips_lines_of_other_rules(tmp_path: Path) -> None:
    last = make_rule(tmp_path, **LAST, message="m", where="stops")
    other = make_rule(tmp_path, **OTHER, where='name == "api_error"')
    elsewhere = make_rule(tmp_path, **{**OTHER, "severity": "note"}, where='name == "run_failed"')
    assert fired([last], FAILED + GIVEN_UP) == ["TST002"]
    assert fired([last, other], FAILED + GIVEN_UP) == ["TST001"]
    assert sorted(fired([last, elsewhere], FAILED + GIVEN_UP)) == ["TST001", "TST002"]


def test_default_rule_reports_failures_without_an_error(tmp_path: Path) -> None:
    last = make_rule(tmp_path, **LAST, message="m", where="line < 0")
    other = make_rule(tmp_path, **{**OTHER, "severity": "note"}, where='name == "api_error"')
    assert sorted(fired([last, other], FAILED + GIVEN_UP)) == ["TST001", "TST002"]


def test_default_is_for_lines_of_logs(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="'default' is only allowed together with 'find: log_message'"):
        make_rule(tmp_path, default="true")
    with pytest.raises(RuleError, match="default: unknown 'yes'"):
        make_rule(tmp_path, **{**OTHER, "advice": "[{do: one, default: yes}]"})
    with pytest.raises(RuleError, match=r"reference: 'a\.b' is not a https URL"):
        make_rule(tmp_path, **{**OTHER, "advice": "[{do: one, see: [a.b]}]"})
