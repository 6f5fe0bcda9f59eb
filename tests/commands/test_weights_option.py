"""Tests that only ``trtlint lint --weights`` reads weights."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from trtlint.cli import run

TEXT = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[1,64] x) => (float[1,64] y)
< float[64,64] w = {} >
{ y = MatMul (x, w) }
"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a model with external weights that include a NaN and a number beyond FP16."""
    monkeypatch.chdir(tmp_path)
    made = onnx.parser.parse_model(TEXT)
    weight = np.full((64, 64), 0.5, np.float32)
    weight[3, 5], weight[7, 7] = np.nan, 1e6
    made.graph.initializer[0].CopyFrom(numpy_helper.from_array(weight, "w"))
    onnx.save(made, "model.onnx", save_as_external_data=True, location="model.data")
    return tmp_path / "model.onnx"


def rules(capsys: pytest.CaptureFixture[str], *words: str) -> set[str]:
    """Return the rules that fire on the model, except the rule about external weights."""
    words = ("--trt", "10.7", "--fp16", "--isolated", "--ignore", "MEM150", *words)
    run(["model.onnx", "--format", "json", *words])
    reports = json.loads(capsys.readouterr().out)["models"]
    return {finding["rule"] for report in reports for finding in report["findings"]}


def test_only_with_the_option(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rules(capsys) == set()
    assert rules(capsys, "--weights") == {"ACC120", "ACC121"}
    # The second time both come from the cache, each its own.
    assert rules(capsys) == set()
    assert rules(capsys, "--weights") == {"ACC120", "ACC121"}


def test_a_changed_file_of_external_data_is_read_again(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rules(capsys, "--weights") == {"ACC120", "ACC121"}
    data = model.with_name("model.data")
    data.write_bytes(np.full((64, 64), 0.5, np.float32).tobytes())
    assert rules(capsys, "--weights") == set()


def test_without_external_data_nothing_is_read(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model.with_name("model.data").unlink()
    assert not {"ACC120", "ACC121"} & rules(capsys, "--weights")
