"""Tests of cached dry builds, and of the memory limit for concurrent dry builds."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import onnx
import pytest
from msgspec.structs import replace

from trtlint.buildcommand.shapes import read_shapes
from trtlint.dry_build.drybuild import DryBuildRequest
from trtlint.dry_build.errors import DryBuildError
from trtlint.dry_build.given import fixed_shapes
from trtlint.dry_build.result import DryBuildResult
from trtlint.dry_build.wheels import Wheels
from trtlint.engine.evidence.dry_build import DryBuildEvidence
from trtlint.measurement.inputs import InputsError
from trtlint.model.errors import ModelError
from trtlint.process import Cause
from trtlint.process.spawn import Limits
from trtlint.runs import dry
from trtlint.runs.dry import _keep, _kept, _Room
from trtlint.runs.dryjob import DryJob
from trtlint.target.target import Target


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
        """Start a dry build and return its start event."""
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


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        ("MemTotal:       16000 kB\nMemFree: 7 kB\nMemAvailable:    1000 kB\nBuffers: 3 kB\n", 1_024_000),
        ("MemAvailable: 0 kB\n", 0),
        ("MemTotal: 16000 kB\n", 1 << 50),
        ("MemAvailable: many kB\n", 1 << 50),
        ("MemAvailable:\n", 1 << 50),
        (None, 1 << 50),
    ],
)
def test_available_memory(text: str | None, memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_text(path: Path, encoding: str) -> str:
        assert (path, encoding) == (Path("/proc/meminfo"), "ascii")
        if text is None:
            raise FileNotFoundError
        return text

    monkeypatch.setattr(Path, "read_text", read_text)
    assert dry.available_memory() == memory


@pytest.mark.parametrize(("level", "name"), [("parse", "net.rtx-1.7.1"), ("build", "net.rtx-1.7.1.sm86")])
def test_logs_are_saved_for_the_user(level: Any, name: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("the log", "utf-8")
    folder, result = tmp_path / "a" / "b", DryBuildResult("1.7.1", level=level, sm=86)
    for _ in range(2):
        dry._save(folder, Path("models/net.onnx"), result, log)
    assert sorted(path.name for path in folder.iterdir()) == [f"{name}.json", f"{name}.log"]
    assert (folder / f"{name}.log").read_text("utf-8") == "the log"
    text = (folder / f"{name}.json").read_text("utf-8")
    assert text == json.dumps(result.document, indent=2) + "\n"


MODEL = Path("m.onnx")


class Asked:
    """A fake dry build that returns a result or an error."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answer: DryBuildResult | Exception = DryBuildResult("1.7.1", sm=86)
        self.requests: list[tuple[str, int | None]] = []
        self.expected = MODEL
        self.needed: list[tuple[int, int]] = []
        monkeypatch.setattr(dry, "find", lambda version, folder: Wheels(version, str(folder or "")))
        monkeypatch.setattr(dry, "ask", self.ask)
        monkeypatch.setattr(dry, "roughly_needed", lambda model, level: 100)
        monkeypatch.setattr(dry, "available_memory", lambda: 1000)
        monkeypatch.setattr(dry, "_ROOM", self)
        monkeypatch.setattr(dry, "step", lambda label: self.steps.append(label))
        monkeypatch.setattr(dry, "read_back", lambda result, log: (result, log.read_text("utf-8")))
        self.steps: list[str] = []

    @contextmanager
    def of(self, needed: int, most: int) -> Iterator[None]:
        """Reserve memory."""
        self.needed.append((needed, most))
        yield

    def ask(self, model: Path, request: DryBuildRequest, log: Path) -> DryBuildResult:
        """Run the dry build."""
        assert model == self.expected
        self.requests.append((request.level, request.sm))
        log.write_text("the log", "utf-8")
        if isinstance(self.answer, Exception):
            raise self.answer
        return replace(self.answer, asked_sm=request.sm)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Replace dry builds by recorded ones."""
    return Asked(monkeypatch)


def job(**more: Any) -> DryJob:
    """Return a request for dry builds."""
    return DryJob(**{"version": "1.7.1", "folder": None, "level": "build", "shapes": (), "limits": Limits(),
                     **more})  # fmt: skip


L4, A10, T4 = (Target(gpu=name, sm=sm) for name, sm in (("L4", 89), ("A10", 86), ("T4", 75)))


def test_targets_with_the_same_gpu_share_a_dry_build(asked: Asked) -> None:
    ten = replace(A10, version="10.7")
    found = dry.dry_builds(job(), MODEL, (A10, T4, ten, A10))
    assert [each.targets for each in found] == [frozenset({A10, ten}), frozenset({T4})]
    assert asked.requests == [("build", 86), ("build", 75)]
    assert asked.needed == [(100, 1000)] * 2
    assert asked.steps == ["building m.onnx with TensorRT-RTX"]
    assert [cast("Any", each.build)[1] for each in found] == ["the log"] * 2


def test_a_parse_is_for_all_gpus(asked: Asked) -> None:
    (found,) = dry.dry_builds(job(level="parse", limits=Limits(memory=99)), MODEL, (A10, T4))
    assert found.targets == frozenset({A10, T4})
    assert (asked.requests, asked.needed) == ([("parse", None)], [(99, 1000)])
    assert asked.steps == ["parsing m.onnx with TensorRT-RTX"]


@pytest.mark.parametrize(
    ("error", "about"),
    [
        (DryBuildError("too large"), ("no dry build: too large",)),
        (ModelError("damaged"), ()),
        (FileNotFoundError(2, "none"), ()),
    ],
)
def test_a_dry_build_that_cannot_run(error: Exception, about: tuple[str, ...], asked: Asked) -> None:
    asked.answer = error
    (found,) = dry.dry_builds(job(), MODEL, (A10,))
    assert found == DryBuildEvidence(None, notes=about, targets=frozenset({A10}))


def test_a_folder_that_cannot_be_written_is_noted(asked: Asked, tmp_path: Path) -> None:
    (tmp_path / "logs").touch()
    (found,) = dry.dry_builds(job(logs=tmp_path / "logs"), MODEL, (A10,))
    assert found.notes[-1].startswith("the log of the dry build cannot be written: ")
    (found,) = dry.dry_builds(job(logs=tmp_path / "own"), MODEL, (A10,))
    assert not any("cannot be written" in line for line in found.notes)
    assert len(list((tmp_path / "own").iterdir())) == 2


@pytest.mark.parametrize(("parsed", "compared"), [(True, "agreement"), (False, None)])
def test_a_parsed_network_is_compared(
    parsed: bool, compared: str | None, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked.answer = DryBuildResult("1.7.1", parsed=parsed)
    monkeypatch.setattr(dry, "_compared", lambda *_: "agreement")
    monkeypatch.setattr(dry, "notes", lambda _: [])
    (found,) = dry.dry_builds(job(compare="inputs"), MODEL, (A10,))
    assert cast("Any", found.build)[0].network == compared


def test_a_comparison_needs_the_memory_of_two_parses(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trtlint.network.compare.compare_network", lambda *given: given[:2])
    request = DryBuildRequest(Wheels("1.7.1", ""))
    found = [
        dry._compared(job(compare="inputs"), replace(request, limits=Limits(memory=memory)), MODEL)
        for memory in (500, 150)
    ]
    assert found == [(MODEL, "inputs")] * 2
    assert asked.needed == [(200, 1000), (150, 1000)]


def test_a_result_in_the_cache_needs_no_dry_build(asked: Asked, tmp_path: Path) -> None:
    model = tmp_path / MODEL
    model.write_bytes(b"model")
    kept = tmp_path / "cache"
    entry = dry._entry(kept, DryBuildRequest(Wheels("1.7.1", ""), sm=86), model)
    assert entry is not None
    result = DryBuildResult("1.7.1", sm=86, asked_sm=86)
    log = tmp_path / "log"
    log.write_text("old", "utf-8")
    _keep(entry, result, model, log)
    (found,) = dry.dry_builds(job(kept=kept), model, (A10,))
    assert (asked.requests, found.build) == ([], (result, "old"))


def test_a_result_of_a_dry_build_is_cached(
    asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    MODEL.write_bytes(b"model")
    kept = tmp_path / "cache"
    first, second, third = (dry.dry_builds(job(kept=kept), MODEL, (gpu,)) for gpu in (A10, A10, T4))
    assert first == second
    assert asked.requests == [("build", 86), ("build", 75)]
    assert third != first
    dry.dry_builds(job(), MODEL, (A10,))
    assert len(asked.requests) == 3


@pytest.mark.parametrize(
    ("shape", "alone", "message"),
    [
        ("y:2x3", True, "--shapes y:2x3: the model has no input 'y'; its inputs: x"),
        ("x:2x4", False, "--shapes x:2x4: the model expects f32[N,3] for the input 'x'"),
        ("y:2x3", False, None),
        ("x:2x3", True, None),
    ],
)
def test_shapes_that_the_user_gives_must_fit(
    shape: str, alone: bool, message: str | None, asked: Asked, tmp_path: Path
) -> None:
    text = '<ir_version: 8, opset_import: ["": 17]> g (float[N,3] x) => (float[N,3] y) { y = Relu (x) }'
    model = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(text), model)
    given = tuple(fixed_shapes((name, size) for name, size in read_shapes(shape) if size))
    made = job(asked=given, alone=alone)
    if message is None:
        asked.expected = model
        assert len(made.gather(model, (A10,))) == 1
        return
    with pytest.raises(InputsError, match=f"^{re.escape(message)}$"):
        made.gather(model, (A10,))
    assert not asked.requests
