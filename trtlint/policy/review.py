"""Apply a team's settings to findings: severities, suppressions, baseline, lowest confidence.

No model is read, so the settings can be applied to cached reports and to reports from other processes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from functools import cached_property
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from trtlint.engine.finding import (
    CONFIDENCES,
    SEVERITIES,
    SUPPRESS_KEY,
    Confidence,
    Finding,
    IncompleteSearch,
    ModelReport,
    Severity,
)
from trtlint.engine.rulebook import RuleEntry
from trtlint.policy import suppression
from trtlint.policy.baseline import Baseline
from trtlint.policy.selection import RuleName, SelectableRule, most_specific, outdated
from trtlint.policy.suppression import Acceptance
from trtlint.target.target import Target


class ApplicableRules:
    """The rules of a run that may apply to at least one of the targets.

    The rules are loaded only when a suppression or a baseline needs them, because loading takes time.

    Args:
        entries: the rules that ran.
        targets: the targets of the run.
    """

    def __init__(self, entries: Sequence[RuleEntry] = (), targets: Sequence[Target] = ()) -> None:
        self._entries = entries
        self._targets = targets

    @cached_property
    def names(self) -> tuple[RuleName, ...]:
        """Return the names and ids of the rules, for comparison with selectors."""
        from trtlint.engine.applying import version_truth

        rules = [entry.read() for entry in self._entries]
        return names(
            rule for rule in rules if any(version_truth(rule, t) is not False for t in self._targets)
        )


class Policy(Struct, frozen=True):
    """Team settings for one model.

    Attributes:
        severity: pairs of a rule selector and a severity. The most specific selector for a rule applies. If
            several selectors are equally specific, the last one applies.
        min_confidence: lowest confidence of shown findings. Findings of lower confidence are only counted.
        suppress: suppressions of the configuration that apply to the model.
        baseline: known findings; None if there is no baseline.
        known: the names of all rules.
        own: true to use the suppressions in the metadata of the model; false with ``--isolated``.
    """

    severity: tuple[tuple[str, Severity], ...] = ()
    min_confidence: Confidence = "low"
    suppress: tuple[Acceptance, ...] = ()
    baseline: Baseline | None = None
    known: tuple[RuleName, ...] = ()
    own: bool = True


def names(rules: Iterable[SelectableRule]) -> tuple[RuleName, ...]:
    """Return the names of rules, for comparison with selectors."""
    return tuple(map(RuleName.of, rules))


class Review:
    """Applies the policy to all models of a run, and records the suppressions that were used.

    Args:
        today: date for the comparison with expiry dates; by default the current date.
        recording: true to add all findings to the baseline, instead of comparing findings with the baseline.
    """

    def __init__(self, today: date | None = None, *, recording: bool = False) -> None:
        self._today = today or date.today()
        self._recording = recording
        self._used: Counter[Acceptance] = Counter()
        self._ran: dict[Acceptance, dict[RuleName, None]] = {}
        self._known: dict[RuleName, None] = {}

    def apply(
        self, model: Path, reports: Sequence[ModelReport], policy: Policy, ran: ApplicableRules
    ) -> tuple[ModelReport, ...]:
        """Apply the policy to the reports of one model. There is one report for each target.

        Args:
            model: the model.
            reports: the reports of the model.
            policy: the policy for the model.
            ran: the rules that ran.  Baseline entries and suppressions of rules that did not run are not
                reported as unused.
        """
        graded = [_graded(report, policy) for report in reports]
        reviewed = self._suppressed(graded, policy, ran)
        if policy.baseline is not None:
            if self._recording:
                reviewed = policy.baseline.record(model, reviewed)
            else:
                # After an incomplete search, a finding can be missing although its problem still exists.
                partly = {each.rule for report in reports for each in report.unsearched}
                whole = frozenset(rule.id for rule in ran.names) - partly
                known = frozenset(rule.id for rule in policy.known)
                reviewed = policy.baseline.apply(model, reviewed, whole, known)
        return tuple(_withheld(report, policy.min_confidence) for report in reviewed)

    def notes(self) -> tuple[str, ...]:
        """Return notes about configured suppressions that have expired or match no finding of any model."""
        return tuple(
            f"{entry.suppression.where}: {note}"
            for entry in sorted(self._ran, key=_place)
            for note in suppression.notes([entry], self._used, self._ran[entry], self._known, self._today)
        )

    def _suppressed(
        self, reports: Sequence[ModelReport], policy: Policy, ran: ApplicableRules
    ) -> tuple[ModelReport, ...]:
        """Apply the suppressions in the configuration and in the metadata of the model."""
        own, rejected = suppression.written_in(reports[0]) if reports else ((), None)
        if own and not policy.own:
            own, rejected = (), f"the metadata {SUPPRESS_KEY} is ignored: --isolated is set"
        elif own and not suppression.comparable(own, reports):
            reason = "there are too many suppressions, or a glob is too long"
            own, rejected = (), f"the metadata {SUPPRESS_KEY} is ignored: {reason}"
        used: Counter[Acceptance] = Counter()
        reviewed = []
        for report in reports:
            entries = (*policy.suppress, *own)
            changed, matched = suppression.apply(report, entries, self._today, policy.known)
            used += matched
            reviewed.append(changed)
        notes = [rejected] if rejected else []
        if not any(report.errors or report.skipped for report in reports):
            self._known.update(dict.fromkeys(policy.known))
            for entry in policy.suppress:
                self._used[entry] += used[entry]
                self._ran.setdefault(entry, {}).update(dict.fromkeys(ran.names))
            if own:
                notes += outdated((word for entry in own for word in entry.rules), policy.known)
                notes += suppression.notes(own, used, ran.names, policy.known, self._today)
        return tuple(replace(report, notes=report.notes + tuple(notes)) for report in reviewed)


def _place(entry: Acceptance) -> list[str | int]:
    """Return a sort key for suppressions: ``suppress[2]`` comes before ``suppress[10]``."""
    parts = re.split(r"(\d+)", entry.suppression.where)
    return [int(part) if part.isdecimal() else part for part in parts]


def _graded(report: ModelReport, policy: Policy) -> ModelReport:
    """Give the findings of a report the severities in the policy, and sort them."""
    if not policy.severity:
        return report
    chosen = dict(policy.severity)
    rules = {rule.id: rule for rule in policy.known}

    def graded(findings: Sequence[Finding]) -> tuple[Finding, ...]:
        changed = []
        for finding in findings:
            rule = rules.get(finding.rule) or RuleName(finding.rule, finding.name)
            selector = most_specific(chosen, rule)
            changed.append(finding if selector is None else replace(finding, severity=chosen[selector]))
        return tuple(sorted(changed, key=lambda f: (SEVERITIES.index(f.severity), f.rule)))

    def regraded(each: IncompleteSearch) -> IncompleteSearch:
        selector = most_specific(chosen, rules.get(each.rule) or RuleName(each.rule, each.name))
        return each if selector is None else replace(each, severity=chosen[selector])

    return replace(
        report,
        findings=graded(report.findings),
        conditional=graded(report.conditional),
        unsearched=tuple(map(regraded, report.unsearched)),
    )


def _withheld(report: ModelReport, least: Confidence) -> ModelReport:
    """Remove the findings with a confidence below ``least`` from a report, and count them."""
    sure = CONFIDENCES[: CONFIDENCES.index(least) + 1]
    findings = tuple(finding for finding in report.findings if finding.confidence in sure)
    return replace(report, findings=findings, withheld=len(report.findings) - len(findings))
