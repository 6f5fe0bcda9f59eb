"""Outputs that are 0 or constant prove nothing, whatever the error is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.inprocess import printed
from trtlint.conversion.run import run
from trtlint.conversion.session import ConversionRequest as Conversion
from trtlint.fixes.verification import outputs
from trtlint.measurement.inputs import Inputs
from trtlint.measurement.trivial import trivial, zeros
from trtlint.model.graph import Graph

pytest.importorskip("onnxruntime")

SILENT = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[4,8] x) => (float[4,8] y) < float zero = {0} > { a = Mul(x, zero) [relu] y = Relu(a) }
"""
CONSTANT = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[4,8] x) => (float[4,8] y)
< float zero = {0}, float bias = {3} > { a = Mul(x, zero) y = Add(a, bias) }
"""
TWO = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[2] x, float[2] t) => (float[2] y, float[2] z, int64[1] s)
{ y = Relu(x) z = Relu(t) s = Shape(x) }
"""


@pytest.fixture(params=[SILENT, CONSTANT], ids=["zero", "constant"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    onnx.save(onnx.parser.parse_model(request.param), tmp_path / "m.onnx")
    rng = np.random.default_rng(0)
    for index in range(4):
        np.savez(tmp_path / f"{index}.npz", x=rng.standard_normal((4, 8)).astype(np.float32))
    return tmp_path / "m.onnx"


def batches(model: Path) -> tuple[str, ...]:
    return tuple(str(model.with_name(f"{index}.npz")) for index in range(4))


def test_a_conversion_is_not_proven_by_a_constant_output(model: Path) -> None:
    found, _ = run(Conversion(model, inputs=Inputs(batches(model)[:1])), None)
    assert found.verdict == "unproven"
    (proof,) = (proof for proof in found.proofs if proof.name == "rehearsal")
    assert proof.text.startswith("not proven: output y is ")


def test_a_measurement_of_a_constant_output_is_not_fine(model: Path) -> None:
    words = [word for file in batches(model) for word in ("--inputs", file)]
    found = printed(model.parent, "measure", str(model), *words)
    assert found.code == 1
    assert "FP16: not proven: output y is " in found.out
    assert "fine" not in found.out


def test_a_fix_is_not_verified_by_an_output_of_zeros(tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model(SILENT), tmp_path / "m.onnx")
    found = outputs(tmp_path / "m.onnx", tmp_path / "m.onnx", Inputs())
    assert found.good is None
    assert "output y is 0 on these inputs (weights are zero?)" in found.words


def test_only_inputs_that_an_output_reads_count() -> None:
    graph = Graph(onnx.parser.parse_model(TWO).graph)
    one, two = np.ones(2, np.float32), np.full(2, 2, np.float32)
    shape = np.array([2])
    feeds = [{"x": one, "t": one}, {"x": two, "t": one}]
    given = [{"y": one, "z": one, "s": shape}, {"y": two, "z": one, "s": shape}]
    assert not trivial(graph, given, feeds)
    same = [{"y": one, "z": one, "s": shape}] * 2
    assert trivial(graph, same, feeds) == {"y": "equal for all of these inputs"}
    assert not trivial(graph, same[:1], feeds[:1])


def test_an_empty_or_integer_output_is_not_zero() -> None:
    assert zeros(
        [{"a": np.zeros(0, np.float32), "b": np.zeros(2, np.int64), "c": np.zeros(2, np.float32)}]
    ) == ["c"]
    assert not zeros([])
