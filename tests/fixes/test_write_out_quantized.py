"""Quantized operators computed with the same whole numbers in FP32."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tests.fixes.fixing import Feeds, assert_same, fixed, ops

RTX = ("--rtx", "1.7", "--gpu", "L4", "--verify")
HEAD = '< ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1] >'
Array = np.ndarray[Any, np.dtype[Any]]
RNG = np.random.default_rng(3)


def with_weights(text: str, **weights: Array) -> onnx.ModelProto:
    """A model with stored tensors."""
    model = onnx.parser.parse_model(f"{HEAD} {text}")
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in weights.items())
    return model


def whole(*shape: int, dtype: str = "int8") -> Array:
    """Random numbers of eight bits."""
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max, size=shape, endpoint=True).astype(dtype)


def verified(
    model: onnx.ModelProto, folder: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[onnx.ModelProto, onnx.ModelProto]:
    """A model and what was written of it, when whole models were found to be equal."""
    before, after = fixed(folder, model, *RTX)
    said = capsys.readouterr().out
    assert "outputs: as before" in said, said
    assert "0 refused" in said, said
    assert after is not None
    onnx.checker.check_model(after, full_check=True)
    return before, after


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("size", [1, 40])
@pytest.mark.parametrize("zero", [0, 3, None])
def test_products_of_what_is_quantized_dynamically(
    kind: str, size: int, zero: int | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Several products may read one quantized tensor; large weights stay as they are stored."""
    width = 3 * size
    points = {} if zero is None else {"wz": np.full((width,), zero, kind)}
    ports = "" if zero is None else ", wz"
    model = with_weights(
        f"""g (float[B,48] x) => (float[B,{width}] y, int32[B,{width}] p) {{
        q, s, z = DynamicQuantizeLinear (x)
        p = MatMulInteger (q, a, z{ports})  r = MatMulInteger (q, b, z{ports})
        c = Cast <to = 1> (p)  d = Cast <to = 1> (r)  u = Sub (c, d)  y = Mul (u, s) }}""",
        a=whole(48, width, dtype=kind),
        b=whole(48, width, dtype=kind),
        **points,
    )
    _, after = verified(model, tmp_path, capsys)
    assert {"MatMulInteger", "DynamicQuantizeLinear"}.isdisjoint(ops(after))
    types = {tensor.name: tensor.data_type for tensor in after.graph.initializer}
    assert ("a" in types) is (size > 1)


@pytest.mark.parametrize(
    "x", [np.zeros((2, 3)), np.ones((2, 3)), -np.ones((2, 3)), [[300, 0, -0.1], [1, 2, 3]]]
)
def test_ranges_that_are_quantized_dynamically(
    x: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """g (float[2,3] x) => (float[2,3] y, float s)
    { q, s, z = DynamicQuantizeLinear (x)  y = DequantizeLinear (q, s, z) }"""
    model = with_weights(text)
    model.opset_import[0].version = 21  # of which ONNX's reference has every operator
    before, after = verified(model, tmp_path, capsys)
    if np.any(np.asarray(x)):  # what a range of nothing gives is not defined
        assert_same(before, after, {"x": np.asarray(x, np.float32)})


CONVOLVED = """g (float[1,2,6,6] x) => (float[1,4,6,6] y)
{ q, s, z = DynamicQuantizeLinear (x)  p = ConvInteger <pads = [1,1,1,1]> (q, w, z, wz)
  c = Cast <to = 1> (p)  y = Mul (c, s) }"""


def test_convolutions_of_integers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = with_weights(CONVOLVED, w=whole(4, 2, 3, 3), wz=np.array(2, np.int8))
    _, after = verified(model, tmp_path, capsys)
    assert "Conv" in ops(after)


def test_zero_points_of_channels(tmp_path: Path) -> None:
    """ONNX Runtime does not compute them."""
    model = with_weights(CONVOLVED, w=whole(4, 2, 3, 3), wz=np.array([2, -3, 0, 5], np.int8))
    model.opset_import[0].version = 21
    before, after = fixed(tmp_path, model, *RTX[:-1])
    assert_same(before, after, {"x": RNG.normal(size=(1, 2, 6, 6)).astype(np.float32)})


# With factors such as 0.1 between them, numbers are half a step from two others, and rounding decides.
SCALES: Feeds = {f"s{index}": np.array(0.0123 * np.sqrt(index + 1), np.float32) for index in range(1, 9)}
CHAIN = """g (float[1,2,8,8] x) => (float[1,6] y) {
  q = QuantizeLinear (x, s2, z0)
  c = QLinearConv <pads = [1,1,1,1]> (q, s2, z0, w, ws, wz, s3, z1, b)
  m = MaxPool <kernel_shape = [2,2], strides = [2,2]> (c)
  l = com.microsoft.QLinearLeakyRelu <alpha = 0.1> (m, s3, z1, s3, z2)
  g0 = com.microsoft.QLinearSigmoid (m, s3, z1, s1, z0)
  p = com.microsoft.QLinearMul (l, s3, z2, g0, s1, z0, s2, z1)
  a = com.microsoft.QLinearAdd (p, s2, z1, m, s3, z1, s4, z2)
  k = com.microsoft.QLinearConcat <axis = 1> (s4, z1, a, s4, z2, m, s3, z1)
  v = com.microsoft.QLinearAveragePool <kernel_shape = [2,2], strides = [2,2]> (k, s4, z1, s6, z2)
  h = com.microsoft.QLinearGlobalAveragePool (v, s6, z2, s2, z0)
  f = Flatten (h)
  t, u = Split <axis = 1> (f)
  j = QLinearMatMul (u, s2, z0, e, es, ez, s4, z1)
  i = Concat <axis = 1> (t, t)
  o = com.microsoft.QGemm <transB = 1> (i, s2, z0, n, s1, ez0, nb, s4, z1)
  r = com.microsoft.QLinearAdd (j, s4, z1, o, s4, z1, s5, z2)
  y = DequantizeLinear (r, s5, z2)
}"""


@pytest.mark.parametrize("kind", ["uint8", "int8"])
def test_operators_of_onnx_runtime(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    points = {name: np.array(number, kind) for name, number in {"z0": 0, "z1": 7, "z2": 100}.items()}
    model = with_weights(
        CHAIN,
        **SCALES,
        **points,
        w=whole(3, 2, 3, 3),
        ws=np.array([0.01, 0.02, 0.03], np.float32),
        wz=np.zeros(3, np.int8),
        b=np.array([100, -200, 300], np.int32),
        e=whole(3, 6, dtype=kind),
        es=np.float32(RNG.uniform(0.001, 0.01, 6)),
        ez=np.full(6, 5, kind),
        n=whole(6, 6, dtype=kind),
        ez0=np.array(0, kind),
        nb=np.arange(6, dtype=np.int32) * 50,
    )
    _, after = verified(model, tmp_path, capsys)
    assert not {node.domain for node in after.graph.node} - {""}
    assert not [op for op in ops(after) if op.startswith("Q")]


def test_a_stored_table_is_dequantized_before_it_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """g (int64[4] i) => (float[4,64] y, float[4,64] k)
    { r = Gather (table, i)  y = DequantizeLinear (r, s1, z)  k = Cast <to = 1> (r) }"""
    model = with_weights(text, table=whole(100, 64), z=np.array(0, np.int8), **SCALES)
    _, after = verified(model, tmp_path, capsys)
    assert ops(after)[:2] == ["DequantizeLinear", "Gather"]


LEFT = {
    "Pad reads or gives": """{ q = QuantizeLinear (x, s1, z)  e = Pad (q, four, z)
        y = QLinearMatMul (e, s1, z, w, s1, z, s2, z) }""",
    "scale is not stored": "{ q = QuantizeLinear (x, s1, z)  y = QLinearMatMul (q, t, z, w, s1, z, s2, z) }",
    "nor computed by": "{ y = QLinearMatMul (v, s1, z, w, s1, z, s2, z) }",
}


@pytest.mark.parametrize("reason", LEFT)
def test_what_is_left(reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = f"g (float[3,3] x, float t, int8[3,3] v) => (int8[A,B] y) {LEFT[reason]}"
    model = with_weights(text, w=whole(3, 3), z=np.array(0, np.int8), four=np.zeros(4, np.int64), **SCALES)
    _, after = fixed(tmp_path, model, *RTX[:-1])
    assert after is None
    assert reason in " ".join(capsys.readouterr().out.split())
