"""Tests of build records: precedence of several files."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import pytest

from trtlint.buildfiles import record
from trtlint.buildfiles.errors import BuildFileError
from trtlint.buildfiles.kinds import GivenAs
from trtlint.buildfiles.layers import EngineLayer, EngineTensor, LayerInfo
from trtlint.buildfiles.plan import PlanHeader
from trtlint.buildfiles.profile import LayerTime, Profile
from trtlint.buildfiles.record import (
    BuildRecord,
    FileContents,
    InspectedPlan,
    read_build,
    read_file,
    together,
)
from trtlint.buildfiles.records import Log
from trtlint.buildfiles.settings import BuildSettings

LAYERS, OTHER = (LayerInfo((EngineLayer(0, name),), (EngineTensor(f"{name}.x"),)) for name in ("a", "b"))
PROFILE, LATER = (Profile((LayerTime(name, 1, 1),)) for name in ("a", "b"))
PLAN = PlanHeader("tensorrt", "10.8.0")


UNKNOWN = BuildSettings()


NO_TIMES = "f: the file has no layer times; give the file that trtexec --exportProfile writes"
EMPTY = "the log is empty; save the output of the build, with standard error (2>&1)"
BINARY = "a binary file, not a log; give the output of the build, as text or .gz"


def log(settings: BuildSettings = UNKNOWN, **parts: Any) -> Log:
    empty: dict[str, Any] = {"dumps": (), "profiles": (), "notes": ()}
    return Log(1, 2, settings, {}, {}, {}, {}, **{**empty, **parts})


def of(*contents: Any) -> BuildRecord:
    return together([FileContents(f"f{place}", content) for place, content in enumerate(contents)])


def test_every_kind_of_file() -> None:
    build = log(
        BuildSettings(gpu="L4", found={"gpu": 3}),
        dumps=(OTHER,),
        profiles=(LATER,),
        notes=("cut",),
    )
    found = of(build, LAYERS, PROFILE, PLAN, BuildSettings(sm=89))
    assert found == BuildRecord(
        files=("f0", "f1", "f2", "f3", "f4"),
        log=build,
        log_name="f0",
        layers=LAYERS,
        layers_name="f1",
        profile=PROFILE,
        profile_name="f2",
        plan=PLAN,
        plan_name="f3",
        settings=BuildSettings(product="tensorrt", version="10.8.0", gpu="L4", sm=89),
        places={"gpu": "f0:3", "sm": "f4", "product": "f3", "version": "f3"},
        notes=("f0: cut",),
    )


def test_the_last_lists_of_a_log() -> None:
    build = log(
        dumps=(LAYERS, OTHER),
        profiles=(PROFILE, LATER),
    )
    found = of(build)
    assert (found.layers, found.layers_name) == (OTHER, "f0")
    assert (found.profile, found.profile_name) == (LATER, "f0")
    assert (of(log()).layers, of(log()).profile_name) == (None, "")


def test_an_engine_with_its_layers() -> None:
    found = of(InspectedPlan(PLAN, LAYERS))
    assert (found.plan, found.plan_name, found.layers, found.layers_name) == (PLAN, "f0", LAYERS, "f0")


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (log(), "log"), (LAYERS, "file of engine layers"), (PROFILE, "profile"), (PLAN, "engine"),
    ],
)  # fmt: skip
def test_a_second_file_of_a_kind(content: Any, kind: str) -> None:
    with pytest.raises(BuildFileError) as caught:
        of(content, content)
    assert str(caught.value) == f"f1: a second {kind}; pass one file of each kind for a build"


def test_settings_may_come_from_several_files() -> None:
    found = of(
        log(
            BuildSettings(tool="python", precision=frozenset({"fp32", "fp16"}), tf32=True, found={"tf32": 4})
        ),
        BuildSettings(tool="trtexec", precision=frozenset({"int8", "fp32"}), tf32=True, sm=89),
        BuildSettings(tf32=False, sm=90, found={"sm": 2}),
    )
    assert found.settings == BuildSettings(
        tool="python", precision=frozenset({"fp32", "fp16"}), tf32=True, sm=89
    )
    assert found.places == {"tool": "f0", "precision": "f0", "tf32": "f0:4", "sm": "f1"}
    both = "check that both files come from the same build"
    assert found.notes == (
        f"f1 reports precision fp32, int8, but f0 reports precision fp16, fp32; trtlint uses f0: {both}",
        f"f2:2 reports sm 90, but f1 reports sm 89; trtlint uses f1: {both}",
        f"f2 reports tf32 False, but f0:4 reports tf32 True; trtlint uses f0:4: {both}",
    )


@pytest.mark.parametrize(
    ("role", "content", "expected"),
    [
        ("profile", log(profiles=(PROFILE, LATER)), LATER),
        ("profile", log(profiles=(LATER, PROFILE, PROFILE)), PROFILE),
        ("profile", PROFILE, PROFILE),
        *(("profile", content, NO_TIMES) for content in (UNKNOWN, log(), LAYERS, PLAN)),
        (
            "layers",
            log(dumps=(LAYERS, OTHER)),
            OTHER,
        ),
        ("layers", LAYERS, LAYERS),
        ("layers", log(profiles=(PROFILE,)), "f: the file has no engine layers"),
        ("layers", PROFILE, "f: the file has no engine layers"),
        ("any", LAYERS, LAYERS),
        ("any", PLAN, PLAN),
        ("any", log(profiles=(PROFILE,)), log(profiles=(PROFILE,))),
    ],
)
def test_the_role_of_a_file(
    monkeypatch: pytest.MonkeyPatch, role: GivenAs, content: Any, expected: Any
) -> None:
    monkeypatch.setattr(record, "read_build_file", lambda path: content)
    if isinstance(expected, str):
        with pytest.raises(BuildFileError) as caught:
            read_file("f", role)
        assert str(caught.value) == expected
    else:
        assert read_file("f", role) == FileContents("f", expected)


def test_a_file_without_a_line_of_a_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "read_build_file", lambda path: log())
    assert read_file("f") == FileContents("f", log(), "f: contains no line of a TensorRT build")
    monkeypatch.setattr(record, "read_log", lambda path: log(notes=(path,)))
    cases: tuple[tuple[str, GivenAs], ...] = (("-", "any"), ("f", "log"))
    for path, role in cases:
        note = f"{path}: contains no line of a TensorRT build"
        assert read_file(path, role) == FileContents(path, log(notes=(path,)), note)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (BuildFileError("broken", offset=3), "f: broken at byte 3"),
        (BuildFileError("broken", line=7), "f: broken (line 7)"),
    ],
)
def test_errors_name_the_file_and_the_place(
    monkeypatch: pytest.MonkeyPatch, error: BuildFileError, message: str
) -> None:
    def fail(path: Path) -> None:
        assert path == Path("f")
        raise error

    monkeypatch.setattr(record, "read_build_file", fail)
    with pytest.raises(BuildFileError) as caught:
        read_file("f")
    assert caught.value is error
    assert str(error) == message


@pytest.mark.parametrize("inspected", [True, False])
def test_the_layers_of_an_engine(monkeypatch: pytest.MonkeyPatch, inspected: bool) -> None:
    monkeypatch.setattr(record, "read_build_file", lambda path: PLAN)
    monkeypatch.setattr(record, "inspect_plan", lambda path: LAYERS if inspected else f"no {path}")
    assert read_file("f", "layers") == (
        FileContents("f", InspectedPlan(PLAN, LAYERS))
        if inspected
        else FileContents("f", PLAN, "f: no f; trtlint uses only the product and version of this engine")
    )


def test_files_as_paths_and_with_their_roles(monkeypatch: pytest.MonkeyPatch) -> None:
    contents = {"a": log(), "b": LAYERS}
    monkeypatch.setattr(record, "read_build_file", lambda path: contents[str(path)])
    note = "a: contains no line of a TensorRT build"
    both = together([FileContents("a", log(), note), FileContents("b", LAYERS)])
    assert read_build(["a", ("b", "layers")]) == both
    assert read_build(["a", ("b", "layers")]).notes == (note,)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", EMPTY),
        (
            gzip.compress(b"", mtime=0),
            "the log is empty; save the output of the build, with standard error (2>&1)",
        ),
        (b"\x08\x08\x12\x07pytorch:\x00", BINARY),
        (gzip.compress(b"\x08\x08\x12\x07pytorch:\x00", mtime=0), BINARY),
        (b"no word of a build\n", None),
        ("no word of a build\n".encode("utf-16"), None),
        (b"[TRT] [E] x\n\x00\x00\x00", None),
        (b"[11/29/2026-08:00:00] [I] TensorRT version: 10.3.0\n\x00\x00", None),
    ],
)
@pytest.mark.parametrize("piped", [True, False])
def test_files_that_are_no_logs(
    content: bytes, reason: str | None, piped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f"
    path.write_bytes(content)
    with path.open("rb") as file:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(file))
        name = "-" if piped else str(path)
        if reason is None:
            assert isinstance(read_file(name, "log").content, Log)
            return
        with pytest.raises(BuildFileError) as caught:
            read_file(name, "log")
        assert str(caught.value) == f"{name}: {reason}"
