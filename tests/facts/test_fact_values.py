"""All that facts say of some small models."""

# ruff: noqa: E501 - a model in one line is read at once

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.graphs import facts_of

HEAD = '< ir_version: 10, opset_import: ["" : {}, "com.microsoft" : 1] > g '
QUANTIZED = """(float[1,4,8,8] x) => (float[A] y) < float s = {0.5}, int8 z = {0}, int8 three = {3},
  int8[4,4,1,1] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, float[4] ws = {1, 2, 3, 4},
  int8[4] wz = {0, 0, 0, 1}, float[4] b = {1, 2, 3, 4} > {
  q = QuantizeLinear (x, s, z)  d = DequantizeLinear (q, s, %s)  v = DequantizeLinear <axis = %s> (w, ws%s)
  c = Conv (d, v, b)  %s }"""
HEADS = """(float[2,4,6,8] q, float[2,4,%s,8] k, float[2,4,%s,8] v, bool[6,%s] m) => (float[A] y)
< float s = {0.125}, float low = {-1e9}, float root = {0.59} > { t = Transpose <perm = [0, 1, 3, 2]> (k)  %s }"""
MODELS: dict[str, tuple[int, str]] = {
    "quantized": (17, QUANTIZED % ("z", 0, "", "y = Relu (c)")),
    "quantized with zero points": (17, QUANTIZED % ("three", 0, ", wz", "y = Relu (c)")),
    "quantized on another axis": (17, QUANTIZED % ("z", 1, "", "y = Relu (c)")),
    "quantized from behind": (17, QUANTIZED % ("z", -4, "", "y = Relu (c)")),
    "quantized shortcut": (
        17,
        QUANTIZED
        % (
            "z",
            0,
            "",
            "r = Relu (c)  e = QuantizeLinear (r, s, z)  f = DequantizeLinear (e, s, z)  y = Add (f, d)",
        ),
    ),
    "quantized product": (
        17,
        """(float[2,4] x) => (float[A] y) < float s = {0.5}, int8[4,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
        float[3] ws = {1, 2, 3} > { q = QuantizeLinear (x, s)  d = DequantizeLinear (q, s)
        v = DequantizeLinear <axis = 1> (w, ws)  t = Transpose (v)  u = Transpose (t)  y = MatMul (d, u) }""",
    ),
    "attention": (
        17,
        HEADS % (5, 5, 5, "a = MatMul (q, t)  b = Mul (a, s)  p = Softmax (b)  y = MatMul (p, v)"),
    ),
    "attention with a mask": (
        17,
        HEADS % (5, 5, 5, "a = MatMul (q, t)  b = Where (m, a, low)  p = Softmax (b)  y = MatMul (p, v)"),
    ),
    "attention with scaled operands": (
        17,
        HEADS
        % (
            "T",
            "T",
            "T",
            "w = Mul (q, root)  u = Mul (t, root)  a = MatMul (w, u)  p = Softmax (a)  y = MatMul (p, v)",
        ),
    ),
    "attention as one operator": (
        23,
        "(float[2,8,6,64] q, float[2,2,7,64] k, float[2,2,7,64] v, float[6,7] m) => (float[A] y)"
        " { y = Attention <is_causal = 1, softcap = 2.0> (q, k, v, m) }",
    ),
    "attention of onnx runtime": (
        17,
        "(float[2,6,32] q, float[2,7,32] k, float[2,7,32] v) => (float[A] y)"
        " { y = com.microsoft.MultiHeadAttention <num_heads = 4> (q, k, v) }",
    ),
    "norm": (
        17,
        """(float16[2,8,16] x) => (float16[A] y) < float16 two = {16384}, float16 eps = {168} > {
        m = ReduceMean <axes = [-1]> (x)  c = Sub (x, m)  s = Pow (c, two)  v = ReduceMean <axes = [-1]> (s)
        e = Add (v, eps)  r = Sqrt (e)  y = Div (c, r) }""",
    ),
    "norm without epsilon": (
        17,
        """(float16[2,8,16] x) => (float16[A] y) { s = Mul (x, x)  v = ReduceMean <axes = [-1]> (s)
        r = Sqrt (v)  y = Div (x, r) }""",
    ),
    "norms": (
        17,
        """(float[2,8,16] x, float[16] g, float[8] h) => (float[A] y) { a = LayerNormalization (x, g, g)
        b = InstanceNormalization <epsilon = 0.5> (a, h, h)  y = LpNormalization <axis = 1> (b) }""",
    ),
    "convolutions": (
        17,
        """(float[1,6,9,9] x, float[4,3,3,3] fed) => (float[A] y) < float[6,1,1,1] w = {1, 2, 3, 4, 5, 6} > {
        a = Conv <group = 6> (x, w)  b = Conv <group = 2, strides = [2, 2], dilations = [1, 2], pads = [1, 1, 1, 1]>
        (a, fed)  n = Neg (w)  y = ConvTranspose (x, n) }""",
    ),
    "products": (
        17,
        """(float[2,3] x, float16[5,7] h) => (float[A] y) < float[3,5] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
        float[5] c = {1, 2, 3, 4, 5} > { a = Gemm <alpha = 0.5> (x, w, c)  b = MatMul (x, w)  k = Cast <to = 1> (h)
        y = MatMul (b, k) }""",
    ),
    "divisions": (
        17,
        """(float16[4] x, float16[4] z) => (float16[A] y) < float16 eps = {168}, float16 zero = {0} > { a = Div (x, z)
        b = Add (z, eps)  c = Div (a, b)  d = Max (c, eps)  e = Reciprocal (d)  f = Sqrt (z)  g = Div (e, f)
        h = Clip (g, eps)  i = Log (h)  y = Div (i, x) }""",
    ),
    "branches": (
        17,
        """(float[4] x, bool c, int64 n) => (float[A] y) < bool yes = {1} > { a = If (yes) <
        then_branch = t () => (float[4] p) { p = Abs (x) }, else_branch = e () => (float[4] q) { q = Neg (x) } >
        b = If (c) < then_branch = u () => (float[2] r) { r = Slice (x, n, n) },
        else_branch = f () => (float[4] s) { s = Neg (x) } >
        y = Loop (n, yes, a) <body = l (int64 i, bool go, float[4] v) => (bool on, float[4] w)
        { on = Identity (go)  w = Add (v, v) }> }""",
    ),
    "shapes": (
        17,
        """(float[N,3,8,8] x, int64[2] given) => (float[A] y) < int64[2] flat = {1, 192}, int64[4] whole = {-1, 3, 4, 16},
        int64 zero = {0} > { a = Reshape (x, flat)  b = Reshape (x, whole)  c = Shape (x)  d = Gather (c, zero)
        e = NonZero (x)  f, g = TopK <axis = 1> (b, given)  h = Reshape (x, given)  i = CumSum (x, zero)
        y = Expand (a, given) }""",
    ),
    "constants": (
        17,
        """(float16[4] x, int64[4] i) => (float16[A] y) < float16 high = {31743}, float low = {-1e9}, float tiny = {1e-9},
        float[3] several = {1, 70000, -3}, int64 big = {5000000000}, int64 small = {-3} > { a = Cast <to = 1> (x)
        b = Add (a, low)  c = Mul (b, tiny)  d = Constant <value = float {1e38}> ()  e = Add (c, d)  f = Add (i, big)
        g = Add (f, small)  h = Cast <to = 10> (e)  k = ConstantOfShape <value = float[1] {1e6}> (i)  y = Add (h, high)
        l = Mul (several, low) }""",
    ),
    "whole numbers in 16 bits": (
        17,
        """(int64[1,4] i, float16[1,4,8] x) => (float16[A] y) { a = Cast <to = 10> (i)  b = ReduceSum (a)
        c = Div (x, b)  d = Cos (b)  y = Mul (c, d) }""",
    ),
    "types": (
        17,
        """(float16[4] x, float[4] z, double[4] w, bfloat16[4] v) => (float[A] y) { a = Add (x, z)  b = Cast <to = 1> (w)
        c = Add (b, z)  d = Cast <to = 1> (v)  y = Add (c, d) }""",
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_values(name: str, snapshot: SnapshotAssertion) -> None:
    opset, text = MODELS[name]
    facts = facts_of(HEAD.format(opset) + text)
    found = []
    for kind in KINDS:
        for fact in facts.of(kind):
            values = {name: getattr(fact, name) for name in fact.__struct_fields__ if name not in _PLACES}
            said = ", ".join(
                f"{key}={value}" for key, value in values.items() if value not in (None, False, (), "")
            )
            found.append(f"{kind} at {fact.node}: {said}")
            found += [f"  {step.role} {step.node}: {step.detail} [{step.label}]" for step in fact.chain]
    assert found == snapshot


_PLACES = ("node", "chain", "path", "nodes", "file")
KINDS = (
    "attention",
    "baked_shape",
    "constant",
    "control_flow",
    "convolution",
    "cumulative_sum",
    "data_sized",
    "declared_type",
    "division",
    "foldable",
    "gemm",
    "mixed_types",
    "model",
    "normalization",
    "quantized",
    "rounded_integer",
    "sum_of_squares",
    "top_k",
    "unrolled",
    "widened_product",
    "cost",
)
