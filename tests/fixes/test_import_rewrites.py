"""Tests of rewrites for parser import errors: they keep the operator's results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.dependencies import RECENT_RUNTIME
from trtlint.api import fix
from trtlint.target.target import Target


def fixed(folder: Path, text: str, opset: int, target: Target) -> tuple[onnx.ModelProto, onnx.ModelProto]:
    """Return a model and its fixed version."""
    model = onnx.parser.parse_model(f'< ir_version: 8, opset_import: ["" : {opset}] > {text}')
    onnx.save(model, folder / "m.onnx")
    fix(folder / "m.onnx", target, out=folder / "f.onnx", verify=True)
    return model, onnx.load(folder / "f.onnx")


def values(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    """Return random inputs with negative elements."""
    source = np.random.default_rng(0)
    found = {}
    for info in model.graph.input:
        shape = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
        numbers = source.integers(-4, 4, shape) if dtype.kind == "i" else source.normal(size=shape)
        found[info.name] = np.asarray(numbers).astype(dtype)
    return found


def computed(model: onnx.ModelProto, feeds: dict[str, np.ndarray], *, plain: bool) -> list[np.ndarray]:
    """Return the results of a model from ONNX Runtime or the reference evaluator.

    ONNX Runtime does not support layout 1.  The reference evaluator does not support GlobalLpPool.
    """
    if plain:
        return list(ReferenceEvaluator(model).run(None, feeds))
    runtime = pytest.importorskip("onnxruntime")
    return list(runtime.InferenceSession(model.SerializeToString()).run(None, feeds))


_CASES = """
ReduceLogSumExp 18
g (float[2,3,4] x) => (float[2,4] y) <int64[1] a = {1}> { y = ReduceLogSumExp <keepdims = 0> (x, a) }

ReduceLogSumExp 18
g (float[2,3,4] x) => (float[1,3,1] y) <int64[2] a = {0, -1}> { y = ReduceLogSumExp (x, a) }

Mean 17
g (float16[2,3] a, float16[3] b, float16[2,1] c) => (float16[2,3] y) { y = Mean (a, b, c) }

GlobalLpPool 17
g (float[1,2,3,3] x) => (float[1,2,1,1] y) { y = GlobalLpPool <p = 3> (x) }

Trilu 17
g (float[2,3,4] x) => (float[2,3,4] y) <int64 k = {1}> { y = Trilu (x, k) }

OneHot 17
g (int64[5] i) => (float[4,5] y) <int64[1] d = {4}, float[2] v = {0, 1}> { y = OneHot <axis = 0> (i, d,
v) }

ConvTranspose 17
g (float[1,1,3,4] x, float[1,2,3,3] w) => (float[1,2,6,8] y) { y = ConvTranspose <strides = [2,2],
output_shape = [6,8]> (x, w) }

ConvTranspose 17
g (float[1,1,3] x, float[1,2,3] w, float[2] b) => (float[1,2,8] y) { y = ConvTranspose <strides = [2],
output_padding = [1]> (x, w, b) }

MaxPool 12
g (float[1,1,5,4] x) => (float[1,1,3,3] y) { y = MaxPool <kernel_shape = [2,2], strides = [2,2], pads =
[1,1,1,1], ceil_mode = 1> (x) }

AveragePool 12
g (float[1,1,5,5] x) => (float[1,1,3,3] y) { y = AveragePool <kernel_shape = [2,2], strides = [2,2], pads
= [1,1,1,1], ceil_mode = 1> (x) }

GRU 14
g (float[2,3,2] x, float[1,6,2] w, float[1,6,2] r) => (float[2,1,2] y) { z, y = GRU <hidden_size = 2,
layout = 1> (x, w, r) }

LSTM 14
g (float[2,3,2] x, float[1,8,2] w, float[1,8,2] r, float[1,16] b, float[2,1,2] h, float[2,1,2] c) =>
(float[2,3,1,2] y, float[2,1,2] p, float[2,1,2] q) { y, p, q = LSTM <hidden_size = 2, layout = 1> (x, w,
r, b, "", h, c) }

SpaceToDepth 28
g (float[2,3,4,6] x) => (float[2,12,2,3] y) { y = SpaceToDepth <blocksize = 2, mode = "CRD"> (x) }

ReduceL2 18
g (float[3] x) => (float[3] y) { y = ReduceL2 <noop_with_empty_axes = 1> (x) }
"""
"""Models, each with its rewritten operator and opset."""
_BY_REFERENCE = ("GRU", "LSTM", "Trilu", "SpaceToDepth")
"""Operator forms that ONNX Runtime does not support."""


def _marked(case: str) -> Any:
    name = case.partition("\n")[0]
    return pytest.param(case, id=name, marks=[RECENT_RUNTIME] if name == "ReduceL2 18" else [])


@pytest.mark.parametrize("case", [*map(_marked, _CASES.strip().split("\n\n"))])
def test_results_stay(tmp_path: Path, case: str) -> None:
    head, _, text = case.partition("\n")
    op, opset = head.split()
    before, after = fixed(tmp_path, text, int(opset), Target("tensorrt", "10.7"))
    assert after.SerializeToString() != before.SerializeToString()
    feeds = values(before)
    expected = computed(before, feeds, plain=op in _BY_REFERENCE)
    results = computed(after, feeds, plain=op in _BY_REFERENCE)
    for want, got in zip(expected, results, strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-3 if op == "Mean" else 1e-5, atol=1e-6)
    assert op not in {node.op_type for node in after.graph.node} or op in (
        "ConvTranspose", "MaxPool", "AveragePool", "GRU", "LSTM", "OneHot", "Trilu", "GlobalLpPool",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("low", "high"),
    [("lo", "hi"), ("", "hi"), ("lo", '""')],
    ids=["both", "high", "low"],
)
def test_a_clip_of_int8_stays(tmp_path: Path, low: str, high: str) -> None:
    given = f"x, {low or chr(34) * 2}, {high}"
    text = f"g (int8[256] x) => (int8[256] y) <int8 lo = {{-3}}, int8 hi = {{100}}> {{ y = Clip ({given}) }}"
    before, after = fixed(tmp_path, text, 17, Target("tensorrt-rtx", "1.7"))
    assert [node.op_type for node in after.graph.node] == ["Cast", "Clip", "Cast"]
    feeds = {"x": np.arange(-128, 128).astype(np.int8)}
    for want, got in zip(
        computed(before, feeds, plain=False), computed(after, feeds, plain=False), strict=True
    ):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("first", [0.4, 0.7, 1.6, 100.0])
def test_stacked_outputs_stay(tmp_path: Path, first: float) -> None:
    text = """g (float[2] x, float h) => (float[2] y, float[N,2] z, float[M] u) <int64 n = {5}, bool t = {1}>
      {
        y, z, u = Loop (n, t, x) <body = b (int64 i, bool go, float[2] v) =>
            (bool again, float[2] w, float[2] s, float r) {
          w = Add (v, v) m = ReduceMax <keepdims = 0> (w) again = Less (m, h) s = Neg (w) r = Exp (m) }> }"""
    before, after = fixed(tmp_path, text, 17, Target("tensorrt-rtx", "1.7"))
    assert [node.op_type for node in after.graph.node] == ["Loop", "Reshape", "Slice", "Slice"]
    feeds = {"x": np.full(2, first, np.float32), "h": np.asarray(3, np.float32)}
    for want, got in zip(
        computed(before, feeds, plain=False), computed(after, feeds, plain=False), strict=True
    ):
        np.testing.assert_array_equal(got, want)


def test_rows_of_minus_infinity_stay(tmp_path: Path) -> None:
    text = "g (float[2,3] x) => (float[2,1] y) <int64[1] a = {1}> { y = ReduceLogSumExp (x, a) }"
    _, after = fixed(tmp_path, text, 18, Target("tensorrt", "10.7"))
    numbers = np.array([[-np.inf] * 3, [1000, 1000, -np.inf]], np.float32)
    with np.errstate(divide="ignore"):
        (got,) = computed(after, {"x": numbers}, plain=True)
    np.testing.assert_allclose(got, [[-np.inf], [1000 + np.log(2)]], rtol=1e-6)


def test_an_average_that_counts_padding_is_left(tmp_path: Path) -> None:
    text = (
        "g (float[1,1,5,5] x) => (float[1,1,3,3] y) { y = AveragePool <kernel_shape = [2,2],"
        " strides = [2,2], pads = [1,1,1,1], ceil_mode = 1, count_include_pad = 1> (x) }"
    )
    model = onnx.parser.parse_model(f'< ir_version: 8, opset_import: ["" : 12] > {text}')
    onnx.save(model, tmp_path / "m.onnx")
    outcome = fix(tmp_path / "m.onnx", Target("tensorrt", "10.7"), out=tmp_path / "f.onnx")
    assert not outcome.applied


def test_raw_elements(tmp_path: Path) -> None:
    text = (
        "g (float[3] x) => (float[3] y) <uint8[3] k = {3, 200, 7}> { c = Cast <to = 1> (k) y = Mul (x, c) }"
    )
    _, after = fixed(tmp_path, text, 17, Target("tensorrt-rtx", "1.7"))
    stored = [each for each in after.graph.initializer if each.data_type == onnx.TensorProto.UINT8]
    assert [each.HasField("raw_data") for each in stored] == [True]
    assert numpy_helper.to_array(stored[0]).tolist() == [3, 200, 7]
