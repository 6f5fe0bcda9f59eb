"""Merge refusals that have a common cause, so that a report explains the cause once.

A refusal is a finding about an operator that the parser or builder rejects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from trtlint.engine.finding import Finding, ModelReport

if TYPE_CHECKING:
    from trtlint.engine.subjects import Subject


def causes_of(subjects: Iterable[Subject]) -> tuple[str, ...]:
    """Return the operator types that TensorRT refuses because of the problem in ``subjects``.

    The subjects belong to one finding, which is about a refusal.  Each subject is a fact or a pattern match.
    """
    facts = (subject.fact for subject in subjects if subject.fact is not None)
    return tuple(sorted({op for fact in facts for op in fact.consequences}))


def folded(report: ModelReport) -> ModelReport:
    """Move each refusal into the finding about the cause of the refusal, if there is such a finding.

    The result is for report formats. Selection, suppression, baselines and fixes use the original report,
    which has all findings.
    """
    findings = _folded(report.findings)
    conditional = _folded(report.conditional)
    if findings is report.findings and conditional is report.conditional:
        return report
    return replace(report, findings=findings, conditional=conditional)


def _folded(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    cause = next((finding for finding in findings if finding.causes), None)
    if cause is None:
        return findings
    included = tuple(finding for finding in findings if _follows(finding, cause))
    if not included:
        return findings
    left = (finding for finding in findings if not _follows(finding, cause))
    return tuple(replace(each, includes=included) if each is cause else each for each in left)


def _follows(finding: Finding, cause: Finding) -> bool:
    """Return whether all refusals in a finding follow from the problem in ``cause``."""
    return (
        finding is not cause
        and finding.refusal is not None
        and finding.depends == cause.depends
        and bool(finding.sites)
        and all(site.op in cause.causes for site in finding.sites)
    )


def counted(included: Iterable[Finding]) -> str:
    """Format the number of findings of each rule: ``BLD201 × 2, BLD211``."""
    numbers = Counter(finding.rule for finding in included)
    return ", ".join(rule if number == 1 else f"{rule} × {number}" for rule, number in numbers.items())
