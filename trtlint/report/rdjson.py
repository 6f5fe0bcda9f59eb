"""Report in the diagnostic format of reviewdog.

https://github.com/reviewdog/reviewdog/tree/master/proto/rdf
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from trtlint.engine.caveats import Caveat
from trtlint.files.problem import Problem
from trtlint.report.escape import clean
from trtlint.report.formats import Run
from trtlint.report.locations import Overview, Place, Spot
from trtlint.report.manual import rule_page
from trtlint.report.wording import full

_SEVERITIES = {"error": "ERROR", "warning": "WARNING", "note": "INFO"}


def document(run: Run) -> Iterable[str]:
    """Return the lines of the report."""
    return [dumps(run.overview())]


def dumps(overview: Overview) -> str:
    """Convert the findings to a JSON document in ASCII."""
    return json.dumps(to_rdjson(overview), indent=2)


def to_rdjson(overview: Overview) -> dict[str, Any]:
    """Return a ``DiagnosticResult`` with all unreadable files, caveats and findings."""
    caveats = (_caveat(model, caveat) for model, caveat in overview.caveats)
    diagnostics = [*map(_problem, overview.problems), *caveats, *map(_diagnostic, overview.spots)]
    return {"source": {"name": "trtlint"}, "diagnostics": diagnostics}


def _diagnostic(spot: Spot) -> dict[str, Any]:
    finding = spot.finding
    code: dict[str, Any] = {"value": finding.rule}
    if page := rule_page(finding.rule) or next(iter(finding.references), ""):
        code["url"] = page
    return {
        "message": full(spot),
        "location": _location(spot.place),
        "severity": "INFO" if spot.conditional else _SEVERITIES[finding.severity],
        "code": code,
    }


def _caveat(model: str, caveat: Caveat) -> dict[str, Any]:
    return {
        "message": clean(caveat.message),
        "location": _location(Place(model)),
        "severity": _SEVERITIES[caveat.severity],
        "code": {"value": caveat.kind},
    }


def _problem(problem: Problem) -> dict[str, Any]:
    return {"message": clean(str(problem)), "location": _location(Place(problem.path)), "severity": "ERROR"}


def _location(place: Place) -> dict[str, Any]:
    location: dict[str, Any] = {"path": clean(place.path)}
    if place.line:
        location["range"] = {"start": {"line": place.line}}
    return location
