"""Requests for experiments, from keywords of the Python API."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trtlint.cases import _Given
from trtlint.network.compare import CompareRequest
from trtlint.process.spawn import Limits
from trtlint.runs.dryjob import DryJob


@pytest.mark.parametrize(
    ("keywords", "expected"),
    [
        ({"dry_build": True}, {"level": "build"}),
        ({"dry_build": "parse"}, {"level": "parse"}),
        ({"dry_build": "1.6"}, {"level": "build", "version": "1.6"}),
        ({"dry_parse": True}, {"level": "parse"}),
        ({"dry_parse": True, "compare": ()}, {"level": "parse"}),
        ({"compare": True}, {"level": "parse", "compare": CompareRequest()}),
        ({"compare": "probe"}, {"level": "parse", "compare": CompareRequest(probe=True)}),
        ({"compare": True, "dry_build": True}, {"level": "build", "compare": CompareRequest()}),
        ({"dry_parse": True, "rtx_path": "/a/../b"}, {"level": "parse", "folder": "/b"}),
        ({"dry_parse": True, "dry_build_seconds": 2.0, "dry_build_memory": 3, "dry_build_logs": "logs"},
         {"level": "parse", "limits": Limits(2.0, 3), "logs": Path("logs")}),
    ],
)  # fmt: skip
def test_the_request_for_a_dry_build(
    keywords: dict[str, Any], expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "trtlint.dry_build.wheels.find", lambda version, folder: SimpleNamespace(version=version or "1.7.1")
    )
    (job,) = _Given(None, keywords).case(Path("m.onnx")).evidence
    fields = {"version": "1.7.1", "folder": None, "shapes": (), "limits": Limits(), **expected}
    if "shapes" in keywords:
        fields["asked"] = fields["shapes"]
    assert job == DryJob(**fields)


def test_shapes_of_the_model_are_those_of_generated_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "trtlint.dry_build.wheels.find", lambda version, folder: SimpleNamespace(version=version or "1.7.1")
    )
    keywords = {"compare": True, "shapes": {"x": (1, 3), "y": (2,)}}
    (job,) = _Given(None, keywords).case(Path("m.onnx")).evidence
    assert isinstance(job, DryJob)
    assert job.compare == CompareRequest(shapes=(("x", (1, 3)), ("y", (2,))))
    assert [(each.name, each.shapes[1]) for each in job.shapes] == [("x", (1, 3)), ("y", (2,))]
