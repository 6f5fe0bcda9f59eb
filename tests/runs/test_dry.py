"""Results of dry builds in the cache, and the memory that concurrent dry builds share."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from trtlint.dry_build.drybuild import DryBuildRequest
from trtlint.dry_build.result import DryBuildResult
from trtlint.dry_build.wheels import Wheels
from trtlint.process import Cause
from trtlint.runs import dry
from trtlint.runs.dry import _keep, _kept, _Room


@pytest.mark.parametrize(
    ("cause", "signal", "kept"),
    [
        ("done", "", True),
        ("crashed", "SIGSEGV", True),
        ("crashed", "SIGKILL", False),
        ("time", "", False),
        ("memory", "", False),
        ("failed", "", False),
    ],
)
def test_results_that_depend_on_the_machine_are_not_cached(
    cause: Cause, signal: str, kept: bool, tmp_path: Path
) -> None:
    log, entry, model = tmp_path / "log", tmp_path / "cache" / "ab" / "cd.dry", tmp_path / "m.onnx"
    log.write_text("the log", "utf-8")
    result = DryBuildResult("1.7.1", cause=cause, signal=signal, data_files=("none.data",), asked_sm=80)
    _keep(entry, result, model, log)
    assert entry.exists() is kept
    log.unlink()
    request = DryBuildRequest(Wheels("1.7.1", ""), sm=86)
    assert _kept(entry, request, model, log) == (replace(result, asked_sm=86) if kept else None)
    assert log.exists() is kept
    if kept:
        assert log.read_text("utf-8") == "the log"
        (tmp_path / "none.data").touch()
        assert _kept(entry, request, model, log) is None


@pytest.mark.parametrize(("size", "kept"), [(100, True), (101, False)])
def test_long_logs_are_not_cached(
    size: int, kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dry, "_LARGEST_LOG", 100)
    log, entry = tmp_path / "log", tmp_path / "cache" / "ab" / "cd.dry"
    log.write_bytes(b"x" * size)
    _keep(entry, DryBuildResult("1.7.1"), tmp_path / "m.onnx", log)
    assert entry.exists() is kept
    _keep(tmp_path / "cache" / "ab" / "ef.dry", DryBuildResult("1.7.1"), tmp_path / "m.onnx", tmp_path / "no")
    assert not (tmp_path / "cache" / "ab" / "ef.dry").exists()


class Builds:
    """Dry builds in threads that share memory."""

    def __init__(self, most: int) -> None:
        self._room, self._most = _Room(), most
        self._ends: list[threading.Event] = []

    def start(self, needed: int) -> threading.Event:
        """Start a dry build; return the event of its begin."""
        began, end = threading.Event(), threading.Event()

        def work() -> None:
            with self._room.of(needed, self._most):
                began.set()
                end.wait(30)

        threading.Thread(target=work, daemon=True).start()
        self._ends.append(end)
        return began

    def end(self, number: int) -> None:
        """End a dry build."""
        self._ends[number].set()


def test_dry_builds_wait_until_there_is_memory() -> None:
    builds = Builds(10)
    assert builds.start(6).wait(30)
    assert builds.start(4).wait(30)
    third = builds.start(1)
    assert not third.wait(0.05)
    builds.end(1)
    assert third.wait(30)
    builds.end(0)
    builds.end(2)


def test_a_single_dry_build_may_exceed_the_memory() -> None:
    builds = Builds(10)
    assert builds.start(20).wait(30)
    second = builds.start(20)
    assert not second.wait(0.05)
    builds.end(0)
    assert second.wait(30)
    builds.end(1)
