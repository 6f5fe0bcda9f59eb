"""Tests of the example notebook, and of `trtlint.check` against the command line."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest

import trtlint
from tests.conftest import REPOSITORY
from tests.test_api_keywords import cells
from trtlint.cli import run

EXAMPLES = REPOSITORY / "examples"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the examples as the current folder, because the notebook writes a file."""
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    monkeypatch.chdir(tmp_path / "examples")
    return tmp_path / "examples"


def test_the_example_notebook_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxruntime")
    notebook = json.loads((folder / "notebook.ipynb").read_text(encoding="utf-8"))
    before, after = cells(notebook)
    assert "ACC102" in before
    assert "ACC102" not in after
    printed = capsys.readouterr().out
    assert "error ACC102 the attention scale is split over Q and K" in printed
    assert "raised: error ACC102" in printed
    assert printed.endswith("depends\n")
    assert (folder / "vit.fixed.onnx").is_file()


def test_the_example_notebook_is_stored_without_outputs() -> None:
    notebook = json.loads((EXAMPLES / "notebook.ipynb").read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    assert not any(cell.get("outputs") for cell in notebook["cells"])


def test_check_prints_what_the_command_line_prints(capsys: pytest.CaptureFixture[str]) -> None:
    printed = io.StringIO()
    with pytest.raises(trtlint.CheckError):
        trtlint.check("vit.onnx", trt="10.7", fp16=True, file=printed)
    assert run(["vit.onnx", "--trt", "10.7", "--fp16"]) == 1
    assert capsys.readouterr().out == printed.getvalue()
