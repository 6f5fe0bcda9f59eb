"""The report as JSON, in a versioned schema that ships with the package."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any

from trtlint.engine.finding import SEVERITIES, Finding, ModelReport, Problem, Report, Row, Site

SCHEMA = "trtlint.report/1"
"""Name and version of the format; the number grows when a reader of the old one would break."""


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of :func:`to_json`'s result."""
    name = SCHEMA.replace("/", "-") + ".json"
    text = files("trtlint.report").joinpath("schema").joinpath(name).read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def to_json(report: Report) -> dict[str, Any]:
    """A report as JSON data: models in the order linted, findings by severity, rule and place."""
    return {"schema": SCHEMA, "models": [_model(model) for model in report.models]}


def dumps(report: Report) -> str:
    """A report as a JSON document in ASCII, the same for the same report."""
    return json.dumps(to_json(report), indent=2)


def _model(model: ModelReport) -> dict[str, Any]:
    return {
        "path": model.path,
        "target": model.target,
        "findings": _findings(model.findings),
        "conditional": _findings(model.conditional),
        "errors": [_problem(problem) for problem in model.errors],
        "notes": list(model.notes),
    }


def _findings(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    ranked = sorted(findings, key=lambda f: (SEVERITIES.index(f.severity), f.rule, f.fingerprint))
    return [_finding(finding) for finding in ranked]


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "name": finding.name,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "basis": finding.evidence_level,
        "message": finding.message,
        "applies": finding.applies,
        "depends": list(finding.depends),
        "sites": [_site(site) for site in finding.sites],
        "evidence": list(finding.evidence),
        "advice": list(finding.advice),
        "references": list(finding.references),
        "fingerprint": finding.fingerprint,
    }


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


def _problem(problem: Problem) -> dict[str, Any]:
    return {
        "path": problem.path,
        "message": problem.message,
        "offset": problem.offset,
        "node": problem.node,
    }
