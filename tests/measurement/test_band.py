"""Tests of the band of a measurement: three ways to compute, and their verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from msgspec import convert
from onnx import numpy_helper

from tests.measurement.test_measuring import GRAPHS, NORM, feeds_of, measure
from trtlint.measurement.band import Band, together, verdict_of, worst
from trtlint.measurement.fusion import FusedLayers
from trtlint.measurement.measure import MeasurementRequest
from trtlint.measurement.measurement import from_data, to_data

pytest.importorskip("onnxruntime")

PRODUCT = """
< ir_version: 8, opset_import: ["" : 17] >
product (float[8,{k}] x) => (float[8,16] y) < float[{k},16] w = {{0}} >
{{ y = {op} (x, w) }}
"""


def half(array: Any) -> Any:
    return array.astype(np.float16).astype(np.float32)


def accumulated(first: Any, second: Any) -> Any:
    """Return a product with an FP16 accumulator of 16 terms at a time."""
    total = np.zeros((first.shape[0], second.shape[1]), np.float32)
    for start in range(0, first.shape[1], 16):
        total = half(total + first[:, start : start + 16] @ second[start : start + 16])
    return total


def product(length: int, op: str, seed: int = 0) -> tuple[onnx.ModelProto, Any, Any]:
    """Return a matrix product, its input and its weight. All have one sign, the worst case of rounding."""
    generator = np.random.default_rng(seed)
    weight = generator.random((length, 16)).astype(np.float32)
    model = onnx.parser.parse_model(PRODUCT.format(k=length, op=op))
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(weight, "w"))
    return model, generator.random((8, length)).astype(np.float32), weight


@pytest.mark.parametrize("op", ["MatMul", "Gemm"])
@pytest.mark.parametrize("length", [96, 128, 1024])
def test_fp16_accumulators_round_every_sixteen_terms(length: int, op: str, tmp_path: Path) -> None:
    model, x, weight = product(length, op)
    band = measure(model, {"x": x}, tmp_path).error
    assert band is not None
    assert band.accumulated is not None
    assert band.rounded is not None
    right, found = x @ weight, accumulated(half(x), half(weight))
    error = float(np.abs(right - found).max() / np.abs(right).max())
    assert band.accumulated > 1.2 * band.rounded
    # Longer sums are computed in 8 blocks, whose errors represent those of more blocks.
    assert band.accumulated == pytest.approx(error, rel=0.02 if length <= 128 else 1.0)


def test_a_short_sum_is_added_at_once(tmp_path: Path) -> None:
    model, x, _ = product(16, "MatMul")
    band = measure(model, {"x": x}, tmp_path).error
    assert band is not None
    assert band.accumulated == band.rounded


@pytest.mark.parametrize("op", ["Conv", "ConvTranspose"])
def test_convolutions_accumulate_over_channels(op: str, tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        f"""< ir_version: 8, opset_import: ["" : 17] >
        c (float[1,64,8,8] x, float[64,64,3,3] w, float[64] b) => (float[1,64,h,v] y)
        {{ y = {op} (x, w, b) }}"""
    )
    generator = np.random.default_rng(0)
    feeds = {"x": generator.random((1, 64, 8, 8)), "w": generator.random((64, 64, 3, 3)), "b": np.zeros(64)}
    found = measure(model, {name: each.astype(np.float32) for name, each in feeds.items()}, tmp_path)
    band = found.error
    assert band is not None
    assert band.rounded is not None
    assert band.accumulated is not None
    assert band.rounded < 5e-4
    assert 1e-3 < band.accumulated < 2e-2


def test_a_length_that_varies_accumulates_too(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        """< ir_version: 8, opset_import: ["" : 17] >
        p (float[1,4,S] a, float[1,S,4] b) => (float[1,4,4] y) { y = MatMul (a, b) }"""
    )
    generator = np.random.default_rng(0)
    for length, factor in ((8, 1.0), (100, 2.0), (700, 2.0)):
        feeds = {
            "a": generator.random((1, 4, length)).astype(np.float32),
            "b": generator.random((1, length, 4)).astype(np.float32),
        }
        band = measure(model, feeds, tmp_path).error
        assert band is not None
        assert band.rounded is not None
        assert band.accumulated is not None
        assert band.accumulated >= band.rounded * (1.2 if factor > 1 else 1.0)
        right, found = (
            feeds["a"][0] @ feeds["b"][0],
            accumulated(half(feeds["a"][0]), half(feeds["b"][0])),
        )
        error = float(np.abs(right - found).max() / np.abs(right).max())
        assert error / 2.5 <= band.accumulated <= error * 2.5


def test_a_norm_depends_on_what_is_fused(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(NORM)
    found = measure(model, feeds_of(model, 300.0), tmp_path)
    assert found.verdict == "depends"
    assert not found.good
    assert found.error is not None
    assert found.error.rounded == 1.0
    assert found.error.fused is not None
    assert found.error.fused < 1e-3


def test_operands_of_a_fused_build_are_rounded(tmp_path: Path) -> None:
    """An operand beyond the range is infinite with any fusion."""
    model = onnx.parser.parse_model(
        """< ir_version: 8, opset_import: ["" : 17] >
        o (float[4,8] x, float[8,8] w) => (float[4,8] y)
        < float large = {100000}, float small = {0.00001} >
        { a = Mul (x, large)  b = MatMul (a, w)  y = Mul (b, small) }"""
    )
    found = measure(model, feeds_of(model, 1.0), tmp_path)
    assert found.error == Band(None, None, None)
    assert found.verdict == "broken"


def test_the_layers_of_a_build_decide(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(NORM)
    feeds = feeds_of(model, 300.0)
    one = FusedLayers("engine.json", 1, 7, frozenset({"y"}))
    two = FusedLayers("engine.json", 2, 7, frozenset({"square", "y"}))
    found = measure(model, feeds, tmp_path, layers=one)
    assert found.verdict == "fine"
    assert found.good
    assert found.kept is None
    assert found.build is not None
    found = measure(model, feeds, tmp_path, layers=two)
    assert found.verdict == "broken"
    assert found.kept is not None
    assert found.kept.verified
    assert from_data(to_data(found)) == found
    request = MeasurementRequest("m", "m", layers=two)
    assert convert(request.document, MeasurementRequest).layers == two


@pytest.mark.parametrize("name", ["attention", "attention operator", "convolution"])
def test_what_is_fused_rounds_less(name: str, tmp_path: Path) -> None:
    model = onnx.parser.parse_model(GRAPHS[name])
    band = measure(model, feeds_of(model, 1.0), tmp_path).error
    assert band is not None
    assert band.fused is not None
    assert band.rounded is not None
    assert 1e-5 < band.fused <= band.rounded * 1.1


def test_instance_normalization_computes_in_fp32_inside(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(GRAPHS["group norm"])
    found = measure(model, feeds_of(model, 1000.0), tmp_path)
    assert found.verdict == "fine"
    assert found.first == ()


def test_tf32_rounds_the_operands_of_products_to_ten_bits(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(GRAPHS["attention"])
    feeds = feeds_of(model, 1.0)
    found = measure(model, feeds, tmp_path, type="tf32")
    assert found.type == "tf32"
    assert found.error is not None
    assert found.error.rounded == found.error.fused == found.error.accumulated
    assert found.error.rounded is not None
    assert 1e-4 < found.error.rounded < 5e-3
    large = {name: each * 5 for name, each in feeds.items()}
    broken = measure(model, large, tmp_path, type="tf32", bound=1e-3)
    assert broken.verdict == "broken"
    assert broken.kept is None  # --noTF32 is the remedy
    pointwise = onnx.parser.parse_model(GRAPHS["exp"])
    found = measure(pointwise, feeds_of(pointwise, 1.0), tmp_path, type="tf32")
    assert found.error == Band(0.0, 0.0, 0.0)
    assert any("no matrix product or convolution of the model reads FP32" in limit for limit in found.limits)


def test_all_types_are_compared(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(GRAPHS["attention"])
    found = measure(model, feeds_of(model, 1.0), tmp_path, type="all")
    assert found.type == "fp16"
    assert [each.type for each in found.types] == ["bf16", "tf32"]
    assert from_data(to_data(found)) == found
    for each in found.types:
        alone = measure(model, feeds_of(model, 1.0), tmp_path, type=each.type)
        assert alone.error == each.error


def test_older_files_have_no_band(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(NORM)
    data = to_data(measure(model, feeds_of(model, 300.0), tmp_path))
    for name in ("verdict", "error", "build", "types"):
        del data[name]
    for output in data["outputs"]:
        del output["error"]
    for name in ("margin", "complete"):
        del data["kept"][name]
    found = from_data(data)
    assert found.error is None
    assert found.verdict == "broken"
    assert not found.good
    assert found.kept is not None
    assert found.kept.complete


@pytest.mark.parametrize(
    ("errors", "verdict"),
    [
        ((0.001, 0.002), "fine"),
        ((0.01,), "fine"),
        ((0.02, None), "broken"),
        ((0.001, None), "depends"),
        ((), "fine"),
    ],
)
def test_verdicts(errors: tuple[float | None, ...], verdict: str) -> None:
    assert verdict_of(errors, 0.01) == verdict


@pytest.mark.parametrize(
    ("errors", "largest"), [((), 0.0), ((0.1, 0.3), 0.3), ((None, 0.3), None), ((0.0,), 0.0)]
)
def test_the_largest_error(errors: tuple[float | None, ...], largest: float | None) -> None:
    assert worst(errors) == largest


def test_the_worst_of_several_outputs_counts() -> None:
    band = together([Band(0.1, 0.2, 0.3), Band(0.2, None, 0.1)])
    assert band == Band(0.2, None, 0.3)
    assert band.worst is None
