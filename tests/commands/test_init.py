"""Tests of configurations from a build command, from options and from answers."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.inprocess import printed
from trtlint import __version__
from trtlint.policy.config import load


def test_from_a_build_command_and_options(tmp_path: Path) -> None:
    words = ("init", "--trt", "10.8", "--gpu", "RTX 4090", "--build", "trtexec --onnx=m.onnx --fp16 --noTF32")
    done = printed(tmp_path, *words)
    assert done.code == 0, done.err
    text = (tmp_path / "trtlint.toml").read_text(encoding="utf-8")
    body = [line for line in text.splitlines() if not line.startswith("#")]
    assert body == ['target = { trt = "10.8", gpu = "RTX 4090", fp16 = true, tf32 = false }']
    assert ".pre-commit-config.yaml" in done.out
    assert "#   --build 'trtexec --onnx=m.onnx --fp16 --noTF32'\n" in done.out
    assert '#   args: ["--build", "trtexec --onnx=m.onnx --fp16 --noTF32", "--"]\n' in done.out
    (target,) = load(tmp_path / "trtlint.toml").choices(tmp_path / "m.onnx").__iter__().__next__().targets
    assert (target.trt, target.gpu) == (("10.8",), "RTX 4090")


def test_a_file_that_exists_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "trtlint.toml").write_text("# mine\n")
    done = printed(tmp_path, "init", "--trt", "10.8")
    assert done.code == 2
    assert "does not replace it" in done.err
    assert (tmp_path / "trtlint.toml").read_text() == "# mine\n"


@pytest.mark.parametrize(
    ("words", "reason"), [((), "nothing to write"), (("--trt", "10.99"), "10.99"), (("--gpu", "L99"), "L99")]
)
def test_what_cannot_be_written_is_refused(tmp_path: Path, words: tuple[str, ...], reason: str) -> None:
    done = printed(tmp_path, "init", *words)
    assert done.code == 2
    assert reason in done.err
    assert not (tmp_path / "trtlint.toml").exists()


def test_what_is_printed(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    done = printed(tmp_path, "init", "--trt", "10.8", "--gpu", "L4", "--fp16")
    assert done.out.replace(__version__, "0.0") == snapshot


def test_three_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Person(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Person("10.7\nL4\nn\n"))
    done = printed(tmp_path, "init")
    assert done.code == 0, done.err
    text = (tmp_path / "trtlint.toml").read_text(encoding="utf-8")
    assert 'target = { trt = "10.7", gpu = "L4", fp16 = false }\n' in text


def test_the_lines_of_a_baseline_can_be_added_below(tmp_path: Path) -> None:
    done = printed(tmp_path, "init", "--trt", "10.7", "--gpu", "L4")
    (tmp_path / "baseline.json").write_text('{"schema": "trtlint.baseline/1", "entries": []}\n')
    lines = [line for line in done.out.splitlines() if line.startswith(("baseline = ", "fail-on = "))]
    with (tmp_path / "trtlint.toml").open("a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
    found = load(tmp_path / "trtlint.toml")
    assert found.baseline == tmp_path / "baseline.json"
    assert ".gitlab-ci.yml" in done.out
