"""Report about an upgrade as JSON.  The JSON Schema of the report is part of the package."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from msgspec.structs import asdict

from trtlint.engine.upgrade import ReleaseAssessment, Upgrade, UpgradeFinding, UpgradeStep
from trtlint.files.problem import Problem
from trtlint.report.json import finding_data
from trtlint.report.wording import fix_command, fixable
from trtlint.target.target import Target

SCHEMA = "trtlint.upgrade/1"
"""Name and version of the format; incompatible changes raise the version."""


def to_json(upgrades: Sequence[Upgrade], problems: Sequence[Problem] = ()) -> dict[str, Any]:
    """Convert upgrade reports to JSON data, in the given order."""
    return {
        "schema": SCHEMA,
        "models": [_model(upgrade) for upgrade in upgrades],
        "errors": [asdict(problem) for problem in problems],
    }


def dumps(upgrades: Sequence[Upgrade], problems: Sequence[Problem] = ()) -> str:
    """Convert upgrade reports to a JSON document in ASCII."""
    return json.dumps(to_json(upgrades, problems), indent=2)


def _model(upgrade: Upgrade) -> dict[str, Any]:
    safest, model = upgrade.safest, upgrade.model
    return {
        "path": upgrade.path,
        "product": upgrade.product,
        "from": upgrade.lines[0].line,
        "to": upgrade.lines[-1].line,
        "setting": upgrade.setting,
        "command": upgrade.command or None,
        "model": {
            "opset": model.opset,
            "exporter": model.exporter,
            "float_type": model.float_type,
            "quantized": model.quantized,
            "nodes": model.nodes,
            "inputs": list(upgrade.inputs),
            "outputs": list(upgrade.outputs),
        },
        "versions": [_line(line, upgrade) for line in upgrade.lines],
        "findings": [_listed(listed, upgrade) for listed in upgrade.findings],
        "steps": [_step(step) for step in upgrade.steps],
        "safest": None
        if safest is None
        else {
            "version": upgrade.lines[safest.line].line,
            "equals": [upgrade.lines[index].line for index in safest.equals],
            "first_adds": list(safest.first_adds),
            "last_adds": list(safest.last_adds),
        },
        "conditional": [finding_data(finding) for finding in upgrade.conditional],
        "notes": list(upgrade.notes),
        "caveats": [caveat.message for caveat in upgrade.caveats],
    }


def _line(line: ReleaseAssessment, upgrade: Upgrade) -> dict[str, Any]:
    release = Target(upgrade.product, line.version).releases[-1]
    return {
        "version": line.line,
        "release": line.version,
        "target": line.target,
        "gpu_supported": line.supported,
        "opset_max": release.opset_max,
        "typing": release.typing,
        "cuda": list(release.cuda),
        "inspector": release.inspector,
        "risks": dict(line.risks),
        "refused": line.refused,
        "findings": list(line.found),
    }


def _listed(listed: UpgradeFinding, upgrade: Upgrade) -> dict[str, Any]:
    versions = [upgrade.lines[index].line for index in listed.lines]
    advice = [
        {"do": text, "versions": [upgrade.lines[index].line for index in indexes]}
        for text, indexes in listed.advice
    ]
    return {
        "finding": finding_data(listed.finding),
        "concerns": listed.concern,
        "versions": versions,
        "already": listed.already,
        "advice": advice,
        **({"fix": fix_command(listed.finding, upgrade.path)} if fixable(listed.finding) else {}),
    }


def _step(step: UpgradeStep) -> dict[str, Any]:
    return {"from": step.before, "to": step.after, "fixed": list(step.fixed), "new": list(step.new)}
