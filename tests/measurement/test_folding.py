"""Tests that weights which TensorRT folds are folded before rounding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tests.graphs import model_of
from tests.measurement.test_measuring import measure
from trtlint.measurement.folding import Folding, find_folding
from trtlint.measurement.measurement import Measurement
from trtlint.measurement.trialmodel import load_trial_model

pytest.importorskip("onnxruntime")

Array = np.ndarray[Any, np.dtype[Any]]
CHANNELS = 4


def normalized(
    variance: Array, *, convolution: bool = True, exposed: bool = False, element: int = 1, gain: float = 1.0
) -> onnx.ModelProto:
    """Return a convolution, a BatchNormalization with this variance, and an activation."""
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
    """The variance and the unfolded convolution result both exceed FP16."""
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
    folding = load_trial_model(tmp_path / "model.onnx").folding
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


TEXT = """< ir_version: %d, opset_import: ["" : %d, "own" : 1] >
g (float[1,2,4,4] x, float[2] given, float[2,2,1,1] kernel, float[] any, float[2] default = {1, 1}) => (%s)
< float[2,2,1,1] w = {1, 2, 3, 4}, float[2] c = {5, 6}, float[2] g = {2, 3}, float[2] b = {1, 1},
  float[2] m = {4, 6}, float[2] v = {3, 8}, float[2] huge = {3e38, 1}, float[2] low = {-2, 1},
  float[1] one = {1}, float[2,1] column = {1, 1}, float two = {2} >
{ %s }"""
PAIR = "[conv] h = Conv (x, w) [norm] y = BatchNormalization <epsilon = 1.0> (h, g, b, m, v)"


def folded(body: str, *, opset: int = 17, outputs: str = "float[] y") -> Folding:
    model = model_of(TEXT % (8 if opset > 8 else 3, opset, outputs, body))
    return find_folding(model.graph, model.tensors, opset)


def test_a_folded_pair_and_its_numbers() -> None:
    found = folded(PAIR)
    assert found.partner == {"norm": "conv", "conv": "norm"}
    assert found.constants == set()
    assert {value.name for value in found.hidden} == {"h", "w", *"gbmv"}
    assert [found.together(path) for path in ("norm", "conv", "y")] == [{"norm", "conv"}] * 2 + [{"y"}]
    (affine,) = found.affine.values()
    assert (affine.scale.tolist(), affine.shift.tolist()) == ([1, 1], [-3, -5])
    assert affine.scale.dtype == affine.shift.dtype == np.float32
    (affine,) = folded(PAIR.replace("(x, w)", "(x, w, c)")).affine.values()
    assert (affine.scale.tolist(), affine.shift.tolist()) == ([1, 1], [2, 1])


def test_a_small_number_is_added_to_the_variance() -> None:
    (affine,) = folded("[norm] y = BatchNormalization (x, g, b, m, v)").affine.values()
    np.testing.assert_allclose(affine.scale, [2 / np.sqrt(3 + 1e-5), 3 / np.sqrt(8 + 1e-5)], rtol=1e-7)
    np.testing.assert_allclose(affine.shift, 1 - np.array([4, 6]) * affine.scale, rtol=1e-6)


NORM = "[norm] y = BatchNormalization"
JOINED, ALONE, NEITHER = "joined", "alone", "neither"


@pytest.mark.parametrize(
    ("old", "new", "how"),
    [
        ("", "", JOINED),
        ("(x, w)", "(x, w, c)", JOINED),
        ("(x, w)", "(x, w, given)", ALONE),
        ("(x, w)", "(x, w, default)", JOINED),
        ("(x, w)", "(x, w, one)", ALONE),
        ("(x, w)", "(x, w, huge)", JOINED),
        ("(x, w)", "(x, kernel)", ALONE),
        ("[conv] h = Conv (x, w)", "k = Mul (w, two) [conv] h = Conv (x, k)", JOINED),
        ("[conv] h = Conv (x, w)", "k = Mul (w, kernel) [conv] h = Conv (x, k)", ALONE),
        ("[conv] h = Conv (x, w)", "d = Mul (c, two) [conv] h = Conv (x, w, d)", JOINED),
        ("= Conv", "= own.Conv", NEITHER),
        ("[conv] h = Conv (x, w)", "[conv] h = Neg (x)", ALONE),
        ("[norm]", "z = Neg (h) [norm]", ALONE),
        ("(h, g, b", "(h, given, b", NEITHER),
        ("b, m, v", "b, m, default", JOINED),
        ("b, m, v", "b, m, given", NEITHER),
        ("b, m, v", "b, m, low", NEITHER),
        ("(h, g, b", "(h, one, b", NEITHER),
        ("(h, g, b", "(h, column, b", NEITHER),
        ("(h, g, b", "(h, huge, b", NEITHER),
        (f"(x, w) {NORM} <epsilon = 1.0>", f"(x, w, huge) {NORM} <epsilon = -2.0>", ALONE),
        ("(h,", "(any,", NEITHER),
        ("(h,", "(given,", NEITHER),
        ("<epsilon", "<training_mode = 0, epsilon", JOINED),
        ("y = BatchNormalization <", "y, mean, deviation = BatchNormalization <training_mode = 1, ", NEITHER),
        ("= BatchNormalization", "= own.BatchNormalization", NEITHER),
    ],
)
def test_which_normalizations_are_folded(old: str, new: str, how: str) -> None:
    found = folded(PAIR.replace(old, new))
    if how == NEITHER:
        assert (found.affine, found.partner) == ({}, {})
        return
    (affine,) = found.affine.values()
    assert (affine.convolution is not None) == (how == JOINED)
    assert bool(found.partner) == (how == JOINED)


@pytest.mark.parametrize(
    ("opset", "attribute", "how"),
    [(6, "", False), (7, "", True), (8, "", True), (8, "spatial = 1, ", True), (8, "spatial = 0, ", False),
     (9, "", True)],
)  # fmt: skip
def test_normalizations_of_old_opsets(opset: int, attribute: str, how: bool) -> None:
    body = f"[norm] y = BatchNormalization <{attribute}epsilon = 1.0> (x, g, b, m, v)"
    assert bool(folded(body, opset=opset).affine) is how


def test_a_convolution_that_is_an_output_stays() -> None:
    found = folded(PAIR, outputs="float[] y, float[] h")
    assert (found.affine["norm"].convolution, found.partner) == (None, {})
    assert {value.name for value in found.hidden} == set("gbmv")


@pytest.mark.parametrize(
    ("body", "constants", "hidden"),
    [
        ("[a] p = Mul (c, two) y = Add (x, p)", {"a"}, {"c", "two"}),
        ("[a] p = Mul (c, two) [b] q = Neg (p) y = Add (q, given)", {"a", "b"}, {"c", "two", "p"}),
        ("[a] p = Mul (c, given) [b] q = Neg (p) y = Neg (q)", set(), set()),
        ("[a] p = Mul (c, default) y = Add (x, p)", {"a"}, {"c", "default"}),
        ("[a] p = own.Mul (c, two) y = Neg (p)", set(), set()),
        ("[a] p = RandomNormalLike (c) y = Neg (p)", set(), set()),
        ("[a] p = RandomNormal <shape = [2]> () y = Neg (p)", set(), set()),
        ("[k] e = Constant <value_float = 3.0> () [a] p = Mul (c, e) y = Add (x, p)", {"a"}, {"c", "e"}),
        ("[k] e = own.Constant <value_float = 3.0> () [a] p = Mul (c, e) y = Add (x, p)", set(), set()),
        ("[a] p = Mul (c, two) y = Add (x, p) z = Neg (c)", {"a", "Neg_2"}, {"c", "two"}),
        ('[a] p = Clip (c, "", two) y = Add (x, p)', {"a"}, {"c", "two"}),
    ],
)
def test_operators_on_stored_tensors(body: str, constants: set[str], hidden: set[str]) -> None:
    found = folded(body)
    assert found.constants == constants
    assert {value.name for value in found.hidden} == hidden


def test_each_normalization_is_judged_for_itself() -> None:
    open_ = "[open] a = BatchNormalization (x, given, b, m, v)"
    found = folded(f"{open_} [norm] y = BatchNormalization (a, g, b, m, v)")
    assert list(found.affine) == ["norm"]
    flat = "f = ReduceMax <axes = [2, 3], keepdims = 0> (x) [norm] y = BatchNormalization (f, g, b, m, v)"
    assert list(folded(flat).affine) == ["norm"]
