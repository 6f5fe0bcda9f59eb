"""Tests of all facts about many small bodies that differ in one place."""

# ruff: noqa: E501 - a body in one line is read at once

from __future__ import annotations

import re

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.graphs import by_body, model_of_bodies
from trtlint.facts.base import Fact
from trtlint.facts.facts import Facts

NORM = "q = Mul (x, x)  n = ReduceSum <keepdims = 1> (q, last)"
KEPT = ("node", "chain", "path", "nodes", "file", "values")
DIVISIONS = (
    *(f"n = {op} <axes = [1]> (x)  y = Div (x, n)" for op in ("ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceMax", "ReduceMin", "ReduceProd")),
    "n = my.ReduceL2 (x)  y = Div (x, n)",
    "n = ReduceL2 (x)  y = my.Div (x, n)",
    f"{NORM}  y = Div (x, n)",
    f"{NORM}  r = Sqrt (n)  y = Div (x, r)",
    f"{NORM}  r = Sqrt (n)  y = Reciprocal (r)",
    f"{NORM}  r = Pow (n, half)  y = Div (x, r)",
    f"{NORM}  r = Pow (n, three)  y = Div (x, r)",
    f"{NORM}  r = Pow (n, minus)  y = Div (x, r)",
    f"{NORM}  y = Pow (n, minus)",
    f"{NORM}  y = Pow (n, half)",
    f"{NORM}  y = Pow (n, nought)",
    f"{NORM}  a = Add (n, eps)  y = Div (x, a)",
    f"{NORM}  a = Add (eps, n)  r = Sqrt (a)  y = Div (x, r)",
    f"{NORM}  a = Add (n, nought)  y = Div (x, a)",
    f"{NORM}  a = Add (n, minus)  y = Div (x, a)",
    f"{NORM}  a = Add (n, z)  y = Div (x, a)",
    f"{NORM}  a = Max (z, n)  y = Div (x, a)",
    f"{NORM}  a = Min (n, z)  y = Div (x, a)",
    f"{NORM}  a = Max (n, eps)  y = Div (x, a)",
    f"{NORM}  a = Max (n, eps, eps)  y = Div (x, a)",
    f"{NORM}  a = Max (n, nought)  b = Add (a, eps)  y = Div (x, b)",
    f"{NORM}  a = Add (n, eps)  b = Max (a, nought)  y = Div (x, b)",
    f"{NORM}  a = Min (n, eps)  y = Div (x, a)",
    f"{NORM}  a = Min (eps, n)  y = Div (x, a)",
    f"{NORM}  a = Mul (n, three)  y = Div (x, a)",
    f"{NORM}  a = Mul (minus, n)  y = Div (x, a)",
    f"{NORM}  a = Mul (n, channels)  y = Div (x, a)",
    f"{NORM}  a = Mul (n, z)  y = Div (x, a)",
    f"{NORM}  a = Div (n, three)  y = Div (x, a)",
    f"{NORM}  a = Div (three, n)  y = Div (x, a)",
    f"{NORM}  a = Clip (n, eps)  y = Div (x, a)",
    f"{NORM}  a = Clip (n)  y = Div (x, a)",
    f"{NORM}  a = Clip (n, , three)  y = Div (x, a)",
    f"{NORM}  a = Clip (n, bound)  y = Div (x, a)",
    f"{NORM}  a = Clip (n, minus)  y = Div (x, a)",
    f"{NORM}  a = Where (b, eps, n)  y = Div (x, a)",
    f"{NORM}  a = Where (b, n, eps)  y = Div (x, a)",
    f"{NORM}  a = Where (b, n, nought)  y = Div (x, a)",
    f"{NORM}  a = Where (b, n, z)  y = Div (x, a)",
    f"{NORM}  a = Abs (n)  c = Cast <to = 1> (a)  e = Expand (c, sizes)  y = Div (x, e)",
    f"{NORM}  a = Exp (n)  y = Div (x, a)",
    f"{NORM}  a = my.Abs (n)  y = Div (x, a)",
    "q = Pow (x, two)  n = ReduceMean (q)  y = Div (x, n)",
    "q = Pow (x, three)  n = ReduceMean (q)  y = Div (x, n)",
    "q = Pow (x, minus)  n = ReduceMean (q)  y = Div (x, n)",
    "q = Pow (x, nought)  n = ReduceMean (q)  y = Div (x, n)",
    "q = Mul (x, z)  n = ReduceMean (q)  y = Div (x, n)",
    "a = Abs (x)  q = Identity (a)  n = ReduceMax (q)  y = Div (x, n)",
    "q = my.Abs (x)  n = ReduceMax (q)  y = Div (x, n)",
    "n = ReduceMax (x)  y = Div (x, n)",
    "q = Mul (w, w)  n = ReduceSum (q)  y = Div (x, n)",
    "n = Reciprocal (x)  y = Div (x, n)",
)  # fmt: skip
PLAIN = "s = MatMul (q, kt)  p = Softmax (s)  y = MatMul (p, v)"
ATTENTION = (
    PLAIN,
    PLAIN.replace("Softmax", "Softmax <axis = 3>"),
    PLAIN.replace("Softmax", "Softmax <axis = 2>"),
    PLAIN.replace("Softmax", "my.Softmax"),
    PLAIN.replace("MatMul (p, v)", "MatMul (v, p)"),
    PLAIN.replace("MatMul (p, v)", "MatMul (p, p)"),
    PLAIN.replace("MatMul (p, v)", "my.MatMul (p, v)"),
    PLAIN.replace("MatMul (q, kt)", "MatMul (q, w)"),
    PLAIN.replace("MatMul (q, kt)", "MatMul (w, q)"),
    PLAIN.replace("MatMul (q, kt)", "MatMul (q, learned)"),
    PLAIN.replace("MatMul (q, kt)", "my.MatMul (q, kt)"),
    PLAIN.replace("MatMul (q, kt)", "Add (q, q)"),
    *(
        f"s = MatMul (q, kt)  t = {op}  p = Softmax (t)  y = MatMul (p, v)"
        for op in ("Add (s, m)", "Sub (s, m)", "Mul (s, half)", "Mul (s, one)", "Div (s, four)", "Div (four, s)", "Where (b, s, low)",
                   "Where (b, low, s)", "Clip (s, low)", "Max (s, low)", "Min (s, four)", "Tanh (s)", "Exp (s)", "my.Tanh (s)",
                   "Add (s, nought)", "Cast <to = 1> (s)", "Cast <to = 10> (s)", "Reshape (s, sizes)", "Dropout (s)", "Mul (s, per_head)")
    ),
    "s = MatMul (q, kt)  t = Mul (s, half)  u = Add (t, m)  r = Div (u, four)  p = Softmax (r)  y = MatMul (p, v)",
    "s = MatMul (q, kt)  p = Softmax (s)  n = IsNaN (p)  g = Where (n, nought, p)  y = MatMul (g, v)",
    "s = MatMul (q, kt)  p = Softmax (s)  g = Where (b, nought, p)  y = MatMul (g, v)",
    "s = MatMul (q, kt)  p = Softmax (s)  c = Cast <to = 10> (p)  y = MatMul (c, v)",
    "s = MatMul (q, kt)  p = Softmax (s)  y = MatMul (p, v)  z = MatMul (p, v)",
    "s = MatMul (q, kt)  p = Softmax (s)  y = MatMul (p, v)  z = Neg (p)",
    "s = MatMul (q, kt)  z = Neg (s)  p = Softmax (s)  y = MatMul (p, v)",
    "s = MatMul (q, kt)  z = Shape (s)  p = Softmax (s)  y = MatMul (p, v)",
    *(
        f"s = Einsum <equation = \"{first}\"> (q, k)  p = Softmax (s)  y = Einsum <equation = \"{last}\"> (p, v)"
        for first, last in (
            ("bhid,bhjd->bhij", "bhij,bhjd->bhid"), ("bhid, bhjd -> bhij", "bhij,bhjd->bhdi"), ("bhjd,bhid->bhij", "bhij,bhjd->bhid"),
            ("bhid,bhjd->bhji", "bhij,bhjd->bhid"), ("bihd,bjhd->bhij", "bhij,bjhd->bihd"), ("bhid,bhjd", "bhij,bhjd->bhid"),
            ("bhid,bhjd->b", "bhij,bhjd->bhid"), ("bhid,bhdj->bhij", "bhij,bhdj->bhid"), ("bhdi,bhdj->bhij", "bhij,bhdj->bhdi"),
            ("bhid,bhjd->bhij", "bhij,bhjd"), ("...id,...jd->...ij", "...ij,...jd->...id"), ("bhid,bhid->bhii", "bhij,bhjd->bhid"),
            ("ahid,bhjd->abij", "abij,bhjd->ahid"), ("bhie,bhjd->bhij", "bhij,bhjd->bhid"), ("bhide,bhjde->bhij", "bhij,bhjd->bhid"),
        )
    ),
)  # fmt: skip
CONVOLUTIONS = (
    *(f"v = {made}  y = Conv (x, v)" for made in ("Identity (w)", "Transpose <perm = [1, 0, 2, 3]> (w)", "Mul (w, w)", "Mul (w, fed)", "Mul (fed, w)", "DequantizeLinear (i, s)", "Neg (fed)")),
    "y = Conv (x, w)",
    "y = Conv (x, fed)",
    "q = QuantizeLinear (w, s)  v = DequantizeLinear (q, s)  c = Cast <to = 1> (v)  y = Conv (x, c)",
    "q = QuantizeLinear (fed, s)  v = DequantizeLinear (q, s)  y = Conv (x, v)",
    "a = Neg (w)  b = Neg (a)  c = Neg (b)  d = Neg (c)  e = Neg (d)  f = Neg (e)  g = Neg (f)  y = Conv (x, g)",
    "a = Neg (w)  b = Mul (w, a)  y = Conv (x, b)",
    "a = Neg (w)  b = Mul (a, fed)  y = Conv (x, b)",
    "v = ConstantOfShape <value = float[1] {2}> (dims)  y = Conv (x, v)",
    "y = ConvTranspose (x, w)",
    "y = Conv <group = 8> (x, thin)",
    "y = Conv <group = 2, strides = [2, 1], dilations = [1, 2], pads = [1, 2, 3, 4]> (x, half_w)",
    "y = Conv (x, )",
    "y = my.Conv (x, w)",
)  # fmt: skip
NORMS = (
    *(f"y = LayerNormalization <axis = {axis}> (x, g)" for axis in (-1, -2, 0, 1, 2)),
    "y = LayerNormalization <stash_type = 10, epsilon = 0.5> (x, g)",
    "y = LayerNormalization <axis = 1> (u, g)",
    "y = InstanceNormalization (x, h, h)",
    "y = InstanceNormalization (u, h, h)",
    "r = Reshape (x, dims)  i = InstanceNormalization (r, h, h)  y = Reshape (i, dims)",
    "r = Reshape (x, dims)  i = InstanceNormalization (r, h, h)  y = Reshape (i, dims)  z = Neg (i)",
    "r = Neg (x)  i = InstanceNormalization (r, h, h)  y = Reshape (i, dims)",
    "y = BatchNormalization (x, h, h, h, h)",
    "y = GroupNormalization <num_groups = 2> (x, h, h)",
    "y = com.microsoft.SkipLayerNormalization <epsilon = 0.25> (x, x, g)",
    "y = com.microsoft.SimplifiedLayerNormalization <axis = -1> (x, g)",
    "c = Cast <to = 1> (f)  y = LayerNormalization (c, g)",
    "c = Cast <to = 11> (f)  y = LayerNormalization (c, g)",
    "c = Cast <to = 10> (x)  y = LayerNormalization (c, g)",
    "c = Cast <to = 1> (x)  y = LayerNormalization (c, g)",
    "c = Identity (f)  y = LayerNormalization (c, g)",
)  # fmt: skip
MIXED = (
    "y = Add (f, h)",
    "y = Add (h, f)",
    "y = Add (f, f)",
    "y = Add (f, d)",
    "y = Add (f, b)",
    "y = my.Add (f, h)",
    "y = MatMul (f, h)",
    "y = Where (c, f, h)",
    "y = Concat <axis = 0> (f, f, h)",
    "y = Concat <axis = 0> (h, f, f)",
    "y = Max (f, h, b)",
    "y = Pow (f, h)",
    "y = Clip (f, hs)",
    "y = Clip (f, , hs)",
    "y = Gather (f, i)",
    "y = Conv (image, hw)",
    "y = Add (f, hw)",
    "o = my.Odd (h)  y = Add (f, o)",
    "a = Cast <to = 10> (f)  y = Add (f, a)",
    "a = Cast <to = 10> (f)  e = Neg (a)  g = Abs (e)  y = Mul (g, f)",
    "a = Cast <to = 10> (i)  y = Add (f, a)",
    "a = Cast <to = 1> (d)  y = Add (a, h)",
    "a = Neg (f)  e = Neg (h)  y = Add (a, e)",
    "a = Add (f, h)  e = Add (a, h)  y = Neg (e)",
    "a = Add (f, h)  e = Neg (a)  g = Add (e, h)  j = Mul (g, h)  y = Add (f, h)",
    "y = LayerNormalization (f, gain)",
)  # fmt: skip
GEMMS = (
    "y = MatMul (x, w)",
    "y = MatMul (w, x)",
    "y = MatMul (x, z)",
    "y = MatMul (w, w)",
    "y = Gemm (x, w)",
    "y = Gemm (x, z)",
    "y = Gemm (w, x)",
    "y = Gemm (w, w)",
    "y = Gemm <transB = 1> (x, w, bias)",
    "y = my.MatMul (x, w)",
    "a = MatMul (x, w)  r = Relu (a)  y = Min (r, six)",
    "a = MatMul (x, w)  e = Add (a, bias)  r = Tanh (e)  y = Neg (r)",
    "t = Transpose (w)  y = MatMul (x, t)",
    "q = DequantizeLinear (i, six)  y = MatMul (x, q)",
    "t = Mul (w, z)  y = MatMul (x, t)",
    "y = MatMulInteger (fed, i)",
    "y = QLinearMatMul (fed, six, zero, i, six, zero, six, zero)",
)  # fmt: skip
ROUNDED = (
    *(f"a = Cast <to = {to}> (i)  e = Mul (a, a)  y = Cast <to = 7> (e)" for to in (1, 10, 11, 16)),
    "a = Cast <to = 10> (n)  e = Mul (a, a)  y = Cast <to = 7> (e)",
    "a = Cast <to = 10> (f)  e = Mul (a, a)  y = Cast <to = 7> (e)",
    "a = Cast <to = 10> (k)  e = Mul (a, a)  y = Cast <to = 7> (e)",
    "a = my.Cast <to = 10> (i)  e = Mul (a, a)  y = Cast <to = 7> (e)",
    "a = Cast <to = 10> (i)  y = Cast <to = 7> (a)",
    "a = Cast <to = 10> (i)  e = Neg (a)  y = Cast <to = 7> (e)",
    "a = Cast <to = 10> (i)  e = Mul (a, a)  y = Cast <to = 1> (e)",
    "a = Cast <to = 10> (i)  e = Floor (a)  g = Add (e, a)  j = Reshape (g, i)  y = Cast <to = 6> (j)",
    "a = Cast <to = 10> (i)  e = Mul (a, a)  g = Exp (e)  y = Cast <to = 7> (g)",
    "s = Shape (u)  a = Cast <to = 10> (s)  e = Div (a, half)  y = Cast <to = 7> (e)",
    "s = Shape (f)  a = Cast <to = 10> (s)  e = Div (a, half)  y = Cast <to = 7> (e)",
    "a = Cast <to = 10> (i)  e = Add (a, half)  y = Cast <to = 7> (e)  g = Sub (a, half)  z = Cast <to = 7> (g)",
)  # fmt: skip
WIDENED = (
    *(f"a = Cast <to = 1> (h)  y = {op}" for op in ("MatMul (a, w)", "MatMul (w, a)", "MatMul (a, f)", "MatMul (a, a)", "Gemm (a, w)", "Add (a, w)", "my.MatMul (a, w)", "MatMul (a, hw)")),
    "a = Cast <to = 1> (b)  y = MatMul (a, w)",
    "a = Cast <to = 1> (d)  y = MatMul (a, w)",
    "a = Cast <to = 11> (h)  y = MatMul (a, dw)",
    "a = Cast <to = 1> (hw)  y = MatMul (a, f)",
    "a = Cast <to = 1> (h)  p = MatMul (a, w)  y = Cast <to = 10> (p)",
    "a = Cast <to = 1> (h)  p = MatMul (a, w)  y = Cast <to = 16> (p)",
    "a = Cast <to = 1> (h)  p = MatMul (a, w)  y = Cast <to = 11> (p)",
    "a = Cast <to = 1> (h)  p = MatMul (a, w)  e = Cast <to = 10> (p)  y = Neg (p)",
    "a = Cast <to = 1> (h)  p = MatMul (a, w)",
    "a = Cast <to = 1> (h)  e = Relu (a)  g = Add (f, e)  p = MatMul (g, w)",
    "a = Cast <to = 1> (h)  e = my.Relu (a)  p = MatMul (e, w)",
    "a = Cast <to = 1> (h)  e = Softmax (a)  p = MatMul (e, w)",
    "a = Cast <to = 1> (h)  e = TopK (a)  p = MatMul (e, w)",
    "a = Cast <to = 1> (h)  p = MatMul (a, w)  r = Relu (p)  q = MatMul (r, w)",
)  # fmt: skip
DATA_SIZED = (
    "y = NonZero (x)",
    "y = Unique (x)",
    "y = my.NonZero (x)",
    "n = NonZero (x)  y = Neg (n)  z = Neg (y)",
    "n = NonZero (x)  f = Cast <to = 1> (n)  a = MatMul (w, f)  y = Softmax (a)",
    "n = NonZero (x)  f = Cast <to = 1> (n)  a = my.MatMul (w, f)  y = ReduceSum <keepdims = 0> (f)",
    "n = NonZero (x)  s = Shape (n)  y = Reshape (x, s)",
    "n = NonZero (x)  m = NonZero (n)  f = Cast <to = 1> (m)  y = Softmax (f)",
    "n = NonZero (x)  m = NonZero (u)  y = Concat <axis = 1> (m, n)",
    "y = Relu (u)",
)  # fmt: skip
TOP_K = (
    "y, i = TopK (x, three)",
    "y, i = TopK (x, fed)",
    "y, i = my.TopK (x, three)",
    "m = Min (fed, three, seven)  y, i = TopK (x, m)",
    "m = Min (fed, fed)  y, i = TopK (x, m)",
    "m = Max (fed, three)  y, i = TopK (x, m)",
    "m = Min (fed, three)  c = Cast <to = 7> (m)  q = Reshape (c, one)  y, i = TopK (x, q)",
    "s = Shape (x)  y, i = TopK (x, s)",
    "s = Shape (x)  g = Gather (s, one)  y, i = TopK (x, g)",
    "s = Shape (u)  g = Gather (s, one)  y, i = TopK (x, g)",
    "s = Shape (u)  g = Gather (s, nought)  m = Min (g, seven)  y, i = TopK (x, m)",
    "y, i = TopK (x, )",
)
SUMS = (
    "y = CumSum (x, one)",
    "y = CumSum (x, last)",
    "y = CumSum (x, fed)",
    "y = CumSum <reverse = 1> (u, one)",
    "y = CumSum <exclusive = 1> (u, one)",
    "y = CumSum <reverse = 1> (u, one)",
    "y = CumSum (open, last)",
    "y = my.CumSum (x, one)",
)
BAKED = (
    *(f"y = Reshape (x, {target})" for target in ("to_2_4_6", "to_1_m1", "to_1_4_m1", "to_m1_6", "to_2_m1_4_6", "to_0_24", "to_0_m1", "to_8_6", "to_48", "to_0_0_0_0")),
    *(f"y = Reshape (b, {target})" for target in ("to_1_m1", "to_m1_6", "to_8_6")),
    "y = Reshape <allowzero = 1> (x, to_0_24)",
    "y = my.Reshape (x, to_2_4_6)",
    "y = Reshape (x, fed)",
    "y = Reshape (fixed, to_2_4_6)",
    "y = Reshape (two, to_m1_6)",
    "y = Reshape (two, to_2_4_6)",
    "y = Reshape (two, to_48)",
    "y = Expand (x, to_2_4_6)",
    "y = Expand (x, to_1_1_6)",
    "y = Expand (x, to_8_6)",
    "y = Add (x, held)",
    "y = Add (held, x)",
    "y = Add (x, single)",
    "y = Add (x, row)",
    "y = my.Add (x, held)",
    "y = Pow (x, held)",
    "e = Expand (single, to_2_4_6)  y = Mul (x, e)",
    "e = Tile (single, to_2_1_1)  y = Concat <axis = 1> (x, e)",
    "y = Concat <axis = 1> (x, held)",
    "y = Concat <axis = 0> (x, held)",
    "y = Concat <axis = -1> (x, single)",
    "y = Concat <axis = 1> (x, x)",
    "y = Where (c, x, held)",
)  # fmt: skip
BODIES: dict[str, tuple[tuple[str, ...], str, str]] = {
    "division": (
        DIVISIONS,
        "float[4,8] x, float[4,8] z, bool[4,1] b, float bound, int64[2] sizes",
        "float eps = {0.001}, float half = {0.5}, float three = {3}, float two = {2}, float minus = {-0.5}, float nought = {0}, "
        "int64[1] last = {-1}, float[4,1] channels = {1, 2, 3, 4}, float[4,8] w = {}",
    ),
    "attention": (
        ATTENTION,
        "float[2,4,6,8] q, float[2,4,8,6] kt, float[2,4,6,8] k, float[2,4,6,8] v, float[6,6] m, bool[6,6] b, int64[4] sizes",
        "float half = {0.5}, float one = {1}, float four = {4}, float low = {-1e4}, float nought = {0}, float[8,6] w = {}, "
        "float[2,4,8,6] learned = {}, float[4,1,1] per_head = {1, 2, 3, 4}",
    ),
    "convolution": (
        CONVOLUTIONS,
        "float[1,8,9,9] x, float[8,8,3,3] fed",
        "float[8,8,3,3] w = {}, float[8,1,3,3] thin = {}, float[8,4,3,3] half_w = {}, int8[8,8,3,3] i = {}, float s = {0.5}, int64[4] dims = {8, 8, 1, 1}",
    ),
    "normalization": (
        NORMS,
        "float[2,4,8] x, float16[2,4,8] f, float[] u",
        "float[8] g = {}, float[4] h = {}, int64[3] dims = {2, 4, 8}",
    ),
    "mixed_types": (
        MIXED,
        "float[4,4] f, float16[4,4] h, double[4,4] d, bfloat16[4,4] b, bool[4,4] c, int64[2] i, float[1,1,4,4] image",
        "float16 hs = {15360}, float16[1,1,4,4] hw = {}, float16[4] gain = {}",
    ),
    "gemm": (
        GEMMS,
        "float[8,8] x, float[8,8] z, int8[8,8] fed",
        "float[8,8] w = {}, float[8] bias = {}, float six = {6}, int8 zero = {0}, int8[8,8] i = {}",
    ),
    "rounded_integer": (
        ROUNDED,
        "int64[4] i, int32[4] n, float[4] f, float[N,4] u",
        "int64[4] k = {1, 2, 3, 4}, float16 half = {14336}",
    ),
    "widened_product": (
        WIDENED,
        "float16[8,8] h, bfloat16[8,8] b, double[8,8] d, float[8,8] f",
        "float[8,8] w = {}, float16[8,8] hw = {}, double[8,8] dw = {}",
    ),
    "data_sized": (DATA_SIZED, "float[4] x, float[N] u", "float[1,1] w = {1}"),
    "top_k": (
        TOP_K,
        "float[9,8] x, int64[1] fed, float[N,8] u",
        "int64[1] three = {3}, int64[1] seven = {7}, int64[1] one = {1}, int64[1] nought = {0}",
    ),
    "cumulative_sum": (
        SUMS,
        "float[4,8] x, float[4,9] u, float[] open, int64 fed",
        "int64 one = {1}, int64 last = {-1}",
    ),
    "baked_shape": (
        BAKED,
        "float[N,4,6] x, float[N,6] b, float[2,4,6] fixed, float[N,M,6] two, int64[2] fed, bool[N,4,6] c",
        "int64[3] to_2_4_6 = {2, 4, 6}, int64[2] to_1_m1 = {1, -1}, int64[3] to_1_4_m1 = {1, 4, -1}, int64[2] to_m1_6 = {-1, 6}, "
        "int64[4] to_2_m1_4_6 = {2, -1, 4, 6}, int64[2] to_0_24 = {0, 24}, int64[2] to_0_m1 = {0, -1}, int64[2] to_8_6 = {8, 6}, "
        "int64[1] to_48 = {48}, int64[4] to_0_0_0_0 = {0, 0, 0, 0}, int64[3] to_1_1_6 = {1, 1, 6}, int64[3] to_2_1_1 = {2, 1, 1}, "
        "float[2,4,6] held = {}, float[1,4,6] single = {}, float[6] row = {}",
    ),
}


def words(fact: Fact) -> str:
    """Return the nonempty fields of a fact and its places."""
    fields = ((name, getattr(fact, name)) for name in fact.__struct_fields__ if name not in KEPT)
    said = ", ".join(f"{name}={value}" for name, value in fields if value not in (None, False, (), ""))
    steps = " ".join(f"{step.node.output.name}:{step.role}:{step.detail}:{step.label}" for step in fact.chain)
    said = re.sub(r"<Node \w+ (\w+)>|\b([A-Z]\w*)_\d+\b", r"\1\2", said)
    return f"{'' if fact.node is None else fact.node.output.name}: {said} | {steps}"


@pytest.mark.parametrize("kind", BODIES)
def test_bodies(kind: str, snapshot: SnapshotAssertion) -> None:
    bodies, inputs, stored = BODIES[kind]
    opset = 21 if kind in ("normalization", "mixed_types") else 17
    model = model_of_bodies(bodies, inputs, stored, f'"" : {opset}, "my" : 1, "com.microsoft" : 1')
    found = [(fact.node.output.name if fact.node else "", words(fact)) for fact in Facts(model).of(kind)]
    assert by_body(found, bodies) == snapshot
