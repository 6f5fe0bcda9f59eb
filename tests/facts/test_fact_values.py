"""Tests of all facts about some small models."""

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
< float s = {0.125}, float low = {-1e9}, float root = {0.59}, float one = {1}, float zero = {0}, float big = {1e4},
int64 last = {-1} > { t = Transpose <perm = [0, 1, 3, 2]> (k)  %s }"""
CUT = """(float[2,6,48] h) => (float[A] y) < int64[1] zero = {0}, int64[1] size = {16}, int64[1] twice = {32},
int64[1] end = {48}, int64[1] axis = {2}, int64[1] two = {2}, int64[1] three = {3} > { %s
t = Transpose <perm = [0, 2, 1]> (k)  a = MatMul (q, t)  p = Softmax (a)  y = MatMul (p, v) }"""
EPILOGUE = """d1 = Relu (c)  e = Clip (d1, s)  f1 = LeakyRelu (e)  %s = HardSwish (f1)  g = QuantizeLinear (%s, s, z)
%s = DequantizeLinear (g, s, z)"""
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
    "attention with scores scaled by a size": (
        17,
        HEADS
        % (
            "T",
            "T",
            "T",
            "h = Shape (q)  n = Gather (h, last)  f = Cast <to = 1> (n)  r = Sqrt (f)  a = MatMul (q, t)"
            "  b = Div (a, r)  p = Softmax (b)  y = MatMul (p, v)",
        ),
    ),
    "attention with a scaled key and an added mask": (
        17,
        HEADS
        % (
            5,
            5,
            5,
            "u = Mul (t, s)  a = MatMul (q, u)  f = Cast <to = 1> (m)  o = Sub (f, one)  g = Mul (o, big)"
            "  b = Add (a, g)  p = Softmax (b)  y = MatMul (p, v)",
        ),
    ),
    "attention with a guard and shared probabilities": (
        17,
        HEADS
        % (
            5,
            5,
            5,
            "a = MatMul (q, t)  b = Mul (a, s)  p = Softmax (b)  n = IsNaN (p)  z = Where (n, zero, p)"
            "  l = ReduceSum (z)  w = MatMul (z, v)  y = Add (w, l)",
        ),
    ),
    "attention with shared scores": (
        17,
        HEADS
        % (
            5,
            5,
            5,
            "a = MatMul (q, t)  l = ReduceMax (a)  p = Softmax (a)  w = MatMul (p, v)  y = Add (w, l)",
        ),
    ),
    "attention with a scale of one and a mask of zeros": (
        17,
        HEADS
        % (
            5,
            5,
            5,
            "a = MatMul (q, t)  b = Mul (a, one)  c = Add (b, zero)  p = Softmax (c)  y = MatMul (p, v)",
        ),
    ),
    "a softmax over another axis": (
        17,
        HEADS % (6, 6, 6, "a = MatMul (q, t)  p = Softmax <axis = 2> (a)  y = MatMul (p, v)"),
    ),
    "a softmax of the last axis": (
        17,
        HEADS % (6, 6, 6, "a = MatMul (q, t)  p = Softmax <axis = 3> (a)  y = MatMul (p, v)"),
    ),
    "attention in another type": (
        17,
        """(float16[2,4,6,8] q, float16[2,4,8,5] t, float16[2,4,5,8] v) => (float16[A] y) {
        a = MatMul (q, t)  b = Cast <to = 1> (a)  p = Softmax (b)  c = Cast <to = 10> (p)  y = MatMul (c, v) }""",
    ),
    "attention cut by Split": (
        17,
        CUT % "q, k, v = Split <axis = 2> (h)",
    ),
    "attention cut by Slice": (
        17,
        CUT
        % "q = Slice (h, zero, size, axis)  k = Slice (h, size, twice, axis)  v = Slice (h, twice, end, axis)",
    ),
    "attention cut by computed Slice": (
        17,
        CUT
        % """n = Shape (h)  d = Gather (n, axis)  e = Div (d, three)  f = Mul (e, two)
        q = Slice (h, zero, e, axis)  k = Slice (h, e, f, axis)  v = Slice (h, f, d, axis)""",
    ),
    "attention cut by Gather": (
        17,
        """(float[3,2,4,6,16] h) => (float[A] y) < int64 i = {0}, int64 j = {1}, int64 l = {2} > {
        q = Gather <axis = 0> (h, i)  k = Gather <axis = 0> (h, j)  v = Gather <axis = 0> (h, l)
        t = Transpose <perm = [0, 1, 3, 2]> (k)  a = MatMul (q, t)  p = Softmax (a)  y = MatMul (p, v) }""",
    ),
    "attention of one tensor": (
        17,
        """(float[2,6,16] q) => (float[A] y) { t = Transpose <perm = [0, 2, 1]> (q)  a = MatMul (q, t)
        p = Softmax (a)  y = MatMul (p, q) }""",
    ),
    "attention with key and value from one tensor": (
        17,
        """(float[2,6,16] q, float[2,7,32] h) => (float[A] y) { k, v = Split <axis = -1> (h)
        t = Transpose <perm = [0, 2, 1]> (k)  a = MatMul (q, t)  p = Softmax (a)  y = MatMul (p, v) }""",
    ),
    "attention of channels": (
        17,
        """(float[2,4,8,36] q, float[2,4,8,36] k, float[2,4,8,36] v) => (float[A] y) < float s = {0.6} > {
        n = Mul (q, s)  o = Mul (k, s)  a = Einsum <equation = "bhct,bhcs->bhts"> (n, o)  p = Softmax (a)
        y = Einsum <equation = "bhts,bhcs->bhct"> (p, v) }""",
    ),
    "attention by Einsum": (
        17,
        """(float[2,6,4,8] q, float[2,7,4,8] k, float[2,7,4,8] v) => (float[A] y) {
        a = Einsum <equation = "bqhd,bkhd->bhqk"> (q, k)  p = Softmax (a)
        y = Einsum <equation = "bhqk,bkhd->bqhd"> (p, v) }""",
    ),
    "attention by Einsum with the key first": (
        17,
        """(float[2,6,8] q, float[2,7,8] k, float[2,7,8] v) => (float[A] y) {
        a = Einsum <equation = "bkd,bqd->bqk"> (k, q)  p = Softmax (a)  y = MatMul (p, v) }""",
    ),
    "attention of moved inputs": (
        17,
        """(float[2,6,4,8] q, float[2,5,4,8] k, float[2,4,5,8] v) => (float[A] y) {
        r = Transpose <perm = [0, 2, 1, 3]> (q)  t = Transpose <perm = [0, 2, 3, 1]> (k)
        a = MatMul (r, t)  p = Softmax (a)  y = MatMul (p, v) }""",
    ),
    "attention of whole numbers": (
        17,
        """(float[2,4,6,8] q, float[2,4,8,5] t, float[2,4,5,8] v) => (float[A] y) < float s = {0.5}, int8 z = {0} > {
        a = QuantizeLinear (q, s, z)  b = DequantizeLinear (a, s, z)  c = QuantizeLinear (t, s, z)
        d = DequantizeLinear (c, s, z)  e = MatMul (b, d)  f = QuantizeLinear (e, s, z)  g = DequantizeLinear (f, s, z)
        p = Softmax (g)  h = QuantizeLinear (p, s, z)  i = DequantizeLinear (h, s, z)  j = QuantizeLinear (v, s, z)
        k = DequantizeLinear (j, s, z)  l = MatMul (i, k)  m = QuantizeLinear (l, s, z)
        y = DequantizeLinear (m, s, z) }""",
    ),
    "attention operators of rank three": (
        23,
        """(float[2,6,32] q, float[2,7,16] k, float[2,7,16] v) => (float[A] y) {
        y = Attention <q_num_heads = 4, kv_num_heads = 2, softmax_precision = 10> (q, k, v) }""",
    ),
    "attention operators with their scores": (
        23,
        """(float16[2,4,6,24] q, float16[2,4,6,24] k, float16[2,4,6,24] v) => (float16[A] y, float16[B] s) {
        y, , , s = Attention <scale = 0.5> (q, k, v) }""",
    ),
    "quantized after four operators": (17, QUANTIZED % ("z", 0, "", EPILOGUE % ("h", "h", "y"))),
    "quantized after five operators": (
        17,
        QUANTIZED
        % ("z", 0, "", "f = Sigmoid (c)  " + (EPILOGUE % ("h", "h", "y")).replace("Relu (c)", "Relu (f)")),
    ),
    "quantized after a bias": (
        17,
        QUANTIZED
        % (
            "z",
            0,
            "",
            "r = Relu (c)  e = Add (r, s)  f = QuantizeLinear (e, s, z)  g = DequantizeLinear (f, s, z)"
            "  y = Conv (g, v, b)",
        ),
    ),
    "quantized by blocks": (
        21,
        """(float[2,4] x) => (float[A] y) < float[2,2] bs = {1, 2, 3, 4}, int8[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8},
        float[2] as = {1, 2}, float[1] one = {1} > {
        v = DequantizeLinear <axis = 0, block_size = 2> (w, bs)  u = DequantizeLinear <axis = 1> (w, as)
        t = DequantizeLinear (w, one)  a = MatMul (x, v)  b = MatMul (x, u)  c = MatMul (x, t)  d = Add (a, b)
        y = Add (d, c) }""",
    ),
    "quantized and moved": (
        17,
        """(float[2,4] x) => (float[A] y) < float[3] ws = {1, 2, 3}, int8[3,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
        int64[2] two = {4, 3} > {
        v = DequantizeLinear <axis = 0> (w, ws)  t = Transpose <perm = [1, 0]> (v)  i = Identity (t)
        a = MatMul (x, i)  r = Reshape (v, two)  b = MatMul (x, r)  y = Add (a, b) }""",
    ),
    "loops": (
        17,
        """(float[4] x, bool c, int64 n) => (float[A] y, float[B] s, float[C] r) < bool yes = {1}, bool no = {0}, int64 three = {3},
        float limit = {9} > {
        a, s = Loop (three, yes, x) <body = k (int64 i, bool go, float[4] v) => (bool go, float[4] w, float[4] z)
        { w = Add (v, v)  z = Neg (v) }>
        b = Loop (three, c, a) <body = l (int64 j, bool on, float[4] u) => (bool next, float[4] t)
        { t = Abs (u)  m = ReduceMax <keepdims = 0> (t)  next = Less (m, limit) }>
        d, e = Loop (n, no, b) <body = o (int64 h, bool stop, float[4] f) => (bool ends, float[4] g, float[4] q)
        { g = Neg (f)  q = Exp (f)  ends = Identity (stop) }>
        r = Slice (e, three, n)  y = Identity (d) }""",
    ),
    "windows": (
        19,
        """(float[1,4,9,9] x, float[1,4,n,9] u) => (float[A] y, float[B] z) < float[4,2,3,3] w = {} > {
        a = MaxPool <kernel_shape = [3, 3], strides = [2, 3], dilations = [2, 1], pads = [1, 0, 1, 2], ceil_mode = 1> (x)
        b = AveragePool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1, count_include_pad = 1> (a)
        z = MaxPool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1> (u)
        y = ConvTranspose <strides = [2, 2], pads = [1, 1, 1, 1], output_padding = [1, 0], group = 2> (b, w) }""",
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
    "pooling",
    "quantized",
    "rounded_integer",
    "sum_of_squares",
    "top_k",
    "transposed_convolution",
    "unrolled",
    "widened_product",
    "cost",
)
