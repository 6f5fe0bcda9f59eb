"""From what rules found to what a team wants to see: severities, suppressions, baseline, confidence.

Nothing here looks at a model; a report made in another process, or kept from an earlier run, is
reviewed like any other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from functools import cached_property
from pathlib import Path

from trtlint.engine.finding import (
    CONFIDENCES,
    SEVERITIES,
    SUPPRESS_KEY,
    Confidence,
    Finding,
    ModelReport,
    Severity,
    Unsearched,
)
from trtlint.engine.rulebook import RuleEntry
from trtlint.lean import dataclass
from trtlint.policy import suppression
from trtlint.policy.baseline import Baseline
from trtlint.policy.selection import RuleName, Selectable, most_specific, told
from trtlint.policy.suppression import Acceptance
from trtlint.target.target import Target


class Ran:
    """The rules that ran and are about the version of one of the targets, or may be.

    To tell, they have to be read, which is left until something is suppressed or in a baseline.

    Args:
        entries: the rules that ran.
        targets: what they ran for.
    """

    def __init__(self, entries: Sequence[RuleEntry] = (), targets: Sequence[Target] = ()) -> None:
        self._entries = entries
        self._targets = targets

    @cached_property
    def names(self) -> tuple[RuleName, ...]:
        """What selectors look at of each of them."""
        from trtlint.engine.applying import version_truth

        rules = [entry.read() for entry in self._entries]
        return names(
            rule for rule in rules if any(version_truth(rule, t) is not False for t in self._targets)
        )


@dataclass(frozen=True, slots=True)
class Policy:
    """What a team wants of one model.

    Attributes:
        severity: severities by selector; the most specific selector decides, the last of equals.
        min_confidence: less sure findings are counted only.
        suppress: the suppressions of the configuration that are about the model.
        baseline: the findings that are known, None for none.
        known: all rules.
        own: whether suppressions that the model carries count; ``--isolated`` ignores them.
    """

    severity: tuple[tuple[str, Severity], ...] = ()
    min_confidence: Confidence = "low"
    suppress: tuple[Acceptance, ...] = ()
    baseline: Baseline | None = None
    known: tuple[RuleName, ...] = ()
    own: bool = True


def names(rules: Iterable[Selectable]) -> tuple[RuleName, ...]:
    """What selectors look at of each rule."""
    return tuple(map(RuleName.of, rules))


class Review:
    """Reviews model after model, and remembers which suppressions of the configuration were needed.

    Args:
        today: the date that expiry is compared with; the current one if not given.
        recording: take every finding into the baseline instead of comparing with it.
    """

    def __init__(self, today: date | None = None, *, recording: bool = False) -> None:
        self._today = today or date.today()
        self._recording = recording
        self._used: Counter[Acceptance] = Counter()
        self._ran: dict[Acceptance, dict[RuleName, None]] = {}
        self._known: dict[RuleName, None] = {}

    def apply(
        self, model: Path, reports: Sequence[ModelReport], policy: Policy, ran: Ran
    ) -> tuple[ModelReport, ...]:
        """The reports of one model, one for each target, as the team wants to see them.

        Args:
            model: the model.
            reports: its reports.
            policy: what the team wants of it.
            ran: the rules that ran; what is said of others stands.
        """
        graded = [_graded(report, policy) for report in reports]
        reviewed = self._suppressed(graded, policy, ran)
        if policy.baseline is not None:
            if self._recording:
                reviewed = policy.baseline.record(model, reviewed)
            else:
                # What was not searched to the end is not gone from the model.
                partly = {each.rule for report in reports for each in report.unsearched}
                whole = frozenset(rule.id for rule in ran.names) - partly
                known = frozenset(rule.id for rule in policy.known)
                reviewed = policy.baseline.apply(model, reviewed, whole, known)
        return tuple(_withheld(report, policy.min_confidence) for report in reviewed)

    def notes(self) -> tuple[str, ...]:
        """Suppressions of the configuration that have expired or that no model of the run needs."""
        return tuple(
            f"{entry.suppression.where}: {note}"
            for entry in sorted(self._ran, key=_place)
            for note in suppression.notes([entry], self._used, self._ran[entry], self._known, self._today)
        )

    def _suppressed(
        self, reports: Sequence[ModelReport], policy: Policy, ran: Ran
    ) -> tuple[ModelReport, ...]:
        own, refused = suppression.written_in(reports[0]) if reports else ((), None)
        if own and not policy.own:
            own, refused = (), f"the metadata {SUPPRESS_KEY} is ignored: --isolated"
        elif own and not suppression.comparable(own, reports):
            own, refused = (), f"the metadata {SUPPRESS_KEY} is ignored: it takes too long to compare"
        used: Counter[Acceptance] = Counter()
        reviewed = []
        for report in reports:
            applied = suppression.apply(report, (*policy.suppress, *own), self._today, policy.known)
            used += applied.used
            reviewed.append(applied.report)
        notes = [refused] if refused else []
        if not any(report.errors or report.skipped for report in reports):
            self._known.update(dict.fromkeys(policy.known))
            for entry in policy.suppress:
                self._used[entry] += used[entry]
                self._ran.setdefault(entry, {}).update(dict.fromkeys(ran.names))
            if own:
                notes += told((word for entry in own for word in entry.rules), policy.known)
                notes += suppression.notes(own, used, ran.names, policy.known, self._today)
        return tuple(replace(report, notes=report.notes + tuple(notes)) for report in reviewed)


def _place(entry: Acceptance) -> list[str | int]:
    """A sort key that puts ``suppress[2]`` before ``suppress[10]``."""
    parts = re.split(r"(\d+)", entry.suppression.where)
    return [int(part) if part.isdecimal() else part for part in parts]


def _graded(report: ModelReport, policy: Policy) -> ModelReport:
    """A report with the severities that the team has chosen, in their order."""
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

    def regraded(each: Unsearched) -> Unsearched:
        selector = most_specific(chosen, rules.get(each.rule) or RuleName(each.rule, each.name))
        return each if selector is None else replace(each, severity=chosen[selector])

    return replace(
        report,
        findings=graded(report.findings),
        conditional=graded(report.conditional),
        unsearched=tuple(map(regraded, report.unsearched)),
    )


def _withheld(report: ModelReport, least: Confidence) -> ModelReport:
    """A report without the findings that are not sure enough."""
    sure = CONFIDENCES[: CONFIDENCES.index(least) + 1]
    findings = tuple(finding for finding in report.findings if finding.confidence in sure)
    return replace(report, findings=findings, withheld=len(report.findings) - len(findings))
