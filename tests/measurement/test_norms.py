"""Tests that normalizations compute in FP32 and round only inputs and outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.measurement.test_measuring import measure

pytest.importorskip("onnxruntime")

Array = np.ndarray[Any, np.dtype[Any]]

SHAPE = (2, 8, 6, 6)
GROUPS = 2
EPSILON = 1e-5
OPERATOR = """
  (float[2,8,6,6] x, float[{count}] w, float[{count}] b) => (float[2,8,6,6] y)
  {{ y = GroupNormalization <num_groups = 2, epsilon = 0.00001> (x, w, b) }}"""
WRITTEN = """
  (float[2,8,6,6] x, float[8,1,1] w, float[8,1,1] b) => (float[2,8,6,6] y)
  < int64[3] grouped = {0, 2, -1}, int64[4] whole = {2, 8, 6, 6},
    float[2] one = {1, 1}, float[2] zero = {0, 0} >
  {
    r = Reshape (x, grouped)  n = InstanceNormalization <epsilon = 0.00001> (r, one, zero)
    u = Reshape (n, whole)  m = Mul (u, w)  y = Add (m, b)
  }"""
INSTANCE = """
  (float[2,8,6,6] x, float[8] w, float[8] b) => (float[2,8,6,6] y)
  { y = InstanceNormalization <epsilon = 0.00001> (x, w, b) }"""
FORMS = {
    "GroupNormalization 18": (18, OPERATOR.format(count=2)),
    "GroupNormalization 21": (21, OPERATOR.format(count=8)),
    "Reshape, InstanceNormalization, Reshape": (17, WRITTEN),
    "InstanceNormalization": (17, INSTANCE),
}


def half(array: Array) -> Array:
    return array.astype(np.float16).astype(np.float32)


def normalized(x: Array, groups: int) -> Array:
    """Normalize the groups of a tensor in FP64."""
    rows = x.reshape(x.shape[0], groups, -1).astype(np.float64)
    centred = rows - rows.mean(-1, keepdims=True)
    root = np.sqrt(np.square(centred).mean(-1, keepdims=True) + EPSILON)
    found: Array = np.asarray(centred / root, np.float32).reshape(x.shape)
    return found


def by_channel(numbers: Array) -> Array:
    wide: Array = np.repeat(numbers.reshape(-1), SHAPE[1] // numbers.size).reshape(-1, 1, 1)
    return wide


def model_and_feeds(form: str, scale: float) -> tuple[onnx.ModelProto, dict[str, Array]]:
    opset, text = FORMS[form]
    model = onnx.parser.parse_model(f'< ir_version: 10, opset_import: ["" : {opset}] > norm {text}')
    generator = np.random.default_rng(0)
    feeds = {}
    for info in model.graph.input:
        shape = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
        factor = scale if info.name == "x" else 1.0
        feeds[info.name] = (generator.standard_normal(shape) * factor).astype(np.float32)
    return model, feeds


def expected(form: str, feeds: dict[str, Array]) -> float:
    """Return the error of FP32 statistics with every result rounded."""
    x, w, b = feeds["x"], by_channel(feeds["w"]), by_channel(feeds["b"])
    groups = SHAPE[1] if form == "InstanceNormalization" else GROUPS
    right = normalized(x, groups) * w + b
    narrow = normalized(half(x), groups)
    if form.startswith("Reshape"):
        narrow = half(half(half(narrow) * half(w)) + half(b))
    else:
        narrow = half(narrow * half(w) + half(b))
    return float(np.abs(right - narrow).max() / np.abs(right).max())


@pytest.mark.parametrize("scale", [1.0, 10_000.0])
@pytest.mark.parametrize("form", FORMS)
def test_the_statistics_of_a_norm_are_of_fp32(form: str, scale: float, tmp_path: Path) -> None:
    """Squares of 10,000 exceed FP16, so FP16 statistics would be infinite."""
    model, feeds = model_and_feeds(form, scale)
    found = measure(model, feeds, tmp_path)
    assert found.verdict == "fine"
    assert found.first == ()
    assert found.error is not None
    assert found.error.rounded == pytest.approx(expected(form, feeds), rel=1e-2)
    assert found.error.accumulated == found.error.rounded
    assert found.error.rounded is not None
    assert found.error.fused is not None
    assert found.error.fused <= found.error.rounded


@pytest.mark.parametrize("form", FORMS)
def test_a_norm_reads_rounded_numbers(form: str, tmp_path: Path) -> None:
    """An input beyond FP16 is infinite before the norm unless a kernel fuses its producer."""
    model, feeds = model_and_feeds(form, 60_000.0)
    found = measure(model, feeds, tmp_path)
    assert found.verdict == "depends"
    assert found.error is not None
    assert found.error.rounded is None
    assert found.error.fused is not None
    assert found.error.fused < 1e-3


def test_a_norm_of_a_file_in_fp16_computes_in_fp32_inside(tmp_path: Path) -> None:
    opset, text = FORMS["GroupNormalization 21"]
    text = text.replace("float[", "float16[")
    model = onnx.parser.parse_model(f'< ir_version: 10, opset_import: ["" : {opset}] > norm {text}')
    _, feeds = model_and_feeds("GroupNormalization 21", 10_000.0)
    found = measure(model, {name: each.astype(np.float16) for name, each in feeds.items()}, tmp_path)
    assert found.typed
    assert found.verdict == "fine"
    assert found.first == ()
