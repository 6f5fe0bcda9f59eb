"""End-to-end tests of measurements: a norm before and after its fix, and a speech model."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.linting import lint_file
from trtlint.cli import run
from trtlint.engine.evidence.ranges import RangeEvidence
from trtlint.engine.rulebook import load_builtin
from trtlint.measurement.inputs import Inputs
from trtlint.measurement.measure import MeasurementRequest
from trtlint.measurement.measurement import Measurement
from trtlint.measurement.measuring import measured
from trtlint.target.target import Target

pytest.importorskip("onnxruntime")

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
STRONG = Target(version="11.0")


def measure(model: Path, inputs: Path) -> Measurement:
    return measured(MeasurementRequest(str(model), str(model), Inputs((str(inputs),))), lambda _: None)


def standing(model: Path, found: Measurement) -> str | None:
    """Return the status of the norm finding after a measurement."""
    evidence = [RangeEvidence(found)]
    (report,) = lint_file(model, [STRONG], load_builtin(), evidence)
    return next((finding.standing for finding in report.findings if finding.rule == "ACC101"), None)


@pytest.mark.slow
@pytest.mark.parametrize("advice", ["--select=ACC101", "--ranges=ranges.json"])
def test_a_norm_is_confirmed_fixed_and_good(
    advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, inputs = EXAMPLES / "nafnet.onnx", EXAMPLES / "nafnet.npz"
    monkeypatch.chdir(tmp_path)
    before = measure(model, inputs)
    assert before.outputs[0].error is not None
    assert before.outputs[0].error > 0.1
    assert standing(model, before) == "confirmed"
    assert run(["measure", str(model), "--inputs", str(inputs), "--output", "ranges.json"]) == 1
    assert run(["fix", str(model), "--output", "fixed.onnx", "--trt", "11.0", advice]) == 0
    fixed = Path("fixed.onnx")
    after = measure(fixed, inputs)
    assert after.good
    assert after.outputs[0].error is not None
    assert after.outputs[0].error < 2e-3
    assert standing(fixed, after) is None


def test_a_norm_that_stays_in_the_range_refutes_it(tmp_path: Path) -> None:
    model = with_branches(1, tmp_path)
    inputs = features(1, tmp_path)
    assert standing(model, measure(model, inputs)) == "refuted"


def test_what_overflows_in_a_branch_of_no_weight_does_no_harm(tmp_path: Path) -> None:
    found = measure(with_branches(1, tmp_path), features(1500, tmp_path))
    assert {site.node for site in found.sites if site.origin} == {"/n1/Mul", "/n2/Mul"}
    assert found.good
    assert found.kept is None


def with_branches(weight: float, folder: Path) -> Path:
    """Return the example with another weight for its two branches."""
    model = onnx.load(EXAMPLES / "nafnet.onnx")
    (beta,) = (each for each in model.graph.initializer if each.name == "beta")
    beta.CopyFrom(onnx.numpy_helper.from_array(np.full(beta.dims, weight, np.float16), beta.name))
    onnx.save(model, folder / "nafnet.onnx")
    return folder / "nafnet.onnx"


def features(deviation: float, folder: Path) -> Path:
    """Return one batch for the example."""
    numbers = np.random.default_rng(0).standard_normal((1, 16, 32, 32)) * deviation
    np.savez(folder / "batch.npz", in0=numbers.astype(np.float16))
    return folder / "batch.npz"


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
    evidence = [RangeEvidence(found["raw"])]
    (report,) = lint_file(model, [STRONG], load_builtin(), evidence)
    assert "NUM107" in {finding.rule for finding in report.findings}
