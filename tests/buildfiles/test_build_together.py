"""Tests of several files of one build: content detection, merging and contradictions."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest

from trtlint.buildfiles.errors import BuildFileError
from trtlint.buildfiles.inspector import inspect_plan
from trtlint.buildfiles.recognise import is_build_file
from trtlint.buildfiles.record import BuildRecord, read_build

LOG = (
    "&&&& RUNNING TensorRT.trtexec [TensorRT v101303] [b9] # trtexec --onnx=a.onnx --fp16\n"
    "[01/02/2026-10:00:00] [I] TF32 is enabled by default. Add --noTF32 flag.\n"
)
DUMP = "[V] Engine Layer Information:\nLayer(Convolution): conv, Tactic: 0x1, x (Half[1]) -> y (Half[1])\n"
LAYERS = {"Layers": ["conv", "relu"], "Bindings": ["x", "y"]}
PROFILE = [
    {"count": 10},
    {"name": "conv", "timeMs": 20.0, "averageMs": 2.0, "medianMs": 2.0, "percentage": 80.0},
    {"name": "relu", "timeMs": 5.0, "averageMs": 0.5, "medianMs": 0.5, "percentage": 20.0},
]
PLAN = b"ftrt" + bytes(20) + bytes([10, 8, 0, 43]) + bytes(100)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("build.log").write_text(LOG)
    Path("build.log.gz").write_bytes(gzip.compress(LOG.encode()))
    Path("layers.json").write_text(json.dumps(LAYERS))
    Path("profile.json").write_text(json.dumps(PROFILE))
    Path("model.plan").write_bytes(PLAN)
    Path("model.onnx").write_bytes(b"\x08\x08\x12\x04test")
    Path("notes").write_text("nothing of a build\n")
    return tmp_path


def test_every_part_finds_its_place(folder: Path) -> None:
    found = read_build(["build.log", "layers.json", "profile.json"])
    assert (found.log_name, found.layers_name, found.profile_name) == (
        "build.log",
        "layers.json",
        "profile.json",
    )
    assert found.settings.version == "10.13.3"
    assert found.places["version"] == "build.log:1"
    assert found.notes == ()


def test_a_log_brings_its_layers(folder: Path) -> None:
    Path("build.log").write_text(LOG + DUMP)
    found = read_build(["build.log"])
    assert found.layers is not None
    assert [layer.name for layer in found.layers.layers] == ["conv"]
    assert found.layers_name == "build.log"


def test_a_layer_file_goes_before_the_layers_of_the_log(folder: Path) -> None:
    Path("build.log").write_text(LOG + DUMP)
    found = read_build(["build.log", "layers.json"])
    assert found.layers is not None
    assert len(found.layers.layers) == 2


def test_files_that_differ_are_named(folder: Path) -> None:
    found = read_build(["build.log", "model.plan"])
    assert found.settings.version == "10.13.3"
    (note,) = found.notes
    assert note == (
        "model.plan reports version 10.8.0, but build.log:1 reports version 10.13.3; "
        "trtlint uses build.log:1: check that both files come from the same build"
    )


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            [("build.log", "any"), ("build.log.gz", "any")],
            "build.log.gz: a second log; pass one file of each kind for a build",
        ),
        (
            [("layers.json", "profile")],
            "layers.json: the file has no layer times; give the file that trtexec --exportProfile writes",
        ),
        ([("profile.json", "layers")], "profile.json: the file has no engine layers"),
        ([("build.log", "layers")], "build.log: the file has no engine layers"),
        ([("missing.log", "log")], "missing.log: No such file or directory"),
    ],
)
def test_what_cannot_be_used(folder: Path, files: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(BuildFileError) as caught:
        read_build(files)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_a_cut_layer_file_names_its_line(folder: Path) -> None:
    Path("layers.json").write_text(json.dumps(LAYERS, indent=1)[:30])
    with pytest.raises(BuildFileError, match=r"^layers.json: not valid JSON.* \(line 4\) at byte 27$"):
        read_build(["layers.json"])


def test_text_of_something_else_is_said_to_be_that(folder: Path) -> None:
    found = read_build([("notes", "log")])
    assert found.notes == ("notes: contains no line of a TensorRT build",)


def test_nothing_is_a_build_too() -> None:
    assert read_build([]) == BuildRecord()


def test_a_plan_without_tensorrt_says_so_and_gives_its_header(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = read_build([("model.plan", "layers")])
    assert (found.settings.product, found.settings.version, found.layers) == ("tensorrt", "10.8.0", None)
    assert found.notes == (
        "model.plan: cannot list the layers without the Python package tensorrt; trtlint uses only "
        "the product and version of this engine",
    )


class FakeEngine:
    """A fake engine whose inspector answers like TensorRT's."""

    def create_engine_inspector(self) -> FakeEngine:
        return self

    def get_engine_information(self, form: object) -> str:
        assert form == "JSON"
        return json.dumps({"Layers": [{"Name": "conv", "LayerType": "kgen", "Inputs": [], "Outputs": []}]})


class FakeTensorRT:
    """A fake of the used part of the ``tensorrt`` package."""

    __version__ = "10.8.0"
    LayerInformationFormat = type("LayerInformationFormat", (), {"JSON": "JSON"})
    engine: FakeEngine | None = FakeEngine()

    class Logger:
        """A fake logger with one severity."""

        ERROR = 1

        def __init__(self, severity: int) -> None:
            assert severity == self.ERROR

    class Runtime:
        """A fake runtime that loads one engine."""

        def __init__(self, logger: object) -> None:
            assert isinstance(logger, FakeTensorRT.Logger)

        def deserialize_cuda_engine(self, data: bytes) -> FakeEngine | None:
            assert data == PLAN
            return FakeTensorRT.engine


@pytest.mark.parametrize("loads", [True, False])
def test_a_plan_is_inspected_where_tensorrt_has_a_gpu(
    folder: Path, monkeypatch: pytest.MonkeyPatch, loads: bool
) -> None:
    monkeypatch.setitem(sys.modules, "tensorrt", FakeTensorRT)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.setattr("trtlint.buildfiles.inspector._has_gpu", lambda: True)
    monkeypatch.setattr(FakeTensorRT, "engine", FakeEngine() if loads else None)
    found = read_build([("model.plan", "layers")])
    if loads:
        assert found.layers is not None
        assert [layer.name for layer in found.layers.layers] == ["conv"]
        assert found.notes == ()
    else:
        assert found.layers is None
        assert "tensorrt 10.8.0 cannot load the engine" in found.notes[0]


def test_a_plan_where_there_is_no_gpu(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.setattr("trtlint.buildfiles.inspector._DRIVERS", ("libno-such-driver.so",))
    assert str(inspect_plan(Path("model.plan"))).startswith("cannot list the layers without an NVIDIA GPU")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("-", True),
        ("build.log", True),
        ("build.log.gz", True),
        ("layers.json", True),
        ("profile.json", True),
        ("model.plan", True),
        ("model.onnx", False),
        ("notes", False),
        ("missing.onnx", False),
        ("missing.log", True),
        ("missing", False),
    ],
)
def test_files_are_told_apart(folder: Path, path: str, expected: bool) -> None:
    assert is_build_file(path) is expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (LOG.encode(), True),
        (b"some program\n[V] [TRT] Parsing node: a [Conv]\n", True),
        (LOG.encode("utf-16"), True),
        (b"\xef\xbb\xbf" + LOG.encode(), True),
        (gzip.compress(LOG.encode(), mtime=0), True),
        (gzip.compress(b"\x08\x08\x12\x04test", mtime=0), False),
        (b"\x1f\x8bdamaged", False),
        (b'{"Layers": []}', True),
        (PLAN, True),
        (b"\x08\x08\x12\x04test", False),
        (b"", False),
    ],
)
def test_files_without_a_telling_name(tmp_path: Path, data: bytes, expected: bool) -> None:
    path = tmp_path / "unnamed"
    path.write_bytes(data)
    assert is_build_file(str(path)) is expected


def test_an_empty_engine_is_no_log(tmp_path: Path) -> None:
    path = tmp_path / "a.engine"
    path.write_bytes(b"")
    with pytest.raises(BuildFileError, match="the engine file is empty"):
        read_build([str(path)])
