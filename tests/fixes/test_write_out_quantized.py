"""Tests of quantized operators computed with the same integers in FP32."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tests.dependencies import RECENT_RUNTIME
from tests.fixes.fixing import Feeds, assert_same, fixed, ops
from tests.fixes.proving import prove
from trtlint.fixes.patch import Draft
from trtlint.model.load import load

RTX = ("--rtx", "1.7", "--gpu", "L4", "--verify")
HEAD = '< ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1] >'
Array = np.ndarray[Any, np.dtype[Any]]
RNG = np.random.default_rng(3)
EXTREME = np.full((64, 64), 127, np.int8)


def with_weights(text: str, **weights: Array) -> onnx.ModelProto:
    """Return a model with stored tensors."""
    model = onnx.parser.parse_model(f"{HEAD} {text}")
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in weights.items())
    return model


def whole(*shape: int, dtype: str = "int8") -> Array:
    """Return random 8-bit integers."""
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max, size=shape, endpoint=True).astype(dtype)


def verified(
    model: onnx.ModelProto, folder: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[onnx.ModelProto, onnx.ModelProto]:
    """Return a model and its fixed version after a successful whole-model comparison."""
    before, after = fixed(folder, model, *RTX)
    said = capsys.readouterr().out
    assert "outputs: equal within tolerance" in said, said
    assert "0 refused" in said, said
    assert after is not None
    onnx.checker.check_model(after, full_check=True)
    return before, after


def saturates() -> bool:
    """Return whether ONNX Runtime computes MatMulInteger of uint8 and int8 incorrectly here.

    Without VNNI, its x86 kernels add pairs of products in 16 bits.
    https://onnxruntime.ai/docs/performance/model-optimizations/quantization.html
    """
    model = with_weights("g (uint8[1,64] x) => (int32[1,64] y) { y = MatMulInteger (x, w) }", w=EXTREME)
    session = pytest.importorskip("onnxruntime").InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (found,) = session.run(None, {"x": np.full((1, 64), 255, np.uint8)})
    return bool((np.asarray(found) != 255 * 127 * 64).any())


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("size", [1, 40])
@pytest.mark.parametrize("zero", [0, 3, None])
def test_products_of_what_is_quantized_dynamically(
    kind: str, size: int, zero: int | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Several products can read one quantized tensor; large weights stay in their stored form."""
    if kind == "int8" and saturates():
        pytest.skip("ONNX Runtime saturates sums of products of 8 bits on this processor")
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


@RECENT_RUNTIME
def test_convolutions_of_integers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = with_weights(CONVOLVED, w=whole(4, 2, 3, 3), wz=np.array(2, np.int8))
    _, after = verified(model, tmp_path, capsys)
    assert "Conv" in ops(after)


def test_zero_points_of_channels(tmp_path: Path) -> None:
    """ONNX Runtime does not support them."""
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


@pytest.mark.parametrize("turned", [0, 1])
def test_zero_points_of_columns(turned: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each lies along the result axis, the first axis of a transposed matrix."""
    text = f"""g (float[2,6] x) => (float[2,4] y) {{
      q = QuantizeLinear (x, s2, z0)
      o = com.microsoft.QGemm <transB = {turned}> (q, s2, z0, n, ns, nz, , s4, z1)
      y = DequantizeLinear (o, s4, z1) }}"""
    model = with_weights(
        text,
        **SCALES,
        z0=np.array(3, np.uint8),
        z1=np.array(7, np.uint8),
        n=whole(*((4, 6) if turned else (6, 4)), dtype="uint8"),
        ns=np.float32(RNG.uniform(0.001, 0.01, 4)),
        nz=np.array([0, 9, 130, 255], np.uint8),
    )
    _, after = verified(model, tmp_path, capsys)
    assert "QGemm" not in ops(after)


def test_a_stored_table_is_dequantized_before_it_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """g (int64[4] i) => (float[4,64] y, float[4,64] k)
    { r = Gather (table, i)  y = DequantizeLinear (r, s1, z)  k = Cast <to = 1> (r) }"""
    model = with_weights(text, table=whole(100, 64), z=np.array(0, np.int8), **SCALES)
    _, after = verified(model, tmp_path, capsys)
    assert ops(after)[:2] == ["DequantizeLinear", "Gather"]


LEFT = {
    "does not support Pad, which reads or writes": """{ q = QuantizeLinear (x, s1, z)  e = Pad (q, four, z)
        y = QLinearMatMul (e, s1, z, w, s1, z, s2, z) }""",
    "is not a FLOAT tensor": """{ q = QuantizeLinear (x, s1, z)
        y = QLinearMatMul (q, t, z, w, s1, z, s2, z) }""",
    "nor computed by": "{ y = QLinearMatMul (v, s1, z, w, s1, z, s2, z) }",
}


@pytest.mark.parametrize("reason", LEFT)
def test_what_is_left(reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = f"g (float[3,3] x, float t, int8[3,3] v) => (int8[A,B] y) {LEFT[reason]}"
    model = with_weights(text, w=whole(3, 3), z=np.array(0, np.int8), four=np.zeros(4, np.int64), **SCALES)
    _, after = fixed(tmp_path, model, *RTX[:-1])
    assert after is None
    assert reason in " ".join(capsys.readouterr().out.split())


SUMMED = "g (uint8[1,{size}] a) => (int32[1,2] y) {{ y = MatMulInteger (a, b) }}"
"""FP32 represents integers exactly up to 2^24, which is 259 terms of 255 * 255."""


def extremes(size: int) -> list[Feeds]:
    """Return the limits of a type and numbers between them, so that sums are odd."""
    numbers = (np.full(size, 255), RNG.choice([0, 255], size), RNG.integers(0, 256, size))
    return [{"a": each.astype(np.uint8).reshape(1, size)} for each in numbers]


@pytest.mark.parametrize("size", [250, 300, 4000])
def test_sums_that_fp32_does_not_hold(size: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = np.where(np.arange(2 * size) % 3, 255, 254).astype(np.uint8).reshape(size, 2)
    before, after = verified(with_weights(SUMMED.format(size=size), b=weights), tmp_path, capsys)
    for feeds in extremes(size):
        assert_same(before, after, feeds, rtol=0)
    assert ("Slice" in ops(after)) is (size > 259)


def test_sums_of_what_is_stored_count_as_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = np.ones((4000, 2), np.uint8)
    _, after = verified(with_weights(SUMMED.format(size=4000), b=small), tmp_path, capsys)
    assert "Slice" not in ops(after)


def test_sums_of_two_inputs_are_bounded_by_their_types(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "g (uint8[2,600] a, uint8[600,3] c) => (int32[2,3] y) { y = MatMulInteger (a, c) }"
    before, after = verified(with_weights(text), tmp_path, capsys)
    feeds: Feeds = {"a": np.full((2, 600), 255, np.uint8), "c": np.full((600, 3), 255, np.uint8)}
    feeds["a"][0, :7] = 254
    assert_same(before, after, feeds, rtol=0)


def test_sums_of_unknown_length_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "g (uint8[2,K] a, uint8[K,3] c) => (int32[2,3] y) { y = MatMulInteger (a, c) }"
    assert fixed(tmp_path, with_weights(text), *RTX)[1] is None
    assert "the number of terms of each sum is not known" in capsys.readouterr().out


LARGE_CONV = """g (uint8[1,{channels},4,4] a) => (int32[1,2,2,2] y)
{{ y = ConvInteger <group = {group}> (a, w, z, wz) }}"""


def test_convolutions_whose_sums_fp32_does_not_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = np.where(np.arange(2 * 64 * 9) % 5, 127, -128).astype(np.int8).reshape(2, 64, 3, 3)
    points = {"z": np.array(0, np.uint8), "wz": np.array(-100, np.int8)}
    text = LARGE_CONV.format(channels=64, group=1)
    before, after = verified(with_weights(text, w=weights, **points), tmp_path, capsys)
    feeds: Feeds = {"a": RNG.choice([254, 255], (1, 64, 4, 4)).astype(np.uint8)}
    assert_same(before, after, feeds, rtol=0)
    assert sum(op == "Conv" for op in ops(after)) > 1


def test_groups_whose_sums_fp32_does_not_hold_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    points = {"z": np.array(0, np.uint8), "wz": np.array(-100, np.int8)}
    text = LARGE_CONV.format(channels=128, group=2)
    model = with_weights(text, w=np.full((2, 64, 3, 3), 127, np.int8), **points)
    assert fixed(tmp_path, model, *RTX)[1] is None
    assert "cannot split a convolution with groups" in capsys.readouterr().out


def test_sums_and_a_bias_that_fp32_does_not_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The quantized result is half a step from the next one, so an error of one in 2^24 matters."""
    text = """g (uint8[1,512,1,1] a) => (uint8[1,2,1,1] y)
    { y = QLinearConv (a, one, z, w, one, wz, half, z, bias) }"""
    model = with_weights(
        text,
        w=np.full((2, 512, 1, 1), 127, np.int8),
        one=np.array(1, np.float32),
        half=np.array(2.0**17, np.float32),
        z=np.array(0, np.uint8),
        wz=np.array(0, np.int8),
        bias=np.array([2**23 - 1, -(2**23) + 1], np.int32),
    )
    before, after = verified(model, tmp_path, capsys)
    assert "Slice" in ops(after)
    for number in (254, 255):
        assert_same(before, after, {"a": np.full((1, 512, 1, 1), number, np.uint8)}, rtol=0)


def test_sums_in_fp32_at_once_are_caught_by_the_proof(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    weights = np.where(np.arange(8000) % 3, 255, 254).astype(np.uint8).reshape(4000, 2)
    onnx.save(with_weights(SUMMED.format(size=4000), b=weights), path)
    model = load(path)
    (node,) = model.graph.nodes
    draft = Draft(model, node)
    left, right = (draft.op("Cast", name, to=onnx.TensorProto.FLOAT) for name in ("a", "b"))
    draft.op("Cast", draft.op("MatMul", left, right), to=onnx.TensorProto.INT32, out="y")
    proof = prove(model, draft.patch("computes it in FP32", [node], folds=True))
    assert proof.equal is False
    assert proof.words == "in the types of the model, the integer results before and after the patch differ"
