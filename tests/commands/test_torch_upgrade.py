"""Tests of ``trtlint upgrade`` for scripts and programs between Torch-TensorRT releases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import jsonschema
import pytest

from tests import schemas
from tests.torch_tensorrt.test_program import document, node, write
from trtlint.cli import run
from trtlint.commands import upgrade as upgrade_command
from trtlint.engine import torchupgrade
from trtlint.files.problem import Problem
from trtlint.knowledge.torchreleases import TorchOperator, torch_range
from trtlint.policy.settings import SettingsReader
from trtlint.torch_tensorrt.program import ProgramError

SCRIPT = """\
import torch
import torch_tensorrt
spec = {"ir": "dynamo", "enabled_precisions": {torch.half}, "debug": True}
compiled = torch_tensorrt.compile(net, inputs=[x], **spec)
"""
OPERATORS = ("glu", "cumprod", "cumprod", "masked_scatter", "fft_rfft", "relu")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Return the current folder, with a script and a program."""
    monkeypatch.chdir(tmp_path)
    Path("build.py").write_text(SCRIPT)
    nodes = (node(f"aten.{op}.default", f"n{index}") for index, op in enumerate(OPERATORS))
    write(Path("net.pt2"), document(*nodes))


def upgraded(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """Return the JSON of an upgrade."""
    assert run(["upgrade", *words, "--isolated", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    jsonschema.validate(data, schemas.load("trtlint.torch-upgrade/1"))
    return data["files"]


def test_operators_that_convert_stay_and_are_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    (file,) = upgraded(capsys, "net.pt2", "--from", "2.7", "--to", "2.14")
    assert {
        each["operator"]: (each["change"], each["until"], each["since"]) for each in file["operators"]
    } == {
        "aten.glu.default": ("converts", "2.13", "2.14"),
        "aten.masked_scatter.default": ("converts", "2.7", "2.8"),
        "aten.cumprod.default": ("stays in PyTorch", None, None),
        "aten.fft_rfft.default": ("unknown", None, None),
    }
    assert file["operator_count"] == 6


def test_a_release_that_was_not_asked_is_not_a_change(capsys: pytest.CaptureFixture[str]) -> None:
    (file,) = upgraded(capsys, "net.pt2", "--from", "2.5", "--to", "2.7")
    assert {each["change"] for each in file["operators"]} == {"unknown"}


def test_arguments_that_raise_and_are_ignored(capsys: pytest.CaptureFixture[str]) -> None:
    (file,) = upgraded(capsys, "build.py", "--from", "2.7.0")
    found = {each["finding"]["rule"]: (each["releases"], each["places"]) for each in file["findings"]}
    assert found == {
        "TTR106": (["2.8", "2.9", "2.10", "2.11", "2.12", "2.13", "2.14"], ["build.py:3"]),
        "TTR101": (["2.10", "2.11", "2.12"], ["build.py:4"]),
        "TTR102": (["2.13", "2.14"], ["build.py:4"]),
    }


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["upgrade", "build.py", "net.pt2", "--from", "2.7", "--to", "2.14", "--isolated"]) == 0
    out = capsys.readouterr().out
    assert "build.py: Torch-TensorRT 2.7 to 2.14 (TensorRT 10.9.0 to 11.1.0): 2 new findings, 0 gone" in out
    assert "error[TTR101] in 2.10 to 2.12: " in out
    assert "gone: TTR101 build.py:4" in out
    assert "aten.glu.default, 1 node: converts from 2.14\n" in out
    assert "aten.masked_scatter.default, 1 node: converts from 2.8\n" in out
    assert "PyTorch in 2.7 to 2.11" in out


def test_releases_that_were_not_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("2.7.0", "2.10.0", "2.14.0")
    rows = {"aten.glu.default": TorchOperator(asked, frozenset({"2.7.0"}), "aten.glu.default")}
    monkeypatch.setattr(torchupgrade, "torch_operators", lambda: rows)
    assert run(["upgrade", "net.pt2", "--from", "2.7", "--to", "2.14", "--isolated"]) == 0
    assert "converts from 2.10 at the latest (2.8, 2.9: not known)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["net.pt2", "m.onnx", "--from", "2.7"], "run trtlint upgrade separately for each file"),
        (["net.pt2", "--from", "10.3"], "unknown Torch-TensorRT release '10.3'; use 2.5 to 2.14"),
        (["net.pt2", "--from", "2.9", "--to", "2.7"], "2.7 is not newer than 2.9"),
        (["build.py", "--from", "2.7", "--output", "htm:a"], "did you mean 'html'"),
        (["build.py", "--from", "2.7", "--build", "build.sh"], "--build does not apply"),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    assert run(["upgrade", *words, "--isolated"]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert message in line


def test_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["upgrade", "build.py", "--from", "2.7", "--isolated", "--fail-on", "error"]
    assert run([*words, "--to", "2.12"]) == 1
    assert run([*words, "--to", "2.13"]) == 0
    Path("broken.py").write_text("def")
    assert run(["upgrade", "broken.py", "build.py", "--from", "2.7", "--isolated"]) == 3
    assert "error: " in capsys.readouterr().out


def test_findings_name_the_release(capsys: pytest.CaptureFixture[str]) -> None:
    run(["build.py", "--torch-tensorrt", "2.13", "--isolated", "--no-cache"])
    out = capsys.readouterr().out
    assert "applies to: Torch-TensorRT 2.13\n" in out
    assert "you build for" not in out
    run(["net.pt2", "--torch-tensorrt", "2.13", "--isolated", "--no-cache"])
    out = capsys.readouterr().out
    assert "applies to: Torch-TensorRT 2.13\n" in out
    assert "you build for" not in out


def test_hostile_files_run_nothing_and_meet_limits(capsys: pytest.CaptureFixture[str]) -> None:
    Path("build.py").write_text(f"open('ran', 'w')\n{SCRIPT}")
    Path("deep.py").write_text("import torch_tensorrt\nx = " + "(" * 5000 + ")" * 5000)
    assert run(["upgrade", "build.py", "--from", "2.7", "--isolated"]) == 0
    assert not Path("ran").exists()
    capsys.readouterr()
    assert run(["upgrade", "deep.py", "--from", "2.7", "--isolated"]) == 3
    assert "brackets" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ProgramError("too large"), "net.pt2: too large"),
        (FileNotFoundError(2, "No such file or directory"), "net.pt2: No such file or directory"),
        (MemoryError(), "net.pt2: not enough memory to compare the releases for this file"),
    ],
)
def test_a_file_that_cannot_be_compared_is_a_problem(
    error: Exception, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_program(*_: object) -> None:
        raise error

    monkeypatch.setattr("trtlint.torch_tensorrt.program.read_program", read_program)
    reader = cast("SettingsReader", None)
    found = upgrade_command._compared(Path("net.pt2"), reader, torch_range("2.7", None))
    assert isinstance(found, Problem)
    assert str(found) == message
