"""Report in the diagnostic format of reviewdog.

https://github.com/reviewdog/reviewdog/tree/master/proto/rdf
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from trtlint.report.entries import ReportEntry, entries
from trtlint.report.escape import clean
from trtlint.report.formats import Run
from trtlint.report.locations import Overview, Place
from trtlint.report.manual import rule_page

_SEVERITIES = {"unreadable": "ERROR", "error": "ERROR", "warning": "WARNING", "note": "INFO"}


def document(run: Run) -> Iterable[str]:
    """Return the lines of the report."""
    return [json.dumps(to_rdjson(run.overview()), indent=2)]


def to_rdjson(overview: Overview) -> dict[str, Any]:
    """Return a ``DiagnosticResult`` with all unreadable files, caveats and findings."""
    return {"source": {"name": "trtlint"}, "diagnostics": [_diagnostic(entry) for entry in entries(overview)]}


def _diagnostic(entry: ReportEntry) -> dict[str, Any]:
    diagnostic: dict[str, Any] = {
        "message": entry.message,
        "location": _location(entry.place),
        "severity": _SEVERITIES[entry.level],
    }
    if entry.level != "unreadable":
        diagnostic["code"] = {"value": entry.kind}
    if entry.finding is not None and (
        page := rule_page(entry.kind) or next(iter(entry.finding.references), "")
    ):
        diagnostic["code"]["url"] = page
    return diagnostic


def _location(place: Place) -> dict[str, Any]:
    location: dict[str, Any] = {"path": clean(place.path)}
    if place.line:
        location["range"] = {"start": {"line": place.line}}
    return location
