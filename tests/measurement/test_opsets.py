"""Tests of measurements in every opset, because older operators have other inputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.dependencies import RECENT_RUNTIME
from tests.measurement.operators import NEWEST, OLDEST, OVERFLOWING, feeds, model_of
from tests.measurement.written import Graph
from trtlint.measurement.formats import BF16
from trtlint.measurement.inputs import Inputs
from trtlint.measurement.measure import MeasurementRequest
from trtlint.measurement.measuring import measured
from trtlint.measurement.narrowing import RewrittenModel
from trtlint.measurement.rewriting import rewrite
from trtlint.measurement.session import RehearsalSession
from trtlint.measurement.trialmodel import TrialError, load_trial_model
from trtlint.measurement.writing import rounded

pytest.importorskip("onnxruntime")

OPSETS = [pytest.param(at, marks=[RECENT_RUNTIME] if at > 21 else []) for at in range(OLDEST, NEWEST + 1)]


@pytest.mark.slow
@pytest.mark.parametrize("type_", ["fp16", "bf16"])
@pytest.mark.parametrize("opset", OPSETS)
def test_operators_of_every_opset_are_rehearsed(opset: int, type_: str, tmp_path: Path) -> None:
    """The numbers are small, so only an incorrect expansion gives a wrong error."""
    path = tmp_path / "model.onnx"
    onnx.save(model_of(opset), path)
    np.savez(tmp_path / "feeds.npz", **feeds())  # type: ignore[arg-type]
    found = measured(
        MeasurementRequest(str(path), "model", Inputs((str(tmp_path / "feeds.npz"),)), type=type_, bound=0.1),
        lambda _: None,
    )
    errors = {output.name: output.error for output in found.outputs}
    assert (errors.pop(OVERFLOWING) is None) == (type_ == "fp16")
    assert not {name: error for name, error in errors.items() if error is None or error > 0.05}
    assert any(site.closer is not None for site in found.sites) or type_ == "bf16"


@pytest.mark.parametrize("opset", OPSETS)
def test_in_fp32_the_rewritten_model_computes_what_the_model_does(opset: int, tmp_path: Path) -> None:
    model = model_of(opset)
    onnx.save(model, tmp_path / "model.onnx")
    mine, _ = RehearsalSession(rewrite(load_trial_model(tmp_path / "model.onnx"))).run(feeds())
    names = tuple(output.name for output in model.graph.output)
    theirs, _ = RehearsalSession(RewrittenModel(model.SerializeToString(), (), names, 1, 0)).run(feeds())
    for name in names:
        np.testing.assert_allclose(mine[name], theirs[name], rtol=1e-4, atol=1e-5, err_msg=name)


def model_with(op: str, opset: int, tmp_path: Path) -> Path:
    """Write a file with one operator of two inputs and a bias."""
    kind = onnx.TensorProto.FLOAT
    infos = [onnx.helper.make_tensor_value_info(name, kind, [4, 4]) for name in "xwy"]
    node = onnx.helper.make_node(op, ["x", "w", "w"][: 3 if op == "Gemm" else 2], ["y"])
    graph = onnx.helper.make_graph([node], "g", infos[:2], infos[2:])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=4)
    onnx.save(model, tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


@pytest.mark.parametrize("opset", [1, 4, 6])
def test_an_opset_that_onnx_runtime_does_not_support_is_named(opset: int, tmp_path: Path) -> None:
    path = model_with("Gemm", opset, tmp_path)
    with pytest.raises(TrialError) as caught:
        measured(MeasurementRequest(str(path), "model"), lambda _: None)
    words = "ONNX Runtime supports opset 7 and newer, and the model has opset"
    assert str(caught.value) == f"{words} {opset}: convert the model with onnx.version_converter"


@pytest.mark.parametrize("op", ["Nothing", "BitwiseAnd"])
def test_other_inputs_are_not_asked_for_where_the_model_is_refused(op: str, tmp_path: Path) -> None:
    path = model_with(op, 18, tmp_path)
    with pytest.raises(TrialError, match="ONNX Runtime cannot load the model") as caught:
        measured(MeasurementRequest(str(path), "model"), lambda _: None)
    assert "inputs" not in str(caught.value)


def test_bf16_is_rounded_without_a_cast_to_it() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    generator = np.random.default_rng(0)
    numbers = (generator.standard_normal(4096) * 10.0 ** generator.integers(-30, 31, 4096)).astype(np.float32)
    numbers[:6] = 0.0, -0.0, np.inf, -np.inf, np.nan, -3e38
    graph = Graph(9, x=1)
    (found,) = graph.run([rounded("x", "y", BF16, graph)], x=numbers)
    wanted = numbers.astype(ml_dtypes.bfloat16).astype(np.float32)
    np.testing.assert_array_equal(found[:5], wanted[:5])
    assert found[5] == numbers[5]
    np.testing.assert_array_equal(found[6:], wanted[6:])
