"""Findings as table rows: one row for each finding of each model, for scans of many models."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct
from msgspec.structs import asdict, replace

from trtlint.engine.caveats import caveats
from trtlint.engine.finding import Finding, ModelReport
from trtlint.report.formats import Run
from trtlint.report.locations import relative

Status = Literal["found", "conditional", "suppressed", "caveat", "clean", "skipped", "unreadable"]


class ReportRow(Struct, frozen=True):
    """One row: a finding of a model for a target, or the status of a model without findings.

    Attributes:
        model: the file, relative to the repository.
        revision: identity of the file content; empty if unknown.
        target: the target.
        status: ``found``, ``conditional`` (the finding depends on unset options), ``suppressed`` or
            ``caveat``. The row of a model without findings has ``clean``, ``skipped`` or ``unreadable``.
        rule: id of the rule. In a row without a finding, rule, name, severity and confidence are empty. A
            ``caveat`` row has the ids of all rules whose findings may be missing, separated by spaces.
        name: name of the rule.
        severity: ``error``, ``warning`` or ``note``.
        confidence: confidence of the finding.
        fingerprint: identity of the finding across revisions of the model; empty if there is no finding.
        places: the number of sites of the finding.
        message: the message, or the reason why the model could not be linted.
    """

    model: str
    revision: str
    target: str
    status: Status
    rule: str = ""
    name: str = ""
    severity: str = ""
    confidence: str = ""
    fingerprint: str = ""
    places: int = 0
    message: str = ""


NAMES = ReportRow.__struct_fields__
"""The fields of a row, in order."""


def rows(run: Run) -> Iterator[ReportRow]:
    """Yield the table rows for a run, in the order of its models."""
    for report in run.report.models:
        yield from _of(report, relative(report.path, run.style.root))


def document(run: Run) -> Iterable[str]:
    """Yield the rows as JSON Lines: https://jsonlines.org."""
    return (json.dumps(asdict(row)) for row in rows(run))


def _of(report: ModelReport, path: str) -> Iterator[ReportRow]:
    def row(status: Status, message: str = "") -> ReportRow:
        return ReportRow(path, report.revision, report.target, status, message=message)

    def found(status: Status, findings: Iterable[Finding]) -> Iterator[ReportRow]:
        for finding in findings:
            yield ReportRow(
                path,
                report.revision,
                report.target,
                status,
                finding.rule,
                finding.name,
                finding.severity,
                finding.confidence,
                finding.fingerprint,
                len(finding.sites),
                finding.message,
            )

    if report.errors:
        yield row("unreadable", "; ".join(str(problem) for problem in report.errors))
    elif report.skipped:
        yield row("skipped", "; ".join(report.notes))
    elif not report.findings and not report.unsearched:
        yield row("clean")
    for caveat in caveats([report]):
        yield replace(row("caveat", caveat.message), rule=" ".join(caveat.rules))
    yield from found("found", report.findings)
    yield from found("conditional", report.conditional)
    yield from found("suppressed", report.suppressed)
