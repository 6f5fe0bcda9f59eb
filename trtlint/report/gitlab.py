"""Report for the code quality widget of GitLab.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from trtlint.engine.caveats import Caveat
from trtlint.files.problem import Problem
from trtlint.report.escape import clean
from trtlint.report.formats import Run
from trtlint.report.locations import Overview, Spot
from trtlint.report.wording import full

_SEVERITIES = {"error": "critical", "warning": "major", "note": "info"}


def document(run: Run) -> Iterable[str]:
    """Return the lines of the report."""
    return [dumps(run.overview())]


def dumps(overview: Overview) -> str:
    """Convert the findings to a JSON array in ASCII."""
    return json.dumps(to_gitlab(overview), indent=2)


def to_gitlab(overview: Overview) -> list[dict[str, Any]]:
    """Return an entry for each unreadable file, each caveat, and each location of a finding."""
    caveats = (_caveat(model, caveat) for model, caveat in overview.caveats)
    return [*map(_problem, overview.problems), *caveats, *map(_entry, overview.spots)]


def _entry(spot: Spot) -> dict[str, Any]:
    finding = spot.finding
    return {
        "description": full(spot),
        "check_name": finding.rule,
        # Two exports of one network share fingerprints, but GitLab requires unique fingerprints.
        "fingerprint": _digest(spot.model, finding.rule, spot.fingerprint),
        "severity": "info" if spot.conditional else _SEVERITIES[finding.severity],
        "location": {"path": clean(spot.place.path), "lines": {"begin": spot.place.line or 1}},
    }


def _caveat(model: str, caveat: Caveat) -> dict[str, Any]:
    return {
        "description": clean(caveat.message),
        "check_name": caveat.kind,
        "fingerprint": _digest(model, caveat.kind, caveat.message),
        "severity": _SEVERITIES[caveat.severity],
        "location": {"path": clean(model), "lines": {"begin": 1}},
    }


def _problem(problem: Problem) -> dict[str, Any]:
    return {
        "description": clean(str(problem)),
        "check_name": "unreadable",
        "fingerprint": _digest(problem.path, "", problem.message),
        "severity": "blocker",
        "location": {"path": clean(problem.path), "lines": {"begin": 1}},
    }


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()[:32]
