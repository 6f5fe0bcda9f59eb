"""Tests of the target in the suggested fix command, and of the fix summary."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.inprocess import printed

TARGET = ("--trt", "10.7", "--gpu", "L4", "--fp16")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(REPOSITORY / "examples" / "vit.onnx", tmp_path / "vit.onnx")
    return tmp_path


@pytest.mark.parametrize("format_", ["full", "github", "html", "markdown"])
def test_the_printed_command_has_the_target_of_the_run(folder: Path, format_: str) -> None:
    out = printed(folder, "vit.onnx", "--isolated", *TARGET, "--format", format_).out
    assert "trtlint fix MODEL --select ACC102 --trt 10.7 --gpu L4 --fp16" in out


def test_an_option_of_several_words_is_quoted(folder: Path) -> None:
    build = "trtexec --onnx=vit.onnx --fp16"
    out = printed(
        folder, "vit.onnx", "--isolated", "--trt", "10.7", "--gpu", "RTX 4090", "--build", build
    ).out
    assert f"trtlint fix MODEL --select ACC102 --trt 10.7 --gpu 'RTX 4090' --build '{build}'" in out


def test_the_summary_of_selected_rules_names_them(folder: Path) -> None:
    words = ("fix", "vit.onnx", "--isolated", "--trt", "10.7", "--dry-run")
    assert printed(folder, *words, "--select", "ACC102").out.endswith("1 error before, no ACC102 after\n")
    whole = printed(folder, *words).out
    assert whole.endswith("1 error before, no findings after\n")
    (later,) = [line for line in whole.splitlines() if "PERF104" in line]
    assert later.endswith("(this finding appeared after the first rewrite)")
    assert sum("appeared after" in line for line in whole.splitlines()) == 1


def test_a_hidden_finding_is_not_gone(folder: Path) -> None:
    words = ("upgrade", "vit.onnx", "--isolated", "--from", "10.6", "--to", "10.8", "--format", "json")
    (model,) = json.loads(printed(folder, *words).out)["models"]
    rules = [listed["finding"]["rule"] for listed in model["findings"]]
    changed = [rules[number] for step in model["steps"] for key in ("fixed", "new") for number in step[key]]
    assert "PERF104" in rules
    assert "ACC102" in changed
    assert "PERF104" not in changed


@pytest.mark.parametrize(
    ("target", "noted"),
    [
        (("--trt", "10.0", "--fp16"), True),
        (("--trt", "10.0", "--no-strongly-typed"), True),
        (("--trt", "10.0", "--strongly-typed"), False),
        (("--trt", "11.4"), False),
    ],
)
@pytest.mark.parametrize("format_", ["text", "markdown", "html"])
def test_casts_need_a_strongly_typed_build(
    tmp_path: Path, target: tuple[str, ...], noted: bool, format_: str
) -> None:
    shutil.copy(REPOSITORY / "examples" / "nafnet.onnx", tmp_path / "a.onnx")
    words = ("fix", "a.onnx", "--isolated", "--select", "ACC101", "--dry-run", *target, "--format", format_)
    assert ("only in a strongly typed build" in printed(tmp_path, *words).out) is noted
