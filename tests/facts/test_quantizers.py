"""Tests of quantization details: type, scales, axis and the operator of an operand."""

# ruff: noqa: E501 - a graph, a message or a case in one line is read at once

from __future__ import annotations

from syrupy.assertion import SnapshotAssertion

from tests.graphs import by_body, model_of_bodies
from trtlint.facts.blocks.quantizers import operand, quantized_type, result_quantizer

INPUTS = """float[2,4,6] x, float[4] several, float run, int8 fedpoint, int8[2,4,6] i, float[N] unsure,
float[1,4,6,6] image"""
STORED = """float s = {0.5}, int8 z = {0}, int8 three = {3}, float[4] ws = {1, 2, 3, 4}, int8[4] wz = {0, 0, 0, 0},
int8[4] wzz = {0, 0, 0, 1}, int8[2,4,6] w = {}, float[4,2] blocks = {}, float[1] single = {0.25}, float[6] b = {},
uint8 u = {0}, float[4] stats = {}"""
Q, DQ = "q = QuantizeLinear (x, s, z)", "v = DequantizeLinear (q, s, z)"
OPERANDS = (
    "v = Neg (x)",
    "v = Identity (x)",
    "v = Neg (ws)",
    f"{Q}  {DQ}",
    "q = QuantizeLinear (x, s)  v = DequantizeLinear (q, s)",
    "q = QuantizeLinear (x, s, three)  v = DequantizeLinear (q, s, three)",
    "q = QuantizeLinear (x, s, u)  v = DequantizeLinear (q, s, u)",
    "q = QuantizeLinear (x, s, fedpoint)  v = DequantizeLinear (q, s, fedpoint)",
    "q = QuantizeLinear (x, run)  v = DequantizeLinear (q, run)",
    "q = QuantizeLinear (x, single)  v = DequantizeLinear (q, single)",
    "q = QuantizeLinear (x, several)  v = DequantizeLinear (q, several)",
    "q = QuantizeLinear (x, unsure)  v = DequantizeLinear (q, unsure)",
    "v = DequantizeLinear (i, s)",
    "v = DequantizeLinear (w, s)",
    "v = DequantizeLinear (w, ws, wz)",
    "v = DequantizeLinear (w, ws, wzz)",
    "v = DequantizeLinear <axis = 0> (w, ws)",
    "v = DequantizeLinear <axis = -1> (w, ws)",
    "v = DequantizeLinear <axis = -3> (w, ws)",
    "k = my.Odd (w)  v = DequantizeLinear <axis = -1> (k, ws)",
    "k = my.Odd (w)  v = DequantizeLinear <axis = 1> (k, ws)",
    "t = my.Odd (s)  v = DequantizeLinear (w, t)",
    "v = DequantizeLinear <axis = 0> (w, blocks)",
    "v = DequantizeLinear <axis = 1, block_size = 2> (w, ws)",
    "d = DequantizeLinear <axis = 1> (w, ws)  v = Transpose (d)",
    "d = DequantizeLinear <axis = 0> (w, ws)  v = Transpose (d)",
    "d = DequantizeLinear <axis = 0> (w, ws)  e = Transpose <perm = [1, 2, 0]> (d)  v = Cast <to = 10> (e)",
    "d = DequantizeLinear <axis = 2> (w, ws)  e = Transpose <perm = [1, 2, 0]> (d)  v = Identity (e)",
    "d = DequantizeLinear <axis = 5> (w, ws)  v = Transpose <perm = [1, 2, 0]> (d)",
    "d = DequantizeLinear <axis = 1> (w, ws)  v = Squeeze (d)",
    "k = my.Odd (w)  d = DequantizeLinear <axis = 1> (k, ws)  v = Transpose (d)",
    f"{Q}  r = Identity (q)  d = DequantizeLinear (r, s, z)  v = Reshape (d, x)",
    f"{Q}  d = DequantizeLinear (q, s, z)  v = Neg (d)",
    f"{Q}  d = DequantizeLinear (q, s, z)  v = my.Reshape (d, x)",
    f"n = Neg (x)  a = Relu (n)  {Q.replace('(x', '(a')}  {DQ}",
    f"n = MatMul (x, x)  a = Clip (n)  e = LeakyRelu (a)  f = Sigmoid (e)  h = HardSwish (f)  {Q.replace('(x', '(h')}  {DQ}",
    f"n = MatMul (x, x)  a = Clip (n)  e = LeakyRelu (a)  f = Sigmoid (e)  {Q.replace('(x', '(f')}  {DQ}",
    f"n = MatMul (x, x)  a = BatchNormalization (n, stats, stats, stats, stats)  {Q.replace('(x', '(a')}  {DQ}",
    f"n = MatMul (x, x)  a = Add (n, b)  {Q.replace('(x', '(a')}  {DQ}",
    f"n = MatMul (x, x)  a = Add (b, n)  {Q.replace('(x', '(a')}  {DQ}",
    f"n = MatMul (x, x)  a = Add (n, x)  {Q.replace('(x', '(a')}  {DQ}",
    f"a = Add (b, s)  {Q.replace('(x', '(a')}  {DQ}",
    f"n = Neg (x)  a = my.Relu (n)  {Q.replace('(x', '(a')}  {DQ}",
    f"p = QuantizeLinear (x, s)  o = DequantizeLinear (p, s)  n = Neg (o)  {Q.replace('(x', '(n')}  {DQ}",
    f"n = Neg (x)  c = Identity (n)  {Q.replace('(x', '(c')}  {DQ}",
    "q = trt.TRT_FP8QuantizeLinear (x, s)  v = trt.TRT_FP8DequantizeLinear (q, s)",
)  # fmt: skip
RESULTS = (
    "v = Neg (x)  y = QuantizeLinear (v, s)",
    "v = Neg (x)  a = Relu (v)  y = QuantizeLinear (a, s)",
    "v = Neg (x)  a = Relu (v)  c = Clip (a)  d = Cast <to = 1> (c)  y = QuantizeLinear (d, s)",
    "v = Neg (x)  a = Relu (v)  c = Clip (a)  d = Cast <to = 1> (c)  e = Identity (d)  y = QuantizeLinear (e, s)",
    "v = Neg (x)  y = Relu (v)",
    "v = Neg (x)  a = Relu (v)  b = Neg (a)  y = QuantizeLinear (b, s)",
    "v = Neg (x)  a = Relu (v)  c = Clip (v)  y = QuantizeLinear (c, s)",
    "v = Neg (x)  c = Clip (v)  a = Relu (v)  y = QuantizeLinear (c, s)",
    "v = Neg (run)  y = QuantizeLinear (x, v)",
    "v = Neg (run)  c = Clip (x, v)  y = QuantizeLinear (c, s)",
    "v = Neg (x)  a = Relu (v)  y = QuantizeLinear <axis = 1> (v, ws, wz)",
    "v = Neg (x)  y = QuantizeLinear <axis = -1> (v, ws, wzz)",
)


def test_operands(snapshot: SnapshotAssertion) -> None:
    opsets = '"" : 21, "my" : 1, "trt" : 1'
    model = model_of_bodies(OPERANDS, INPUTS, STORED, opsets, outputs="v")
    values = [node.output for node in model.graph.nodes if node.output.name.startswith("v_")]
    found = []
    for value in values:
        known = operand(value, model.constants)
        numbers = known.quantizer and (
            known.quantizer.scales,
            known.quantizer.symmetric,
            known.quantizer.stored,
        )
        flags = f"constant {known.constant}, fed {known.fed_quantized}"
        nodes = " ".join(node.output.name for node in known.nodes)
        found.append((value.name, f"{known}; {numbers}; {flags}; {nodes}; {quantized_type(value)}"))
    assert by_body(found, OPERANDS) == snapshot


def test_results(snapshot: SnapshotAssertion) -> None:
    model = model_of_bodies(RESULTS, INPUTS, STORED)
    values = [node.output for node in model.graph.nodes if node.output.name.startswith("v_")]
    found = []
    for value in values:
        known = result_quantizer(value, model.constants)
        numbers = known and (known[0].scales, known[0].symmetric, known[0].stored)
        found.append((value.name, f"{known and known[0]}; {numbers}; {known and known[1].output.name}"))
    assert by_body(found, RESULTS) == snapshot
