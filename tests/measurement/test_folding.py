"""What TensorRT folds into stored weights is folded before it is rounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tests.measurement.test_measuring import measure
from trtlint.measurement.measurement import Measurement
from trtlint.measurement.skeleton import skeleton

pytest.importorskip("onnxruntime")

Array = np.ndarray[Any, np.dtype[Any]]
CHANNELS = 4


def normalized(
    variance: Array, *, convolution: bool = True, exposed: bool = False, element: int = 1, gain: float = 1.0
) -> onnx.ModelProto:
    """A convolution, a BatchNormalization with this variance, and an activation."""
    generator = np.random.default_rng(0)
    dtype = helper.tensor_dtype_to_np_dtype(element)
    weights = {
        "w": generator.standard_normal((CHANNELS, 3, 3, 3)) * np.sqrt(variance / 27).reshape(-1, 1, 1, 1),
        "c": np.ones(CHANNELS),
        "g": np.full(CHANNELS, gain),
        "b": np.arange(CHANNELS),
        "m": np.sqrt(variance) / 2,
        "v": variance,
    }
    norm = helper.make_node("BatchNormalization", ["h", "g", "b", "m", "v"], ["n"], name="norm")
    nodes = [norm, helper.make_node("Relu", ["n"], ["y"], name="relu")]
    if convolution:
        nodes.insert(0, helper.make_node("Conv", ["x", "w", "c"], ["h"], name="conv"))
    else:
        norm.input[0] = "x"
    outputs = ["y", "h"] if exposed else ["y"]
    shape = [1, 3 if convolution else CHANNELS, 8, 8]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", element, shape)],
        [helper.make_tensor_value_info(name, element, None) for name in outputs],
        [numpy_helper.from_array(array.astype(dtype), name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


LARGE = np.array([4.8e7, 1.0, 2.0e6, 1.0e10])
FEEDS = {"x": np.random.default_rng(1).standard_normal((1, 3, 8, 8)).astype(np.float32)}


def error_of(found: Measurement) -> float:
    error = found.outputs[0].error
    return float("inf") if error is None else error


def test_a_large_variance_is_folded_into_the_convolution(tmp_path: Path) -> None:
    """FP16 does not hold the variance, nor what the convolution gives before it is divided by its root."""
    found = measure(normalized(LARGE), FEEDS, tmp_path)
    assert error_of(found) < 2e-3
    assert found.kept is None
    assert [site.node for site in found.sites if site.node] == ["norm", "relu"]
    assert all(site.fits == "ok" for site in found.sites)


def test_a_batch_normalization_alone_is_one_scale_and_one_shift(tmp_path: Path) -> None:
    feeds = {"x": np.repeat(FEEDS["x"], 2, axis=1)[:, :CHANNELS] * np.float32(100)}
    found = measure(normalized(LARGE, convolution=False), feeds, tmp_path)
    assert error_of(found) < 2e-3
    assert all(site.fits == "ok" for site in found.sites)


def test_a_convolution_that_is_read_elsewhere_is_not_folded(tmp_path: Path) -> None:
    found = measure(normalized(LARGE, exposed=True), FEEDS, tmp_path)
    assert found.first == ("conv",)
    assert found.outputs[1].error is None


def test_the_types_of_a_file_in_fp16_count(tmp_path: Path) -> None:
    onnx.save(normalized(np.array([4.0, 1.0, 2.0, 5.0]), element=10), tmp_path / "model.onnx")
    folding = skeleton(tmp_path / "model.onnx").folding
    assert not folding.affine
    assert not folding.constants


def test_both_nodes_of_a_folded_pair_stay_in_fp32_together(tmp_path: Path) -> None:
    model = normalized(np.ones(CHANNELS), gain=1e5)
    model.graph.node[-1].op_type = "Sqrt"
    model.graph.node[-1].input[0] = "a"
    model.graph.node.insert(2, helper.make_node("Abs", ["n"], ["a"], name="abs"))
    found = measure(model, FEEDS, tmp_path)
    assert found.first == ("norm",)
    assert found.kept is not None
    assert found.kept.verified
    assert found.kept.nodes == ("conv", "norm", "abs", "relu")


def test_an_overflow_before_a_folded_pair_begins_before_it(tmp_path: Path) -> None:
    model = normalized(np.ones(CHANNELS))
    model.graph.node[0].input[0] = "large"
    model.graph.node.insert(0, helper.make_node("Mul", ["x", "x"], ["large"], name="square"))
    found = measure(model, {"x": FEEDS["x"] * np.float32(1000)}, tmp_path)
    assert found.first == ("square",)


def test_operators_on_stored_tensors_are_computed_before_they_are_rounded(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        """< ir_version: 8, opset_import: ["" : 17] >
        c (float[4] x) => (float[4] y) < float large = {1000000}, float small = {0.000001} >
        { [product] one = Mul (large, small)  [scaled] y = Mul (x, one) }"""
    )
    found = measure(model, {"x": np.arange(4, dtype=np.float32)}, tmp_path)
    assert error_of(found) < 1e-3
    assert not [site for site in found.sites if site.fits != "ok"]


def test_a_constant_beyond_the_range_that_is_computed_is_one(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        """< ir_version: 8, opset_import: ["" : 17] >
        c (float[4] x) => (float[4] y) < float large = {100000} >
        { [product] square = Mul (large, large)  [sum] s = Min (x, square)  y = Sqrt (s) }"""
    )
    found = measure(model, {"x": np.arange(4, dtype=np.float32)}, tmp_path)
    (site,) = [site for site in found.sites if site.fits == "overflow"]
    assert (site.node, site.constant, site.origin) == ("product", True, False)
    assert error_of(found) < 1e-3
