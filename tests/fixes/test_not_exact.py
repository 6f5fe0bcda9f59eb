"""Tests that rewrites reject models whose results would change, and give the reason."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from trtlint.cli import run

OF_ONNX = 'opset_import: ["" : 17]'
BOTH = 'opset_import: ["" : 17, "com.microsoft" : 1]'
AT_RUN_TIME = "write-out-loop: the number of iterations is known only at run time"
MODELS = {
    "a carried tensor grows, and its size decides": (
        OF_ONNX,
        """(float[2] x) => (float[n] y, int64[m] z)
        <bool t = {1}, int64[1] w0 = {1}, int64 big = {5}, float two = {2}, int64 n = {10}>
        { y, z = Loop (n, t, x, w0) <body = b (int64 i, bool c, float[] v, int64[] w) =>
            (bool co, float[] vo, int64[] wo) { wo = Concat <axis = 0> (w, w)  u = Identity (v)
            vo = Mul (u, two)  s = Size (wo)  co = Less (s, big) }> }""",
        AT_RUN_TIME,
    ),
    "what decides doubles without end": (
        OF_ONNX,
        """(float[2] x) => (float[n] y, float[m] z) <bool t = {1}, float[1] w0 = {1}, float big = {1e12}>
        { y, z = Loop (, t, x, w0) <body = b (int64 i, bool c, float[2] v, float[m] w) =>
            (bool co, float[k] vo, float[m] wo) { wo = Concat <axis = 0> (w, w)
            vo = Concat <axis = 0> (v, v)  s = ReduceSum <keepdims = 0> (wo)  co = Less (s, big) }> }""",
        "write-out-loop: computing the number of iterations takes too long",
    ),
    "a body with more inputs than are given": (
        OF_ONNX,
        """(float[2] x) => (float[m] y) <int64 n = {2}>
        { y = Loop (n, "") <body = b (int64 i, bool c, float[2] v) => (bool co, float[4] vo)
            { co = Identity (c)  vo = Concat <axis = 0> (x, x) }> }""",
        "write-out-loop: the body of the Loop does not have the inputs and outputs that ONNX requires",
    ),
    "a body that gives the number of its iteration": (
        OF_ONNX,
        """(float[2] x) => (float[m] y, int64[2] st) <int64 n = {2}, bool t = {1}>
        { y, st = Loop (n, t, x) <body = b (int64 i, bool c, float[2] v) => (bool co, float[4] vo, int64 i)
            { co = Identity (c)  vo = Concat <axis = 0> (v, v) }> }""",
        "write-out-loop: an output of the Loop is the unchanged iteration number or condition",
    ),
    "a number repeated for each element that is picked": (
        OF_ONNX,
        """(float[2,3,4] x, bool[2,3] mask, float[1] c) => (float y)
        { nz = NonZero (mask)  pos = Transpose <perm = [1, 0]> (nz)  p = GatherND (x, pos)
          s = Shape (p)  e = Expand (c, s)  y = ReduceSum <keepdims = 0> (e) }""",
        "mask-by-where: ReduceSum also reduces a dimension that is broadcast",
    ),
    "an operand of more axes than what is picked": (
        OF_ONNX,
        """(float[2,3,4] x, bool[2,3] mask) => (float[4] y) <float[1,1,4] b = {1,1,1,1}, int64[2] ax = {0,1}>
        { nz = NonZero (mask)  pos = Transpose <perm = [1, 0]> (nz)  p = GatherND (x, pos)
          q = Add (p, b)  y = ReduceSum <keepdims = 0> (q, ax) }""",
        "mask-by-where: Add needs the selected elements as a tensor, whose size is known only at run time",
    ),
    "a mean of an image whose channels are last": (
        BOTH,
        """(float[1,4,4,8] x) => (float[1,4,4,8] y) <float s = {0.1}, uint8 z = {100}>
        { q = QuantizeLinear (x, s, z)
          r = com.microsoft.QLinearAveragePool <channels_last = 1, kernel_shape = [3, 3], pads = [1, 1, 1, 1],
              strides = [1, 1]> (q, s, z, s, z)
          y = DequantizeLinear (r, s, z) }""",
        "write-out-quantized: the image has channels last",
    ),
    "a softmax of another opset": (
        BOTH,
        """(float[2,3,4] x) => (float[2,3,4] y)
        <float s = {0.1}, uint8 z = {100}, float s2 = {0.00390625}, uint8 z2 = {0}>
        { q = QuantizeLinear (x, s, z)
          r = com.microsoft.QLinearSoftmax <axis = 1, opset = 11> (q, s, z, s2, z2)
          y = DequantizeLinear (r, s, z) }""",
        "write-out-quantized: the attribute opset of the Softmax does not agree with the opset of the model",
    ),
    "a quantizer of 16 bits that is an output": (
        'opset_import: ["" : 21]',
        "(float[2] x) => (uint16[2] y) <float s = {0.1}, uint16 z = {5}> { y = QuantizeLinear (x, s, z) }",
        "float-quantizers: QuantizeLinear does not quantize to 8 bits",
    ),
    "quantizers before there is Round": (
        'opset_import: ["" : 10]',
        """(float[2,3] x) => (float[2,3] y) <float s = {0.1}, uint8 z = {5}>
        { q = QuantizeLinear (x, s, z)  y = DequantizeLinear (q, s, z) }""",
        "float-quantizers: Round needs opset 11 or newer",
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_it_is_left_and_said_why(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opsets, text, why = MODELS[name]
    model = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(f"< ir_version: 8, {opsets} > g {text}"), model)
    assert run(["fix", str(model), "--rtx", "1.7", "--gpu", "L4", "--isolated"]) == 1
    assert why in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == [model]
