"""Tests of models that ONNX's reference evaluator runs and ONNX Runtime does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.measurement.test_measuring import measure
from trtlint.measurement.measure import MeasurementRequest
from trtlint.measurement.measuring import measured
from trtlint.measurement.trialmodel import TrialError

pytest.importorskip("onnxruntime")

WHOLE = """
< ir_version: 8, opset_import: ["" : 17] >
whole (int32[2,2] i, float[2,64] x, float[64,8] w) => (float[2,8] y)
< float large = {300} >
{
  product = Gemm (i, i)
  number = Cast <to = 1> (product)
  scaled = Mul (x, large)
  raised = Mul (scaled, large)
  far = MatMul (raised, w)
  near = MatMul (number, far)
  y = Div (near, large)
}
"""


def test_the_reference_runs_what_onnx_runtime_lacks(tmp_path: Path) -> None:
    """ONNX Runtime has no integer Gemm on a CPU."""
    generator = np.random.default_rng(0)
    feeds = {
        "i": np.array([[1, 0], [0, 1]], np.int32),
        "x": generator.random((2, 64)).astype(np.float32),
        "w": generator.random((64, 8)).astype(np.float32),
    }
    found = measure(onnx.parser.parse_model(WHOLE), feeds, tmp_path)
    assert any("ONNX's reference evaluator ran it" in limit for limit in found.limits)
    assert found.verdict == "broken"
    assert found.kept is not None
    assert found.kept.verified
    assert set(found.kept.nodes) >= {"Mul_3", "MatMul_4"}


def test_the_reference_runs_it_on_made_up_inputs(tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model(WHOLE), tmp_path / "model.onnx")
    found = measured(MeasurementRequest(str(tmp_path / "model.onnx"), "model.onnx"), lambda _: None)
    assert any("ONNX's reference evaluator ran it" in limit for limit in found.limits)


def test_what_neither_runs_gets_the_error_of_onnx_runtime(tmp_path: Path) -> None:
    text = WHOLE.replace("Cast <to = 1>", "com.example.Cast").replace(
        '["" : 17]', '["" : 17, "com.example" : 1]'
    )
    onnx.save(onnx.parser.parse_model(text), tmp_path / "model.onnx")
    with pytest.raises(TrialError, match="ONNX Runtime cannot load the model"):
        measured(MeasurementRequest(str(tmp_path / "model.onnx"), "model.onnx"), lambda _: None)


def test_large_models_are_not_run_by_the_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trtlint.measurement.referencesession._MOST_BYTES", 100)
    onnx.save(onnx.parser.parse_model(WHOLE), tmp_path / "model.onnx")
    with pytest.raises(TrialError, match="ONNX Runtime cannot load the model"):
        measured(MeasurementRequest(str(tmp_path / "model.onnx"), "model.onnx"), lambda _: None)
