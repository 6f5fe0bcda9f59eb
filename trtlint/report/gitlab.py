"""Report for the code quality widget of GitLab.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from trtlint.report.entries import ReportEntry, entries
from trtlint.report.escape import clean
from trtlint.report.formats import Run
from trtlint.report.locations import Overview

_SEVERITIES = {"unreadable": "blocker", "error": "critical", "warning": "major", "note": "info"}


def document(run: Run) -> Iterable[str]:
    """Return the lines of the report."""
    return [json.dumps(to_gitlab(run.overview()), indent=2)]


def to_gitlab(overview: Overview) -> list[dict[str, Any]]:
    """Return an entry for each unreadable file, each caveat, and each location of a finding."""
    return [_entry(entry) for entry in entries(overview)]


def _entry(entry: ReportEntry) -> dict[str, Any]:
    identity = "\0".join(entry.identity).encode(errors="surrogatepass")
    return {
        "description": entry.message,
        "check_name": entry.kind,
        "fingerprint": hashlib.sha256(identity).hexdigest()[:32],  # GitLab requires unique fingerprints
        "severity": _SEVERITIES[entry.level],
        "location": {"path": clean(entry.place.path), "lines": {"begin": entry.place.line or 1}},
    }
