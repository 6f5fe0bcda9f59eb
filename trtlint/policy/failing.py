"""Decide whether the findings of a run make the run fail."""

from __future__ import annotations

from collections.abc import Iterable

from trtlint.engine.finding import SEVERITIES, Finding, ModelReport, Severity
from trtlint.policy.options import FailOn


def fails(reports: Iterable[ModelReport], fail_on: FailOn) -> bool:
    """Return whether a finding makes the run fail with exit code 1.

    Args:
        reports: the reports.
        fail_on: lowest severity that makes the run fail, or ``never``.
    """
    return any(counts(finding, fail_on) for report in reports for finding in report.findings)


def unsearched(reports: Iterable[ModelReport], fail_on: FailOn) -> bool:
    """Return whether the search may have missed findings that would make the run fail.

    Findings may be missing if the search for a rule did not finish.

    Args:
        reports: the reports.
        fail_on: lowest severity that makes the run fail, or ``never``.
    """
    return any(each.severity in grave(fail_on) for report in reports for each in report.unsearched)


def grave(fail_on: FailOn) -> tuple[Severity, ...]:
    """Return the severities that make a run fail, or an empty tuple for ``never``."""
    return () if fail_on == "never" else SEVERITIES[: SEVERITIES.index(fail_on) + 1]


def counts(finding: Finding, fail_on: FailOn) -> bool:
    """Return whether a finding makes a run fail.

    The finding must be severe enough for ``fail_on``, and its confidence must not be low.
    """
    return finding.severity in grave(fail_on) and finding.confidence != "low"
