"""Tests that the commands of the skill for coding agents print the documented output."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import REPOSITORY
from trtlint.cli import run

TEXT = (REPOSITORY / "skills" / "trtlint" / "SKILL.md").read_text(encoding="utf-8")
MEASURING = "## What FP16 does"


def commands(text: str) -> list[str]:
    blocks = re.findall(r"^```console\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]


def follow(folder: Path, text: str) -> list[int]:
    """Run the commands in a folder and return their exit codes."""
    codes = []
    for command in commands(text):
        words, _, out = command.partition(" > ")
        program, *arguments = words.split()
        assert program == "trtlint"
        printed = io.StringIO()
        with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
            patch.chdir(folder)
            codes.append(run([argument.strip("'") for argument in arguments]))
        assert codes[-1] in (0, 1)
        if out:
            (folder / out).write_text(printed.getvalue(), encoding="utf-8")
    return codes


def read(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


def named(text: str) -> set[str]:
    return set(re.findall(r"`(\w+)(?:\[\])?`", text))


def test_it_says_when_to_use_it_and_is_short() -> None:
    _, front, body = TEXT.split("---\n", 2)
    head = yaml.safe_load(front)
    assert head["name"] == "trtlint"
    assert 100 < len(head["description"]) < 1024
    assert len(body.splitlines()) < 100


def test_find_settle_and_check(tmp_path: Path) -> None:
    shutil.copy(REPOSITORY / "examples" / "vit.onnx", tmp_path / "model.onnx")
    before = (tmp_path / "model.onnx").read_bytes()
    assert follow(tmp_path, TEXT.partition(MEASURING)[0]) == [1, 0, 0, 0]
    (found,) = read(tmp_path / "findings.json")["models"]
    (fixed,) = read(tmp_path / "fixed.json")["models"]
    (after,) = read(tmp_path / "after.json")["models"]
    first, second, _ = re.split(r"^## [23]", TEXT, maxsplit=2, flags=re.MULTILINE)
    fields = {
        "rule",
        "severity",
        "confidence",
        "message",
        "evidence",
        "advice",
        "references",
        "fixes",
        "fingerprint",
    }
    assert fields <= named(first)
    assert fields <= set(found["findings"][0])
    assert {"node", "module", "source"} <= named(first) & set(found["findings"][0]["sites"][0])
    assert {"applied", "refused", "left", "output"} <= named(second) & set(fixed)
    assert "proof" in named(second) & set(fixed["applied"][0])
    settled = {finding["fingerprint"] for finding in found["findings"]}
    assert settled
    assert not settled & {finding["fingerprint"] for finding in after["findings"]}
    assert (tmp_path / "model.onnx").read_bytes() == before


def test_measure(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    shutil.copy(REPOSITORY / "examples" / "nafnet.onnx", tmp_path / "model.onnx")
    shutil.copy(REPOSITORY / "examples" / "nafnet.npz", tmp_path / "batch.npz")
    # The norm fails only with some fusions, so the finding is a warning.
    assert follow(tmp_path, TEXT.partition(MEASURING)[2]) == [1, 0]
    measured = read(tmp_path / "measured.json")
    assert {"outputs", "keep_fp32", "bound"} <= named(TEXT.partition(MEASURING)[2]) & set(measured)
    assert "error_fp16" in named(TEXT.partition(MEASURING)[2]) & set(measured["outputs"][0])
    (confirmed,) = read(tmp_path / "confirmed.json")["models"]
    assert "confirmed" in {finding["confidence"] for finding in confirmed["findings"]}


def test_the_exit_codes_are_those_of_the_program() -> None:
    from trtlint.runs.exits import Exit

    told = [int(code) for code in re.findall(r"^\| (\d) \|", TEXT, re.MULTILINE)]
    assert told == [code for code in Exit if code < 5]
