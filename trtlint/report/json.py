"""Report as JSON.  The JSON Schema of the report is part of the package, and has a version."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import asdict

from trtlint.engine.caveats import caveats, suppressed_by_model
from trtlint.engine.finding import SEVERITIES, Finding, ModelReport, Report, Row, Site
from trtlint.facts.refusal import Refusal
from trtlint.report.formats import Run
from trtlint.report.manual import rule_page
from trtlint.report.wording import evidence_lines

SCHEMA = "trtlint.report/1"
"""Name and version of the format; incompatible changes raise the version."""
_MOST_SITES = 50_000
"""Largest number of listed sites of a model over all targets. A listed site takes half a kilobyte."""


def to_json(report: Report) -> dict[str, Any]:
    """Convert a report to JSON data.  Findings are sorted by severity, rule and fingerprint."""
    listed = _listed(report.models)
    return {
        "schema": SCHEMA,
        "models": [_model(model, listed.get(model.path)) for model in report.models],
        "notes": list(report.notes),
    }


def document(run: Run) -> Iterable[str]:
    """Return the lines of the report."""
    return [dumps(run.report)]


def dumps(report: Report) -> str:
    """Convert a report to a deterministic JSON document in ASCII."""
    return json.dumps(to_json(report), indent=2)


def _listed(models: Iterable[ModelReport]) -> dict[str, int]:
    """For each model path, return the largest number of sites to list for a finding.

    The result contains only models that have more sites than the report may list.
    """
    places: dict[str, list[int]] = defaultdict(list)
    for model in models:
        findings = (*model.findings, *model.conditional, *model.suppressed)
        places[model.path] += [len(finding.sites) for finding in findings]
    return {path: _share(counts) for path, counts in places.items() if sum(counts) > _MOST_SITES}


def _share(counts: Iterable[int]) -> int:
    """Return the largest number of sites to list for a finding; in total, at most ``_MOST_SITES`` are listed.

    ``counts`` has the number of sites of each finding.

    >>> _share([10, 10, 200_000])
    49980
    """
    room = _MOST_SITES
    waiting = sorted(counts)
    for index, count in enumerate(waiting):
        share = room // (len(waiting) - index)
        if count > share:
            return max(1, share)
        room -= count
    return _MOST_SITES


def _model(model: ModelReport, listed: int | None) -> dict[str, Any]:
    return {
        "path": model.path,
        "target": model.target,
        "findings": _findings(model.findings, listed),
        "conditional": _findings(model.conditional, listed),
        "suppressed": _findings(model.suppressed, listed),
        "gone": [asdict(entry) for entry in model.gone],
        "withheld": model.withheld,
        "errors": [asdict(problem) for problem in model.errors],
        "notes": list(model.notes),
        "caveats": [caveat.message for caveat in caveats([model])],
        "suppressed_by_model": len(suppressed_by_model([model])),
        "unsearched": [
            {"rule": each.rule, "name": each.name, "severity": each.severity} for each in model.unsearched
        ],
        **_further(model),
        **{each.kind: each.data for each in model.evidence},
    }


def _further(model: ModelReport) -> dict[str, Any]:
    """Return the suggested files and options that would give more evidence, as JSON data."""
    found = [{"give": more.what, "command": more.command, "settles": more.settles} for more in model.further]
    return {"further": found} if found else {}


def _findings(findings: Iterable[Finding], listed: int | None) -> list[dict[str, Any]]:
    ranked = sorted(findings, key=lambda f: (SEVERITIES.index(f.severity), f.rule, f.fingerprint))
    return [finding_data(finding, listed) for finding in ranked]


def finding_data(finding: Finding, listed: int | None = None) -> dict[str, Any]:
    """Convert a finding to JSON data. Only the first ``listed`` sites are included; None includes all."""
    timed = finding.ms is not None and finding.share is not None
    data = {
        "rule": finding.rule,
        "name": finding.name,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "basis": finding.evidence_level,
        "message": finding.message,
        "applies": finding.applies,
        "depends": list(finding.depends),
        "sites": [_site(site) for site in finding.sites[:listed]],
        "more_sites": None if listed is None else max(0, len(finding.sites) - listed) or None,
        "evidence": list(evidence_lines(finding)),
        "advice": list(finding.advice),
        "references": list(finding.references),
        "page": rule_page(finding.rule) or None,
        "fingerprint": finding.fingerprint,
        "fixes": [rewrite.name for rewrite in finding.fixes] or None,
        "includes": [finding_data(each, listed) for each in finding.includes] or None,
        "refusal": None if finding.refusal is None else _refusal(finding.refusal),
        "suppression": None if finding.suppression is None else asdict(finding.suppression),
        "standing": None if finding.standing == "open" else finding.standing,
        "time": {"ms": finding.ms, "share": finding.share} if timed else None,
    }
    return {key: value for key, value in data.items() if value is not None}


def _refusal(refusal: Refusal) -> dict[str, Any]:
    data: dict[str, Any] = {"stage": refusal.stage, "op": refusal.op, "code": refusal.code}
    if refusal.lines:
        data |= {"first_taken_by": refusal.first_taken, "last_taken_by": refusal.last_taken}
    return data


def _site(site: Site) -> dict[str, Any]:
    source: Mapping[str, Any] | None = None
    if site.source is not None:
        source = {"path": site.source.path, "line": site.source.line, "function": site.source.function}
    return {
        "node": site.node,
        "op": site.op,
        "module": site.module,
        "source": source,
        "fingerprint": site.fingerprint,
        "rows": [_row(row) for row in site.rows],
    }


def _row(row: Row) -> dict[str, str]:
    return {"node": row.node, "op": row.op, "type": row.type, "detail": row.detail, "label": row.label}
