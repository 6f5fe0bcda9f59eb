"""Which findings fail a run."""

from __future__ import annotations

from collections.abc import Iterable

from trtlint.engine.finding import SEVERITIES, Finding, ModelReport
from trtlint.policy.options import FailOn


def fails(reports: Iterable[ModelReport], fail_on: FailOn) -> bool:
    """Whether a finding is grave and sure enough for exit code 1.

    Args:
        reports: what was found.
        fail_on: the mildest severity that counts, or ``never``.
    """
    return any(counts(finding, fail_on) for report in reports for finding in report.findings)


def counts(finding: Finding, fail_on: FailOn) -> bool:
    """Whether this finding gives exit code 1."""
    if fail_on == "never":
        return False
    grave = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    return finding.severity in grave and finding.confidence != "low"
