"""Measuring from end to end: a norm that is measured, fixed and measured again; a public speech model."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import pytest

from trtlint.cli import run
from trtlint.engine.rulebook import load_builtin
from trtlint.runs.linting import lint_file
from trtlint.target.target import Target
from trtlint.trials.measure import Request
from trtlint.trials.measurement import Measurement
from trtlint.trials.measuring import measured
from trtlint.trials.trials import Trials

pytest.importorskip("onnxruntime")

# As NAFNet's LayerNorm2d is exported in FP16; 16384 and 2 are the bits of 2 and of an epsilon.
NAFNET_NORM = """
< ir_version: 8, opset_import: ["" : 17] >
nafnet_norm (float16[1,64,16,16] x) => (float16[1,64,16,16] y)
< float16 two = {16384}, float16 eps = {168} >
{
  mu = ReduceMean <axes = [1], keepdims = 1> (x)
  d = Sub (x, mu)
  square = Pow (d, two)
  variance = ReduceMean <axes = [1], keepdims = 1> (square)
  shifted = Add (variance, eps)
  root = Sqrt (shifted)
  y = Div (d, root)
}
"""
STRONG = Target(version="11.0")


def measure(model: Path, inputs: Path) -> Measurement:
    return measured(Request(str(model), str(model), (str(inputs),)), lambda _: None)


def standing(model: Path, found: Measurement) -> str | None:
    """What a measurement makes of the finding about the norm."""
    trials = {STRONG: Trials(measurement=found)}
    (report,) = lint_file(model, [STRONG], load_builtin(), tried=trials)
    return next((finding.standing for finding in report.findings if finding.rule == "ACC101"), None)


def test_a_norm_is_confirmed_fixed_and_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model, fixed, inputs = Path("norm.onnx"), Path("fixed.onnx"), Path("batch.npz")
    onnx.save(onnx.parser.parse_model(NAFNET_NORM), model)
    numbers = np.random.default_rng(0).standard_normal((1, 64, 16, 16)) * 300
    np.savez(inputs, x=numbers.astype(np.float16))
    before = measure(model, inputs)
    assert before.outputs[0].error == pytest.approx(1.0, abs=0.01)
    assert standing(model, before) == "confirmed"
    assert run(["fix", str(model), "--output", str(fixed), "--trt", "11.0", "--select", "ACC101"]) == 0
    after = measure(fixed, inputs)
    assert after.good
    assert after.outputs[0].error is not None
    assert after.outputs[0].error < 1e-3
    assert standing(fixed, after) is None


def test_a_norm_that_stays_in_the_range_refutes_it(tmp_path: Path) -> None:
    model, inputs = tmp_path / "norm.onnx", tmp_path / "batch.npz"
    onnx.save(onnx.parser.parse_model(NAFNET_NORM), model)
    np.savez(inputs, x=np.random.default_rng(0).standard_normal((1, 64, 16, 16)).astype(np.float16))
    assert standing(model, measure(model, inputs)) == "refuted"


def test_the_example_overflows_and_no_output_suffers(tmp_path: Path) -> None:
    example = Path(__file__).resolve().parent.parent / "examples" / "nafnet.onnx"
    inputs = tmp_path / "batch.npz"
    numbers = np.random.default_rng(0).standard_normal((1, 16, 32, 32)) * 1500
    np.savez(inputs, in0=numbers.astype(np.float16))
    found = measure(example, inputs)
    assert {site.node for site in found.sites if site.origin} == {"/n1/Mul", "/n2/Mul"}
    assert found.good
    assert found.kept is None


@pytest.mark.skipif(find_spec("silero_vad") is None, reason="the package with the model is not installed")
def test_speech_that_was_not_scaled_is_told_apart(tmp_path: Path) -> None:
    spec = find_spec("silero_vad")
    assert spec is not None
    assert spec.origin is not None
    model = Path(spec.origin).parent / "data" / "silero_vad_16k_op15.onnx"
    time = np.arange(512, dtype=np.float32) / 16000
    speech = (0.3 * np.sin(2 * np.pi * 180 * time))[None]
    found = {}
    for name, scale in (("scaled", 1), ("raw", 32768)):
        state = np.zeros((2, 1, 128), np.float32)
        np.savez(tmp_path / f"{name}.npz", input=speech * scale, state=state, sr=np.array(16000))
        found[name] = measure(model, tmp_path / f"{name}.npz")
    assert found["scaled"].first == ()
    assert "/model/stft/Conv" in found["raw"].first
    trials = {STRONG: Trials(measurement=found["raw"])}
    (report,) = lint_file(model, [STRONG], load_builtin(), tried=trials)
    assert "NUM107" in {finding.rule for finding in report.findings}
