"""Findings as rows, one each and one for a model without any: for tables over many models and scans."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from typing import Literal

from trtlint.engine.caveats import caveats
from trtlint.engine.finding import Finding, ModelReport
from trtlint.lean import dataclass
from trtlint.report.formats import Run
from trtlint.report.locations import relative

Status = Literal["found", "conditional", "suppressed", "caveat", "clean", "skipped", "unreadable"]


@dataclass(frozen=True, slots=True)
class Row:
    """A finding of a model for a target, or that there is none.

    Attributes:
        model: the file, relative to the repository.
        revision: what its content was known by; empty where nothing is for sure.
        target: what it was linted for, in words.
        status: ``found``; ``conditional`` on what was not said of the target; ``suppressed``; ``caveat``
            for a sentence that every format shows of the model; and of models without a finding ``clean``,
            ``skipped`` or ``unreadable``.
        rule: the rule's id, empty without a finding; so for the next three.
        name: the rule's name.
        severity: ``error``, ``warning`` or ``note``.
        confidence: how sure it is.
        fingerprint: what names the finding in every revision of the model; empty without one.
        places: at how many places it is.
        message: what was found, or why the model could not be linted.
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


NAMES = tuple(field.name for field in fields(Row))
"""The fields of a row, in their order."""


def rows(run: Run) -> Iterator[Row]:
    """The rows of a run, in the order of its models."""
    for report in run.report.models:
        yield from _of(report, relative(report.path, run.style.root))


def document(run: Run) -> Iterable[str]:
    """The lines of JSON Lines, https://jsonlines.org: an object a row."""
    return (json.dumps(as_dict(row)) for row in rows(run))


def as_dict(row: Row) -> dict[str, str | int]:
    """The fields of a row by their names."""
    return {name: getattr(row, name) for name in NAMES}


def _of(report: ModelReport, path: str) -> Iterator[Row]:
    def row(status: Status, message: str = "") -> Row:
        return Row(path, report.revision, report.target, status, message=message)

    def found(status: Status, findings: Iterable[Finding]) -> Iterator[Row]:
        for finding in findings:
            yield Row(
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
        yield replace(row("caveat", caveat.message), rule=caveat.rule)
    yield from found("found", report.findings)
    yield from found("conditional", report.conditional)
    yield from found("suppressed", report.suppressed)
