"""Tests of Torch-TensorRT scripts and programs from keywords of the Python API."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.torch_tensorrt.test_program import document, node, write
from trtlint.engine.evidence.torch import TorchProgramEvidence, script_evidence
from trtlint.errors import SettingError
from trtlint.knowledge.torchreleases import torch_release
from trtlint.runs.torchcases import program_saved, torch_inputs
from trtlint.runs.torchjob import TorchInput, TorchJob, is_torch
from trtlint.target.target import Target
from trtlint.torch_tensorrt.asking import TorchRequest
from trtlint.torch_tensorrt.options import for_release, run_options
from trtlint.torch_tensorrt.program import read_program
from trtlint.torch_tensorrt.result import DryRun

RELEASE = torch_release("2.13")
TARGETS = (Target(), Target(version="10.7", sm=86), Target(product="tensorrt-rtx"))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Return the current folder, with a script and a program."""
    monkeypatch.chdir(tmp_path)
    Path("build.py").write_text("import torch_tensorrt\ntorch_tensorrt.compile(m)\n")
    write(Path("net.pt2"), document(node("aten.relu.default", "relu")))


def inputs(
    *paths: str, level: Any = None, trusted: bool = False, **keywords: Any
) -> list[tuple[TorchInput, tuple[Target, ...]]]:
    """Return the evidence about some files, and their targets."""
    return list(torch_inputs(paths, TARGETS, {"torch_tensorrt": "2.13", **keywords}, level, trusted=trusted))


def test_evidence_about_each_file() -> None:
    program = TorchProgramEvidence(read_program(Path("net.pt2"), "2.13.0"))
    script = script_evidence(Path("build.py"), "2.13.0")
    assert [found for found, _ in inputs("net.pt2", "build.py")] == [
        TorchInput(Path("net.pt2"), (program,)), TorchInput(Path("build.py"), (script,)),
    ]  # fmt: skip
    ((missing, _),) = inputs("none.py")
    assert (missing.evidence, [problem.path for problem in missing.problems]) == ((), ["none.py"])


@pytest.mark.parametrize("level", [None, "build"])
def test_only_a_dry_run_of_a_program_sets_builder_flags(level: Any) -> None:
    (_, program), (_, script) = inputs("net.pt2", "build.py", level=level)
    usual = for_release(TARGETS, RELEASE)
    assert script == usual
    assert (program == usual) is (level is None)


@pytest.mark.parametrize(
    ("level", "trusted", "keywords", "expected"),
    [
        ("build", False, {}, TorchRequest("2.13.0")),
        ("parse", True, {}, TorchRequest("2.13.0", build=False, trusted=True)),
        ("parse", False, {"trust_pickle": True}, TorchRequest("2.13.0", build=False, trusted=True)),
        ("build", False, {"trust_pickle": False, "torch_python": Path("py"), "torch_wheel": "wheel"},
         TorchRequest("2.13.0", python="py", wheel="WHEEL")),
        ("build", False, {"options": {"min_block_size": 3}},
         TorchRequest("2.13.0", options=run_options({"min_block_size": 3}))),
    ],
)  # fmt: skip
def test_the_request_for_a_dry_run(
    level: Any, trusted: bool, keywords: dict[str, Any], expected: TorchRequest
) -> None:
    if expected.wheel:
        expected = TorchRequest("2.13.0", python="py", wheel=str(Path.cwd() / "wheel"))
    ((found, _),) = inputs("net.pt2", level=level, trusted=trusted, **keywords)
    assert found == TorchInput(
        Path("net.pt2"), (TorchJob(read_program(Path("net.pt2"), "2.13.0"), expected),)
    )


def test_other_files_are_refused() -> None:
    found = torch_inputs(["build.py", "m.onnx"], TARGETS, {"torch_tensorrt": 2.13}, None, trusted=False)
    assert next(found)[0].path == Path("build.py")
    with pytest.raises(SettingError) as error:
        next(found)
    words = "m.onnx: torch_tensorrt requires a Python script or an exported program (.pt2)"
    assert str(error.value) == words


def test_an_unknown_release() -> None:
    with pytest.raises(SettingError, match=r"unknown Torch-TensorRT release '1\.0'"):
        inputs("net.pt2", torch_tensorrt="1.0")


@pytest.mark.parametrize(
    ("path", "expected"),
    [("m.pt2", ["m.pt2"]), (Path("m.py"), ["m.py"]), (("a.py", Path("b.py")), ["a.py", "b.py"]), ([], [])],
)
def test_paths(path: Any, expected: list[str]) -> None:
    with program_saved(path) as found:
        assert found == (expected, False)


def test_a_program_in_memory_is_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    program = SimpleNamespace(graph_signature=1)

    def save(each: object, file: str) -> None:
        assert each is program
        Path(file).touch()

    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(export=SimpleNamespace(save=save)))
    with program_saved(program) as (paths, saved):
        (path,) = paths
        assert (Path(path).name, Path(path).is_file(), saved) == ("program.pt2", True, True)
    assert not Path(path).parent.exists()


@pytest.mark.parametrize("path", [3, SimpleNamespace(graph_signature=1)])
def test_other_objects_are_refused(path: Any) -> None:
    words = f"^{type(path).__name__} is neither a path nor an exported program$"
    with pytest.raises(TypeError, match=words), program_saved(path):
        pass


@pytest.mark.parametrize(
    ("path", "expected"),
    [("a.py", True), ("a.PT2", True), ("a.Py", True), ("a.onnx", False), ("a.pyc", False), ("py", False)],
)
def test_files_for_torch_tensorrt(path: str, expected: bool) -> None:
    assert is_torch(path) is expected


@pytest.mark.parametrize(
    ("given", "asked"),
    [([None, None], None), ([None, 86, 75], 86), ([121], 121)],
)
def test_a_dry_run_is_for_the_first_gpu(
    given: list[int | None], asked: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[Any] = []
    run = DryRun(unasked="no")
    monkeypatch.setattr("trtlint.runs.torchjob.ask", lambda *words: requests.append(words) or run)
    program = read_program(Path("net.pt2"), "2.13.0")
    job = TorchJob(program, TorchRequest("2.13.0", trusted=True))
    (found,) = job.gather(Path("net.pt2"), tuple(cast("Any", SimpleNamespace(sm=sm)) for sm in given))
    assert requests == [(Path("net.pt2"), TorchRequest("2.13.0", asked, trusted=True))]
    assert isinstance(found, TorchProgramEvidence)
    assert found.program.run is run
    assert job.elsewhere() is job
    assert job.grounds == {"torch", "network"}


def test_targets_of_a_release() -> None:
    release = torch_release("2.13")
    unknown, own, rtx = for_release(TARGETS, release)
    assert (unknown, own, rtx) == (Target(version=release.tensorrt), TARGETS[1], TARGETS[2])
    flags = for_release(TARGETS, release, {})
    assert [each.version for each in flags] == [release.tensorrt, "10.7", None]
    assert flags[2] == TARGETS[2]
    assert flags[1] != TARGETS[1]


def test_a_program_whose_folder_cannot_be_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    export = SimpleNamespace(save=lambda program, file: None)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(export=export))
    with program_saved(SimpleNamespace(graph_signature=1)) as ((path,), _):
        folder = Path(path).parent
        folder.rmdir()
        folder.touch()
    folder.unlink(missing_ok=True)
