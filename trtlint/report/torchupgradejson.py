"""Report about an upgrade of Torch-TensorRT as JSON.  The package contains the JSON Schema of the report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from msgspec.structs import asdict

from trtlint.engine.torchupgrade import CallChange, OperatorChange, TorchUpgrade
from trtlint.files.problem import Problem
from trtlint.report.json import finding_data

SCHEMA = "trtlint.torch-upgrade/1"
"""Name and version of the format; incompatible changes raise the version."""


def to_json(upgrades: Sequence[TorchUpgrade], problems: Sequence[Problem] = ()) -> dict[str, Any]:
    """Return upgrade reports as JSON data, in the given order."""
    return {
        "schema": SCHEMA,
        "files": [_file(upgrade) for upgrade in upgrades],
        "errors": [asdict(problem) for problem in problems],
    }


def dumps(upgrades: Sequence[TorchUpgrade], problems: Sequence[Problem] = ()) -> str:
    """Return upgrade reports as a JSON document in ASCII."""
    return json.dumps(to_json(upgrades, problems), indent=2)


def _file(upgrade: TorchUpgrade) -> dict[str, Any]:
    return {
        "path": upgrade.path,
        "kind": upgrade.kind,
        "from": upgrade.releases[0].line,
        "to": upgrade.releases[-1].line,
        "releases": [
            {"torch_tensorrt": each.version, "tensorrt": each.tensorrt} for each in upgrade.releases
        ],
        "operator_count": upgrade.operator_count,
        "operators": [_operator(each, upgrade) for each in upgrade.operators],
        "findings": [_call(each, upgrade) for each in upgrade.calls],
        "notes": list(upgrade.notes),
    }


def _operator(change: OperatorChange, upgrade: TorchUpgrade) -> dict[str, Any]:
    return {
        "operator": change.op,
        "lowered": change.lowered,
        "change": change.change,
        "since": change.since or None,
        "until": change.until or None,
        "in_torch": {
            release.line: state for release, state in zip(upgrade.releases, change.states, strict=True)
        },
        "count": change.count,
        "places": list(change.places),
    }


def _call(change: CallChange, upgrade: TorchUpgrade) -> dict[str, Any]:
    return {
        "finding": finding_data(change.finding),
        "places": list(change.places),
        "releases": [upgrade.releases[index].line for index in change.releases],
    }
