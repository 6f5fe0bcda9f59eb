"""Which findings fail a run."""

from __future__ import annotations

from collections.abc import Iterable

from trtlint.engine.finding import SEVERITIES, Finding, ModelReport, Severity
from trtlint.policy.options import FailOn


def fails(reports: Iterable[ModelReport], fail_on: FailOn) -> bool:
    """Whether a finding is grave and sure enough for exit code 1.

    Args:
        reports: what was found.
        fail_on: the mildest severity that counts, or ``never``.
    """
    return any(counts(finding, fail_on) for report in reports for finding in report.findings)


def unsearched(reports: Iterable[ModelReport], fail_on: FailOn) -> bool:
    """Whether a finding that fails a run may be missing: a rule of its severity was not searched to the end.

    Args:
        reports: what was found.
        fail_on: the mildest severity that counts, or ``never``.
    """
    return any(each.severity in grave(fail_on) for report in reports for each in report.unsearched)


def grave(fail_on: FailOn) -> tuple[Severity, ...]:
    """The severities that give exit code 1, none for ``never``."""
    return () if fail_on == "never" else SEVERITIES[: SEVERITIES.index(fail_on) + 1]


def counts(finding: Finding, fail_on: FailOn) -> bool:
    """Whether this finding gives exit code 1."""
    return finding.severity in grave(fail_on) and finding.confidence != "low"
