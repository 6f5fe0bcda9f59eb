"""Tests of the dry-build report if trtlint's default sizes do not fit, without the wheels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.dry_build import models
from trtlint.dry_build import drybuild
from trtlint.dry_build.drybuild import DryBuildRequest, ask
from trtlint.dry_build.result import DryBuildResult
from trtlint.dry_build.wheels import Wheels
from trtlint.dry_build.wording import notes
from trtlint.process import Cause
from trtlint.process.spawn import ProcessResult

REFUSED = "IElementWiseLayer pos: broadcast dimensions must be conformable"
FIRST = {"stage": "build", "shapes": {"x": [[1, 224], [1, 224], [1, 224]]}, "values": {}, "chosen": ["x"]}
SECOND = {**FIRST, "shapes": {"x": [[1, 64], [1, 64], [1, 64]]}}
ANSWERS: tuple[dict[str, Any], ...] = (
    {"stage": "parse"},
    {"parsed": True, "errors": []},
    FIRST,
    {**FIRST, "built": False},
    {"refused": REFUSED, "parsed_to": 7},
    SECOND,
)


def result(
    monkeypatch: pytest.MonkeyPatch, folder: Path, cause: Cause, *more: dict[str, Any]
) -> DryBuildResult:
    """Return the result of a process with ``ANSWERS`` and more answers."""

    def run(*_: object, log: Path, **__: object) -> ProcessResult:
        log.write_bytes(b"parsed\n[V] of the size that was tried\n")
        signal = "SIGSEGV" if cause == "crashed" else ""
        return ProcessResult(cause, None, signal, 1.0, None, (*ANSWERS, *more))

    monkeypatch.setattr(drybuild, "run", run)
    return ask(
        models.write(folder, models.BUILT),
        DryBuildRequest(Wheels("1.7.1", str(folder))),
        folder / "build.log",
    )


def test_a_crash_on_a_size_that_was_only_tried_is_no_crash_of_the_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = result(monkeypatch, tmp_path, "crashed")
    assert (found.cause, found.signal, found.parsed, found.built) == ("done", "", True, None)
    assert (found.unfit, found.tried) == (REFUSED, 1)
    assert [shape.words for shape in found.shapes] == ["x=1x224"]
    assert (tmp_path / "build.log").read_bytes() == b"parsed\n"


def test_a_size_that_is_built_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = result(monkeypatch, tmp_path, "done", {**SECOND, "built": True})
    assert (found.built, found.unfit) == (True, "")
    assert [shape.words for shape in found.shapes] == ["x=1x64"]


def test_a_note_names_the_option_to_give(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = result(monkeypatch, tmp_path, "done", {**SECOND, "built": False}, {**FIRST, "built": None})
    (note,) = notes(found)
    assert "rejects all 2 choices" in note
    assert f"(first choice: x=1x224; error: {REFUSED})" in note
    assert note.endswith("to test valid sizes, use --shapes x:...")


def test_a_limit_of_time_stays_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = result(monkeypatch, tmp_path, "time")
    assert (found.cause, found.unfit) == ("time", "")
