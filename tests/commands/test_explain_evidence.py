"""Tests that ``--explain-miss`` and ``trtlint.fix`` use the same evidence as a lint."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import trtlint
from tests.conftest import REPOSITORY
from tests.dry_build.rtx import NEEDS_WHEELS, VERSION
from trtlint.cli import run
from trtlint.commands import explain
from trtlint.files import limits

WEIGHT = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[1,64] x) => (float[1,64] y) < float[64,64] w = {} > { [product] y = MatMul (x, w) }
"""
PLUGIN = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[16] x) => (int64[1,N] i) { [relu] y = Relu (x) [nz] i = NonZero (y) }
"""
ATTENTION = """
< ir_version: 8, opset_import: ["" : 17] >
g (float16[1,4,128,64] q, float16[1,4,64,128] k, float16[1,4,128,64] v) => (float16[1,4,128,64] y)
< float16 s = {14336} >
{ [sq] a = Mul (q, s) [sk] b = Mul (k, s) [qk] z = MatMul (a, b) [sm] p = Softmax (z) [pv] y = MatMul (p, v) }
"""
TRT = trtlint.Target(version="10.7")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the test run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def explained(capsys: pytest.CaptureFixture[str], model: str, rule: str, node: str, *words: str) -> str:
    """Return the output of ``--explain-miss``."""
    assert run([model, "--isolated", *words, "--explain-miss", rule, node]) == 0
    return capsys.readouterr().out


def test_the_weights_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    model = onnx.parser.parse_model(WEIGHT)
    weight = np.full((64, 64), 0.5, np.float32)
    weight[3, 5] = np.nan
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(weight, "w"))
    onnx.save(model, "model.onnx")
    said = explained(capsys, "model.onnx", "ACC120", "product", "--weights", "--trt", "10.7")
    assert "ACC120 fires here, at product" in said
    said = explained(capsys, "model.onnx", "ACC120", "product", "--trt", "10.7")
    assert "the model has no fact of kind weights" in said


def test_the_measurement_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxruntime")
    model, inputs = (str(REPOSITORY / "examples" / name) for name in ("nafnet.onnx", "nafnet.npz"))
    run(["measure", model, "--inputs", inputs, "--output", "ranges.json", "--no-rehearse"])
    capsys.readouterr()
    said = explained(capsys, model, "NUM101", "/n1/Mul", "--ranges", "ranges.json", "--trt", "11.0")
    assert "fact of kind tensor_range at all" not in said
    assert "NUM101" in said


def test_unreadable_build_files_are_errors(capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save(onnx.parser.parse_model(ATTENTION), "model.onnx")
    words = ["--isolated", "--trt", "10.7", "--explain-miss", "ACC102", "qk"]
    assert run(["model.onnx", "--log", "missing.log", *words]) == 3
    out, err = capsys.readouterr()
    assert "ACC102 fires here, at qk" in out
    assert err == "error: missing.log: No such file or directory\n"
    Path("broken.log.gz").write_bytes(b"\x1f\x8b\x08broken")
    assert run(["broken.log.gz", *words]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: broken.log.gz: ")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no such timer")
def test_the_time_limit_includes_the_facts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    onnx.save(onnx.parser.parse_model(ATTENTION), "model.onnx")

    def spin(*_: object) -> list[str]:
        until = time.process_time() + 30
        while time.process_time() < until:
            pass
        return []

    monkeypatch.setattr(explain, "explain_miss", spin)
    monkeypatch.setattr(limits, "SECONDS", 1.0)
    assert run(["model.onnx", "--isolated", "--explain-miss", "ACC102", "qk"]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert "model.onnx: reading and checking this file exceeded the limit of 1.0 s" in err


@NEEDS_WHEELS
def test_the_dry_build_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save(onnx.parser.parse_model(PLUGIN), "model.onnx")
    line = ".".join(VERSION.split(".")[:2])
    said = explained(capsys, "model.onnx", "DRY101", "nz", "--dry-parse", "--rtx", line)
    assert "DRY101 fires here, at nz" in said


def test_fix_leaves_what_the_model_suppresses_as_the_command_line_does() -> None:
    model = onnx.parser.parse_model(ATTENTION)
    found = trtlint.fix(model, TRT)
    assert [applied.fix for applied in found.applied] == ["scale-on-query"]
    accepted = [{"rule": "ACC102", "reason": "measured: no loss"}]
    model.metadata_props.add(key="trtlint.suppress", value=json.dumps(accepted))
    found = trtlint.fix(model, TRT)
    assert found.model is None
    assert found.applied == ()
    assert [finding.rule for finding in found.reports[0].suppressed] == ["ACC102"]
    onnx.save(model, "model.onnx")
    assert run(["fix", "model.onnx", "--trt", "10.7"]) == 0
    assert not Path("model.fixed.onnx").exists()
