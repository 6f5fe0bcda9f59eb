"""Tests of Torch-TensorRT scripts and programs as inputs of the command line and of the Python API."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.torch_tensorrt.test_program import document, node, write
from trtlint.cases import NamedCase, cases
from trtlint.engine.evidence.torch import TorchProgramEvidence, script_evidence
from trtlint.errors import ArgumentError, SettingError
from trtlint.knowledge.torchreleases import torch_release
from trtlint.policy.options import DryOptions, LintOptions, TargetOptions, TorchOptions
from trtlint.policy.settings import SettingsReader
from trtlint.process.spawn import Limits
from trtlint.runs.inputs import tasks_of
from trtlint.runs.torchinputs import is_torch
from trtlint.runs.torchjob import TorchJob
from trtlint.target.target import Target
from trtlint.torch_tensorrt.asking import USUAL, TorchRequest
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


def given(*paths: str, **keywords: Any) -> list[NamedCase]:
    """Return the cases of some files for the Python API."""
    return list(cases(paths, TARGETS, {"torch_tensorrt": "2.13", **keywords}))


def test_evidence_about_each_file() -> None:
    program = TorchProgramEvidence(read_program(Path("net.pt2"), "2.13.0"))
    script = script_evidence(Path("build.py"), "2.13.0")
    found = given("net.pt2", "build.py")
    assert [(each.name, each.case.evidence) for each in found] == [
        ("net.pt2", (program,)), ("build.py", (script,)),
    ]  # fmt: skip
    (missing,) = given("none.py")
    assert (missing.case.evidence, [each.path for each in missing.case.problems]) == ((), ["none.py"])


@pytest.mark.parametrize("build", [False, True])
def test_only_a_dry_run_of_a_program_sets_builder_flags(build: bool) -> None:
    program, script = given("net.pt2", "build.py", dry_build=build)
    usual = for_release(TARGETS, RELEASE)
    assert script.case.targets == usual
    assert (program.case.targets == usual) is not build


def command_line(dry: DryOptions, torch: TorchOptions) -> Any:
    """Return the evidence about a program that options of the command line request."""
    options = LintOptions(("net.pt2",), TargetOptions(), dry=dry, torch=torch)
    (task,) = tasks_of(SettingsReader(options, lambda _: None), options)
    return task.case.evidence


BUILD = DryOptions("build", "")


@pytest.mark.parametrize(
    ("keywords", "dry", "torch", "expected"),
    [
        ({"dry_build": True}, BUILD, {}, {}),
        ({"dry_parse": True, "trust_pickle": True}, DryOptions("parse", ""), {"trust_pickle": True},
         {"build": False, "trusted": True}),
        ({"dry_build": True, "torch_python": Path("py"), "torch_wheel": "/wheel"}, BUILD,
         {"python": "py", "wheel": "/wheel"}, {"python": "py", "wheel": "/wheel"}),
        ({"dry_build": True, "options": {"min_block_size": 3}}, BUILD, {"arguments": {"min_block_size": 3}},
         {"options": run_options({"min_block_size": 3})}),
        ({"dry_build": True, "dry_build_seconds": 7, "dry_build_memory": 1 << 30},
         DryOptions("build", "", seconds=7.0, memory=1 << 30), {}, {"limits": Limits(7.0, 1 << 30)}),
        ({"dry_build": True, "dry_build_seconds": 7}, DryOptions("build", "", seconds=7.0), {},
         {"limits": Limits(7.0, USUAL.memory)}),
    ],
)  # fmt: skip
def test_the_request_for_a_dry_run(
    keywords: dict[str, Any], dry: DryOptions, torch: dict[str, Any], expected: dict[str, Any]
) -> None:
    request = TorchRequest("2.13.0", **expected)
    job = TorchJob(read_program(Path("net.pt2"), "2.13.0"), request)
    (found,) = given("net.pt2", **keywords)
    assert found.case.evidence == (job,)
    assert command_line(dry, TorchOptions(RELEASE, **torch)) == (job,)


def test_the_folder_of_a_wheel_is_absolute() -> None:
    (found,) = given("net.pt2", dry_build=True, torch_wheel="wheel")
    (job,) = found.case.evidence
    assert isinstance(job, TorchJob)
    assert job.request.wheel == str(Path.cwd() / "wheel")


def test_a_release_needs_a_script_or_a_program() -> None:
    words = (
        "torch_tensorrt needs a Python script, a notebook, an exported program (.pt2), or a call in command"
    )
    for paths in ((), ("m.onnx",)):
        with pytest.raises(SettingError) as error:
            given(*paths)
        assert str(error.value) == words


def test_a_call_in_the_keyword_command() -> None:
    (found,) = given(command="torch_tensorrt.compile(m, ir='dynamo')")
    assert (found.name, [type(each).__name__ for each in found.case.evidence]) == (
        "--build", ["TorchScriptEvidence"],
    )  # fmt: skip


def test_an_unknown_release() -> None:
    with pytest.raises(SettingError, match=r"unknown Torch-TensorRT release '1\.0'"):
        given("net.pt2", torch_tensorrt="1.0")


@pytest.mark.parametrize("path", ["net.pt2", Path("net.pt2"), ("net.pt2",), iter(["net.pt2"])])
def test_paths(path: Any) -> None:
    assert [each.name for each in cases(path, None, {"torch_tensorrt": "2.13"})] == ["net.pt2"]


def test_a_program_in_memory_is_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    program = SimpleNamespace(graph_signature=1)
    saved: list[str] = []

    def save(each: object, file: str) -> None:
        assert each is program
        saved.append(file)
        write(Path(file), document(node("aten.relu.default", "relu")))

    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(export=SimpleNamespace(save=save)))
    (found,) = cases(program, None, {"torch_tensorrt": "2.13", "dry_build": True})
    (job,) = found.case.evidence
    assert isinstance(job, TorchJob)
    assert (found.name, found.case.path, job.request.trusted) == ("<model>", Path(saved[0]), True)
    assert not Path(saved[0]).parent.exists()


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (3, "path=3: expected a path, paths, or a torch.export.ExportedProgram"),
        (None, "path=None: expected a path, paths, or a torch.export.ExportedProgram"),
        (SimpleNamespace(graph_signature=1),
         "path=<SimpleNamespace>: expected a path, paths, or a torch.export.ExportedProgram"),
        ([1], "path[0]=1: expected a path"),
    ],
)  # fmt: skip
def test_other_objects_are_refused(path: Any, words: str) -> None:
    with pytest.raises(ArgumentError) as error:
        list(cases(path, None, {"torch_tensorrt": "2.13"}))
    assert str(error.value) == words


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
    program = SimpleNamespace(graph_signature=1)
    for found in cases(program, None, {"torch_tensorrt": "2.13"}):
        folder = found.case.path.parent
        folder.rmdir()
        folder.touch()
    folder.unlink(missing_ok=True)
