"""Comparison of two scans as a document."""

from __future__ import annotations

from collections.abc import Iterable

from trtlint.report.counts import plural
from trtlint.report.document import Code, Document, DocumentTable, Part, Words
from trtlint.report.rows import ReportRow
from trtlint.report.trend import Trend, rank


def page(trend: Trend) -> Document:
    """Return the document about a comparison of two scans."""
    models = trend.models
    fresh = (*trend.new, *trend.added)
    counts = ", ".join(f"{models[name]:,} {name}" for name in ("changed", "added", "removed", "unreadable"))
    rules: list[list[Words]] = [[Code(rule), *numbers] for rule, *numbers in trend.counts()]
    return Document(
        "trend",
        f"{len(fresh):,} new, {len(trend.gone):,} gone, {len(trend.still):,} remaining",
        [
            Part("Rules", [DocumentTable(["Rule", "New", "Gone", "Remaining"], rules)]),
            Part("New findings", [_listed(fresh)]),
            Part("Gone findings", [_listed(trend.gone)]),
        ],
        [f"{plural(models['both'], 'model')} in both scans; {counts}"],
    )


def _listed(rows: Iterable[ReportRow]) -> DocumentTable:
    return DocumentTable(
        ["Severity", "Rule", "Name", "Model", "Target"],
        [
            [row.severity, Code(row.rule), row.name, Code(row.model), row.target]
            for row in sorted(rows, key=rank)
        ],
    )
