"""Tests of rewritten quantizers that TensorRT refuses: the results stay the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.fixes.fixing import assert_same, fixed, ops

RNG = np.random.default_rng(3)
X = {"x": (RNG.normal(size=(2, 4)) * 3).astype(np.float32)}


def graph(body: str, stored: str, opset: int = 19, inputs: str = "float[2,4] x") -> str:
    head = f'< ir_version: 9, opset_import: ["" : {opset}] >'
    return f"{head} g ({inputs}) => (float[2,4] y) < {stored} > {{ {body} }}"


def test_a_bias_in_int32_is_stored_as_float(tmp_path: Path) -> None:
    text = graph(
        "b = DequantizeLinear <axis = 0> (q, s, z)  y = Add (x, b)",
        "int32[4] q = {100, -5, 7, 2000000}, float[4] s = {0.1, 0.2, 0.3, 0.0001}, int32[4] z = {0, 0, 0, 0}",
    )
    before, after = fixed(tmp_path, text)
    assert ops(after) == ["Add"]
    assert_same(before, after, X, rtol=0)


def test_int32_at_run_time_is_multiplied(tmp_path: Path) -> None:
    text = graph(
        "i = Cast <to = 6> (x)  b = DequantizeLinear (i, s)  y = Add (x, b)",
        "float s = {0.25}",
    )
    before, after = fixed(tmp_path, text)
    assert "DequantizeLinear" not in ops(after)
    assert_same(before, after, X, rtol=0)


@pytest.mark.parametrize(
    ("kind", "zero", "left"),
    [("uint8", 128, True), ("uint8", 3, False), ("int8", -7, False)],
)
def test_pairs(kind: str, zero: int, left: bool, tmp_path: Path) -> None:
    """UINT8 with zero point 128 becomes INT8; other zero points become arithmetic."""
    text = graph(
        "q = QuantizeLinear (x, s, z)  d = DequantizeLinear (q, s, z)  y = Relu (d)",
        f"float s = {{0.02}}, {kind} z = {{{zero}}}",
    )
    before, after = fixed(tmp_path, text)
    assert ("QuantizeLinear" in ops(after)) is left
    assert_same(before, after, X, rtol=1e-6)


def test_a_stored_tensor_of_uint8(tmp_path: Path) -> None:
    text = graph(
        "w = DequantizeLinear <axis = 1> (q, s, z)  y = Mul (x, w)",
        "uint8[2,4] q = {0, 1, 2, 255, 128, 9, 7, 3}, "
        "float[4] s = {0.1, 0.2, 0.3, 0.4}, uint8[4] z = {1, 2, 3, 4}",
    )
    before, after = fixed(tmp_path, text)
    assert ops(after) == ["Mul"]
    assert_same(before, after, X, rtol=1e-6)


def test_a_quantized_tensor_that_something_else_reads_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = graph(
        "q = QuantizeLinear (x, s, z)  d = DequantizeLinear (q, s, z)  e = Equal (q, z)"
        "  c = Cast <to = 1> (e)  y = Add (d, c)",
        "float s = {0.02}, uint8 z = {3}",
    )
    _, after = fixed(tmp_path, text)
    assert after is None
    assert "does not support Equal, which reads or writes a quantized tensor" in capsys.readouterr().out


def test_a_stored_tensor_of_uint8_without_a_zero_point(tmp_path: Path) -> None:
    text = graph(
        "w = DequantizeLinear (q, s, z)  y = Add (x, w)",
        "uint8[4] q = {0, 1, 200, 255}, float s = {0.1}, uint8 z = {0}",
    )
    before, after = fixed(tmp_path, text)
    assert ops(after) == ["Add"]
    assert_same(before, after, X, rtol=1e-6)


@pytest.mark.parametrize(("opset", "rewritten"), [(21, False), (22, True)])
def test_what_is_rounded_is_of_a_type_that_round_takes(opset: int, rewritten: bool, tmp_path: Path) -> None:
    text = graph(
        "q = QuantizeLinear (x, s, z)  d = DequantizeLinear (q, s, z)  y = Cast <to = 1> (d)",
        "bfloat16 s = {16033}, uint8 z = {3}",
        opset,
        "bfloat16[2,4] x",
    )
    _, after = fixed(tmp_path, text)
    assert (after is not None and "Round" in ops(after)) is rewritten


@pytest.mark.parametrize(("kind", "zero"), [("int16", 0), ("int16", -700), ("uint16", 40000)])
def test_quantizers_of_16_bits(kind: str, zero: int, tmp_path: Path) -> None:
    """TensorRT has no such type; FP32 represents its numbers."""
    text = graph(
        "q = QuantizeLinear (x, s, z)  d = DequantizeLinear (q, s, z)  w = DequantizeLinear (c, s, z)"
        "  y = Add (d, w)",
        f"float s = {{0.0002}}, {kind} z = {{{zero}}}, {kind}[4] c = {{0, 5, 9, 32767}}",
        opset=21,
    )
    before, after = fixed(tmp_path, text)
    assert {"QuantizeLinear", "DequantizeLinear"}.isdisjoint(ops(after))
    assert_same(before, after, X, rtol=1e-6)


def test_quantizers_of_onnx_runtime_are_like_those_of_onnx(tmp_path: Path) -> None:
    """They support 16 bits in any opset, but shape inference ignores their domain."""
    text = """< ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1] >
    g (float[2,4] x) => (float[2,4] y)
    < float s = {0.0002}, int16 z = {-7}, int16[4] c = {0, 5, 9, 32767}, int32[4] i = {1, 2, 3, 4} >
    {
      q = com.microsoft.QuantizeLinear (x, s, z)  d = com.microsoft.DequantizeLinear (q, s, z)
      w = com.microsoft.DequantizeLinear (c, s, z)  b = com.microsoft.DequantizeLinear (i, s)
      e = Add (d, w)  y = Add (e, b)
    }"""
    before, after = fixed(tmp_path, text)
    assert {"QuantizeLinear", "DequantizeLinear"}.isdisjoint(ops(after))
    assert after is not None
    onnx.checker.check_model(after, full_check=True)
    for node in before.graph.node:
        node.domain = ""
    before.opset_import[0].version = 21
    assert_same(before, after, X, rtol=1e-6)


def test_numbers_of_16_bits_that_a_half_does_not_hold_are_left(tmp_path: Path) -> None:
    text = graph(
        "h = Cast <to = 10> (x)  q = QuantizeLinear (h, s, z)  d = DequantizeLinear (q, s, z)"
        "  y = Cast <to = 1> (d)",
        "float16 s = {0.02}, int16 z = {0}",
        opset=21,
    )
    model = onnx.parser.parse_model(text.replace("float16 s = {0.02},", ""))
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(0.02, np.float16), "s"))
    _, after = fixed(tmp_path, model)
    assert after is None
