"""Tests of TF32 measurements as evidence, and of their advice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.linting import lint_file
from tests.measurement.test_measuring import measure
from trtlint.engine.evidence.ranges import RangeEvidence
from trtlint.engine.rulebook import load_builtin
from trtlint.measurement.measurement import Measurement, UnusableMeasurementError
from trtlint.report.measureadvice import advice, to_keep
from trtlint.target.target import Target

pytest.importorskip("onnxruntime")

CLIP = """
< ir_version: 8, opset_import: ["" : 17] >
clip (float[1,32,8,8] x, float[2,32,1,1] w) => (float[1,2,8,8] y) < float low = {-0.5}, float high = {0.5} >
{ c = Conv (x, w)  y = Clip (c, low, high) }
"""
TARGET = Target(version="10.0", sm=89)


def found(folder: Path, type_: str, bound: float) -> Measurement:
    """Return a convolution before a clip, with a TF32 error of about 2e-4."""
    generator = np.random.default_rng(0)
    weight = onnx.numpy_helper.from_array(
        (generator.standard_normal((2, 32, 1, 1)) / 40).astype(np.float32), "w"
    )
    model = onnx.parser.parse_model(CLIP.replace(", float[2,32,1,1] w)", ")"))
    model.graph.initializer.append(weight)
    feeds = {"x": generator.standard_normal((1, 32, 8, 8)).astype(np.float32)}
    return measure(model, feeds, folder, type=type_, bound=bound)


@pytest.mark.parametrize("type_", ["tf32", "all"])
@pytest.mark.parametrize(("bound", "standing"), [(1e-2, "refuted"), (1e-5, "confirmed")])
def test_a_measurement_confirms_or_refutes_a_finding_about_tf32(
    bound: float, standing: str, type_: str, tmp_path: Path
) -> None:
    measurement = found(tmp_path, type_, bound)
    (report,) = lint_file(tmp_path / "model.onnx", [TARGET], load_builtin(), [RangeEvidence(measurement)])
    (finding,) = [each for each in report.findings if each.rule == "ACC104"]
    assert finding.standing == standing
    assert {each.rule for each in report.findings if each.rule.startswith("NUM")} == set()


def test_tf32_is_turned_off_and_not_kept_off_by_casts(tmp_path: Path) -> None:
    measurement = found(tmp_path, "tf32", 1e-5)
    (one,) = advice(measurement, [TARGET], {})
    assert one.command == "trtexec --onnx=model.onnx --noTF32"
    with pytest.raises(UnusableMeasurementError, match="--noTF32"):
        to_keep(measurement)
    assert advice(found(tmp_path, "tf32", 1e-2), [TARGET], {}) == []
