"""Requests for experiments, from keywords of the Python API."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trtlint.cases import cases
from trtlint.network.compare import CompareRequest
from trtlint.process.spawn import Limits
from trtlint.runs import partitionjob  # noqa: F401 - imported now, before a test replaces `find`
from trtlint.runs.dryjob import DryJob


@pytest.fixture(autouse=True)
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder has a file for a model, and each wanted release is installed."""
    monkeypatch.chdir(tmp_path)
    Path("m.onnx").touch()
    monkeypatch.setattr(
        "trtlint.dry_build.wheels.find", lambda version, folder: SimpleNamespace(version=version or "1.7.1")
    )


def evidence(**keywords: Any) -> tuple[Any, ...]:
    """Return the evidence about a model."""
    (given,) = cases("m.onnx", None, keywords)
    return given.case.evidence


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
def test_the_request_for_a_dry_build(keywords: dict[str, Any], expected: dict[str, Any]) -> None:
    (job,) = evidence(**keywords)
    fields = {"version": "1.7.1", "folder": None, "shapes": (), "limits": Limits(), **expected}
    assert job == DryJob(**fields)


def test_shapes_of_the_model_are_those_of_generated_inputs() -> None:
    keywords = {"compare": True, "shapes": {"x": (1, 3), "y": (2,)}}
    (job,) = evidence(**keywords)
    assert isinstance(job, DryJob)
    assert job.compare == CompareRequest(shapes=(("x", (1, 3)), ("y", (2,))))
    assert [(each.name, each.shapes[1]) for each in job.shapes] == [("x", (1, 3)), ("y", (2,))]
