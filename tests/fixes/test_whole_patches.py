"""Tests of complete one-operator patches: new nodes and proof settings."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.fixes.proposing import proposal, whole

TRANSPOSED = "(float[1,2,%s] x, float[2,3,%s] w%s) => { y = ConvTranspose <%s> (x, w%s) }"
REDUCED = "(float[2,3] x) => { y = %s <%s> (x) }"
REDUCED_OVER = "(float[2,3] x, int64[N] a) => { y = %s <noop_with_empty_axes = 1> (x, a) }"
RECURRENT = (
    "(float[2,5,3] x, float[1,%d,3] w, float[1,%d,4] r, float[1,%d] b, float[2,1,4] h, float[2,1,4] c) =>"
)
LOGSUMEXP = "(%s[2,3,4] x, int64[N] a) => { y = ReduceLogSumExp <%s> (x) }"
LOGSUMEXP_OVER = (
    "(float[2,3,4] x, int64[N] a) => (float[A] y) < int64[2] b = {0, -1}, int64[0] none = {} >"
    " { y = ReduceLogSumExp <keepdims = %d> (x, %s) }"
)
BLOCKS = "(float[%s] x) => { y = SpaceToDepth <blocksize = %d%s> (x) }"
BOXES = "(float[1,9,4] b, float[1,2,9] s, int64 m, float t) => { y = NonMaxSuppression (%s) }"
BOUNDED = "(int8[4] x, int8 h) => (int8[4] y) < int8 a = {-3}, int8 b = {6} > { y = Clip (%s) }"
CLIPPED = "(float[4] x, float a, float b) => { y = Clip (%s) }"
HOT = "(%s[4] x, int64 n) => (float[A] y) < %s d = {5}, float[2] v = {0, 1} > { y = OneHot (%s) }"
STORED = (
    "(float[2,4] x, float t, uint8[2,4] q) => (float[A] %s) < float s = {0.5}, float16 sh = {14336},"
    " bfloat16 sb = {16128}, float[2] two = {1, 2}, uint8[2] za = {1, 2}, float[1,4] sm = {1, 2, 3, 4},"
    " float[4] ss = {1, 2, 3, 4}, uint8 z = {128},"
    " int8 z8 = {3}, uint16 z16 = {9}, uint8 odd = {7}, uint8 zero = {0}, uint8[4] zz = {128, 128, 128, 128},"
    " uint8[4] zo = {1, 2, 3, 4}, uint8[2,4] w = {0, 1, 2, 128, 129, 130, 254, 255},"
    " int8[2,4] w8 = {-128, 1, 2, 3, 4, 5, 6, 127}, int32[4] b = {1, -2, 3, 4}, int32 zb = {0},"
    " int32 zc = {2}, int32[4] zd = {0, 0, 1, 0}, int64[2] turned = {4, 2} > { %s }"
)


def stored(body: str) -> str:
    """Return a model with stored numbers, whose output is the last result, or the only one."""
    return STORED % ("n" if "n =" in body else "y", body)


SELECTING = (
    "(float[5] x, bool[5] m, bool[2,3] mm, float[2,3,4] z, int64[5] i, float[4] u, float[A] o, float16[5] h)"
    " => (float[A] n) < float zero = {0}, float two = {2}, int64 three = {3}, int64[1] first = {0},"
    " int64[1] one = {1}, int64[1] last = {-1}, int64[1] before = {-2}, float[1] single = {7},"
    " float[2] pair = {7, 8}, int64[2] both = {0, 1} > { y = NonZero (%s)  %s }"
)
ROWS = "t = Transpose (y)"
SCATTERED = "n = ScatterND (x, t, d)"
SELECTED = (
    ("m", f"{ROWS}  p = GatherND (x, t)  d = Neg (p)  {SCATTERED}"),
    ("x", f"{ROWS}  p = GatherND (x, t)  d = Neg (p)  {SCATTERED}"),
    ("m", f"t = Transpose <perm = [1, 0]> (y)  p = GatherND (x, t)  d = Clip (p, , two)  {SCATTERED}"),
    ("m", f"r = Squeeze (y, first)  t = Unsqueeze (r, one)  p = Gather (x, r)  d = Neg (p)  {SCATTERED}"),
    ("m", f"r = Squeeze (y, before)  t = Unsqueeze (r, last)  p = Gather (x, r)  d = Neg (p)  {SCATTERED}"),
    ("m", f"r = Squeeze (y, first)  t = Unsqueeze (r, first)  p = Gather (x, r)  d = Neg (p)  {SCATTERED}"),
    ("m", f"{ROWS}  r = Squeeze (t, one)  p = Gather (x, r)  d = Neg (p)  {SCATTERED}"),
    ("m", f"{ROWS}  r = Squeeze (t, last)  p = Gather (x, r)  d = Neg (p)  {SCATTERED}"),
    ("m", f"{ROWS}  r = Squeeze (t, first)  p = Gather (x, r)  d = Neg (p)  {SCATTERED}"),
    ("m", f"{ROWS}  p = GatherND (x, t)  d = Add (p, single)  {SCATTERED}"),
    ("m", f"{ROWS}  p = GatherND (x, t)  d = Add (p, pair)  {SCATTERED}"),
    ("m", f"{ROWS}  p = GatherND (x, t)  a = Abs (p)  d = Add (p, a)  {SCATTERED}"),
    ("m", f"{ROWS}  p = GatherND (x, t)  q = Identity (p)  d = Max (q)  {SCATTERED}"),
    ("m", f"{ROWS}  p = GatherND (i, t)  k = Div (p, three)  d = Cast <to = 1> (k)  {SCATTERED}"),
    ("m", f"{ROWS}  s = Shape (t)  p = GatherND (x, t)  d = CumSum (p, three)  {SCATTERED}"),
    ("m", f"{ROWS}  p = GatherND (x, t)  s = Shape (p)  d = ConstantOfShape (s)  {SCATTERED}"),
    (
        "m",
        f"{ROWS}  p = GatherND (x, t)  s = Shape (p)"
        f"  d = ConstantOfShape <value = float[1] {{2.5}}> (s)  {SCATTERED}",
    ),
    ("m", f"{ROWS}  p = GatherND (x, t)  s = Shape (p)  d = Expand (two, s)  {SCATTERED}"),
    ("m", f"{ROWS}  p = GatherND (x, t)  s = Shape (p)  d = Expand (pair, s)  {SCATTERED}"),
    ("m", f"{ROWS}  p = GatherND (x, t)  s = Shape <start = 0> (p)  d = Expand (two, s)  {SCATTERED}"),
    ("m", f"{ROWS}  p = GatherND (o, t)  d = Neg (p)  {SCATTERED}"),
    ("m", f'{ROWS}  p = GatherND (x, t)  n = ScatterND <reduction = "add"> (x, t, p)'),
    ("m", f"{ROWS}  p = GatherND (x, t)  n = ScatterND (o, t, p)"),
    ("m", f"{ROWS}  n = ScatterND (x, t, u)"),
    ("m", f"{ROWS}  n = GatherND (x, t)"),
    ("m", f"{ROWS}  p = GatherND (x, t)  n = ReduceSum (p)"),
    ("m", f"{ROWS}  p = GatherND (x, t)  n = ReduceSum <keepdims = 0> (p)"),
    ("m", f"{ROWS}  p = GatherND (x, t)  n = ReduceSum <keepdims = 0> (p, first)"),
    ("m", f"{ROWS}  p = GatherND (x, t)  n = ReduceSum <noop_with_empty_axes = 1> (p)"),
    ("m", f"{ROWS}  p = GatherND (h, t)  n = ReduceSum (p)"),
    ("m", f"{ROWS}  p = GatherND (x, t)  n = ReduceMax <keepdims = 0> (p, first)"),
    ("m", f"{ROWS}  p = GatherND (x, t)  n = ReduceMean (p)"),
    ("m", f"{ROWS}  p = GatherND (i, t)  n = ReduceSum (p)"),
    ("mm", f"{ROWS}  p = GatherND (z, t)  d = Neg (p)  n = ScatterND (z, t, d)"),
    ("mm", f"{ROWS}  p = GatherND (z, t)  d = Mul (p, u)  n = ScatterND (z, t, d)"),
    ("mm", f"{ROWS}  p = GatherND (z, t)  n = ReduceSum (p, first)"),
    ("mm", f"{ROWS}  p = GatherND (z, t)  n = ReduceSum <keepdims = 0> (p, both)"),
    ("mm", f"{ROWS}  p = GatherND (z, t)  n = ReduceSum <keepdims = 0> (p, last)"),
    ("mm", f"{ROWS}  p = GatherND (z, t)  s = Shape (p)  e = Expand (two, s)  n = ReduceSum (e, both)"),
    ("mm", f"{ROWS}  p = GatherND <batch_dims = 1> (z, t)  d = Neg (p)  n = ScatterND (z, t, d)"),
    ("mm", f"{ROWS}  r = Squeeze (t, one)  p = Gather (z, r)  n = ReduceSum (p)"),
    ("o", f"{ROWS}  p = GatherND (x, t)  n = ReduceSum (p)"),
    ("m", "r = Squeeze (y, first)  s = Shape (r)  e = Expand (r, s)  p = Gather (x, e)  n = ReduceSum (p)"),
    ("m", "r = Squeeze (y, first)  e = Expand (r, one)  p = Gather (x, e)  n = ReduceSum (p)"),
    ("m", f"{ROWS}  r = Squeeze (t, one)  p = Gather <axis = 1> (z, r)  n = ReduceSum (p)"),
    ("m", f"{ROWS}  p = GatherND (x, y)  d = Neg (p)  {SCATTERED}"),
    ("m", f"{ROWS}  r = Squeeze (t, one)  p = GatherND (x, r)  d = Neg (p)  {SCATTERED}"),
    ("m", f"{ROWS}  p = GatherND (i, t)  d = GatherND (x, p)  {SCATTERED}"),
    ("m", f"{ROWS}  p = Gather (x, t)  d = Neg (p)  {SCATTERED}"),
    ("m", f"{ROWS}  p = Gather (x, y)  d = Neg (p)  {SCATTERED}"),
    ("m", f"{ROWS}  d = Expand (two, t)  {SCATTERED}"),
    ("m", f"{ROWS}  s = Shape (t)  d = Expand (two, s)  {SCATTERED}"),
    ("m", f"{ROWS}  s = Shape (t)  d = ConstantOfShape (s)  {SCATTERED}"),
    ("m", f"s = Shape (y)  {ROWS}  p = GatherND (x, t)  d = Expand (p, s)  {SCATTERED}"),
    ("m", f"{ROWS}  u2 = Unsqueeze (t, one)  p = GatherND (x, t)  d = Neg (p)  {SCATTERED}"),
    ("m", f"q = Unsqueeze (y, one)  {ROWS}  p = GatherND (x, t)  d = Neg (p)  {SCATTERED}"),
    ("m", f"{ROWS}  p = GatherND (x, t)  q = Unsqueeze (p, one)  d = Neg (p)  {SCATTERED}"),
    ("m", f"{ROWS}  p = GatherND (x, t)  s = Shape (p)  q = Unsqueeze (s, one)  d = Neg (p)  {SCATTERED}"),
    ("m", f"{ROWS}  a = Transpose (t)  p = GatherND (x, t)  d = Neg (p)  {SCATTERED}"),
    ("m", f"t = Transpose <perm = [0, 1]> (y)  p = GatherND (x, t)  d = Neg (p)  {SCATTERED}"),
    ("m", f"{ROWS}  p = GatherND (x, t)  d = Max (p, single)  {SCATTERED}"),
    ("m", f"{ROWS}  p = GatherND (x, t)  s = Shape <end = 1> (p)  d = Expand (two, s)  {SCATTERED}"),
    ("m", f"{ROWS}  p = my.GatherND (x, t)  d = Neg (p)  {SCATTERED}"),
    ("mm", f"{ROWS}  p = GatherND (z, t)  d = Neg (p)  n = ReduceSum (d, last)"),
    ("mm", f"{ROWS}  p = GatherND (z, t)  a = Neg (p)  d = Add (a, p)  n = ReduceMin (d, first)"),
    ("mm", f"{ROWS}  p = GatherND (z, t)  n = ReduceMax <keepdims = 0> (p)"),
    ("mm", f"{ROWS}  p = GatherND (z, t)  s = Shape (p)  e = Expand (u, s)  n = ScatterND (z, t, e)"),
    ("mm", f"{ROWS}  p = GatherND (z, t)  s = Shape (p)  e = ConstantOfShape (s)  n = ScatterND (z, t, e)"),
)
DECLARED = (
    (
        "m",
        f"r = Squeeze (y, first)  t = Unsqueeze (r, one)  p = Gather (x, r)  d = Gather (p, r)  {SCATTERED}",
    ),
    ("m", f"{ROWS}  p = GatherND (x, t)  d = GatherND (p, t)  {SCATTERED}"),
)
"""Models that declare a fixed size of the selected elements."""
NEAREST = (
    '(float[1,1,%s] x) => (float[1,1,%s] y) < %s > { y = Resize <nearest_mode = "floor",'
    ' coordinate_transformation_mode = "tf_half_pixel_for_nn"%s> (x, %s) }'
)
EXPANDED = (
    "(float[2,4] x, int64[2] z, float[2,1] k, bool c) => (float[A,B] n%s) < int64[2] two = {2, 4},"
    " int64[3] three = {3, 2, 4}, int64[2] times = {1, 4}, float[2,1] w = {1, 2},"
    " float[4] row = {1, 2, 3, 4}, float one = {1} > { %s }"
)
SIZED = "(float[1,1,%s] x) => (float[1,1,%s] y) < %s > { y = Resize <antialias = 1, %s> (x, %s) }"
CASES: dict[str, tuple[tuple[int, str], ...]] = {
    "clip-by-one-bound": (
        (13, CLIPPED % "x, a"),
        (13, CLIPPED % "x, , b"),
        (13, CLIPPED % "x, a, b"),
        (13, CLIPPED % "x"),
        (12, CLIPPED % "x, a"),
    ),
    "clip-in-int32": (
        (12, BOUNDED % "x, a, b"),
        (12, BOUNDED % "x, a"),
        (12, BOUNDED % "x, , h"),
        (12, BOUNDED % "x"),
        (11, BOUNDED % "x, a, b"),
        (12, (BOUNDED % "x, a, b").replace("int8", "int32")),
    ),
    "wrap-index": (
        (9, HOT % ("int32", "int64", "x, d, v")),
        (9, HOT % ("int64", "int64", "x, d, v")),
        (11, HOT % ("float", "float", "x, d, v")),
        (11, HOT % ("float16", "int64", "x, d, v")),
        (11, HOT % ("double", "int64", "x, d, v")),
        (11, HOT % ("uint8", "int64", "x, d, v")),
        (11, HOT % ("int64", "int64", "x, n, v")),
        (8, HOT % ("int64", "int64", "x, d, v")),
    ),
    "take-absolute-first": (
        (17, "(float[1,2,4,4] x) => { y = GlobalLpPool (x) }"),
        (17, "(float[1,2,4,4] x) => { y = GlobalLpPool <p = 3> (x) }"),
        (17, "(float[1,2,4,4] x) => { y = LpPool <kernel_shape = [2, 2]> (x) }"),
    ),
    "write-default": (
        (17, "(float[4,4] x) => { y = Trilu (x) }"),
        (17, "(float[4,4] x, int64 k) => { y = Trilu (x, k) }"),
        (17, "(float[4,4] x) => { y = Trilu <upper = 0> (x) }"),
        (
            17,
            "(float[1,2,8,8] x, float[3,4] r, int64[3] i) =>"
            " { y = RoiAlign <output_height = 2, output_width = 2> (x, r, i) }",
        ),
        (
            17,
            "(float[1,2,8,8] x, float[3,4] r, int64[3] i) => { y = RoiAlign <sampling_ratio = 0> (x, r, i) }",
        ),
    ),
    "write-out-mean": (
        (8, "(float[4] x, float[4] z) => { y = Mean (x, z) }"),
        (8, "(float16[4] x) => (float16[4] y) { y = Mean (x) }"),
        (13, "(double[4] x, double[1] z) => (double[4] y) { y = Mean (x, z, x) }"),
        (7, "(float[4] x, float[4] z) => { y = Mean (x, z) }"),
        (13, "(float[4] x, float[4] z) => { y = Mean (x, , z) }"),
        (13, "(float[4] x) => { u = my.Odd (x)  y = Mean (u) }"),
    ),
    "write-out-pads": (
        (17, TRANSPOSED % ("4,4", "3,3", "", "output_shape = [4, 4], strides = [1, 1]", "")),
        (
            17,
            TRANSPOSED
            % ("4,4", "4,5", "", "output_shape = [8, 10], strides = [2, 2], pads = [1, 1, 1, 1]", ""),
        ),
        (17, TRANSPOSED % ("4,4", "3,3", ", float[3] b", "output_shape = [5, 6]", ", b")),
        (17, TRANSPOSED % ("4", "3", "", 'output_shape = [5], auto_pad = "SAME_UPPER", dilations = [2]', "")),
        (17, TRANSPOSED % ("4", "3", "", "output_shape = [6]", "")),
        (17, TRANSPOSED % ("4", "3", "", "output_shape = [7]", "")),
        (17, TRANSPOSED % ("4", "3", "", "strides = [2]", "")),
        (17, TRANSPOSED % ("N", "3", "", "output_shape = [5]", "")),
        (17, "(float[1,2,4] x) => { w = my.Odd (x)  y = ConvTranspose <output_shape = [5]> (x, w) }"),
        (17, "(float[1,2,4] x) => { y = ConvTranspose <output_shape = [5]> (x) }"),
        (17, "(float[1,2,4] x, float[2,2,3] w) => { y = Conv <pads = [1, 1]> (x, w) }"),
    ),
    "write-out-reduction": (
        *((18, REDUCED % (f"Reduce{op}", "noop_with_empty_axes = 1")) for op in ("L1", "L2", "LogSum")),
        *((18, REDUCED % (f"Reduce{op}", "noop_with_empty_axes = 1")) for op in ("SumSquare", "Sum", "Max")),
        (18, REDUCED % ("ReduceL1", "noop_with_empty_axes = 0")),
        (18, REDUCED % ("ReduceL1", "keepdims = 1")),
        (17, REDUCED % ("ReduceL1", "noop_with_empty_axes = 1, axes = [1]")),
        (18, REDUCED_OVER % "ReduceL1"),
        (18, "(float[2] x) => { y = my.ReduceL1 <noop_with_empty_axes = 1> (x) }"),
    ),
    "write-out-space-to-depth": (
        (23, BLOCKS % ("2,3,4,6", 2, ', mode = "CRD"')),
        (23, BLOCKS % ("N,3,6,9", 3, ', mode = "CRD"')),
        (23, BLOCKS % ("1,1,1,1", 1, ', mode = "CRD"')),
        (23, BLOCKS % ("2,3,4,6", 2, ', mode = "DCR"')),
        (23, BLOCKS % ("2,3,4,6", 2, "")),
        (23, BLOCKS % ("2,3,5,6", 2, ', mode = "CRD"')),
        (23, BLOCKS % ("2,3,4,5", 2, ', mode = "CRD"')),
        (23, BLOCKS % ("2,3,4,W", 2, ', mode = "CRD"')),
        (23, BLOCKS % ("2,0,4,4", 2, ', mode = "CRD"')),
        (23, BLOCKS % ("2,3,4,4", 0, ', mode = "CRD"')),
        (23, BLOCKS % ("2,3,4", 2, ', mode = "CRD"')),
        (23, '(float x) => { u = my.Odd (x)  y = SpaceToDepth <blocksize = 2, mode = "CRD"> (u) }'),
    ),
    "write-out-layout": (
        (14, f"{RECURRENT % (16, 16, 32)} {{ y = LSTM <hidden_size = 4, layout = 1> (x, w, r) }}"),
        (
            14,
            f"{RECURRENT % (16, 16, 32)}"
            " { y, s, e = LSTM <hidden_size = 4, layout = 1> (x, w, r, b, , h, c) }",
        ),
        (14, f"{RECURRENT % (12, 12, 24)} {{ y, s = GRU <hidden_size = 4, layout = 1> (x, w, r, , , h) }}"),
        (14, f"{RECURRENT % (4, 4, 8)} {{ , y = RNN <hidden_size = 4, layout = 1> (x, w, r) }}"),
        (14, f"{RECURRENT % (4, 4, 8)} {{ y = RNN <hidden_size = 4, layout = 0> (x, w, r) }}"),
        (14, f"{RECURRENT % (4, 4, 8)} {{ y = RNN <hidden_size = 4> (x, w, r) }}"),
        (14, f"{RECURRENT % (4, 4, 8)} {{ y = my.RNN <hidden_size = 4, layout = 1> (x, w, r) }}"),
    ),
    "write-out-logsumexp": (
        (17, LOGSUMEXP % ("float", "axes = [1]")),
        (17, LOGSUMEXP % ("float", "axes = [-1, 0], keepdims = 0")),
        (12, LOGSUMEXP % ("float16", "axes = [1], keepdims = 1")),
        (13, LOGSUMEXP % ("double", "axes = [1], keepdims = 0")),
        (17, LOGSUMEXP % ("int64", "axes = [1]")),
        (17, LOGSUMEXP % ("float", "keepdims = 1")),
        (18, LOGSUMEXP_OVER % (0, "b")),
        (18, LOGSUMEXP_OVER % (1, "b")),
        (18, LOGSUMEXP_OVER % (1, "a")),
        (18, LOGSUMEXP_OVER % (1, "none")),
        (17, "(float[2] x) => { u = my.Odd (x)  y = ReduceLogSumExp <axes = [0]> (u) }"),
    ),
    "write-score-threshold": (
        (11, BOXES % "b, s"),
        (11, BOXES % "b, s, m"),
        (11, BOXES % "b, s, m, t"),
        (11, BOXES % "b, s, , t"),
        (11, BOXES % "b, s, m, t, t"),
    ),
    "add-bias-behind": (
        (17, TRANSPOSED % ("4,4", "3,3", ", float[3] b", "strides = [2, 2]", ", b")),
        (12, TRANSPOSED % ("4,4", "3,3", ", float[3] b", "strides = [2, 2]", ", b")),
        (17, TRANSPOSED % ("4", "3", ", float[3] b", "strides = [2]", ", b")),
        (17, TRANSPOSED % ("4", "3", "", "strides = [2]", "")),
        (17, "(float[2,4] x, float[2,3,3] w, float[3] b) => { y = ConvTranspose (x, w, b) }"),
        (17, "(float[2] x, float[2,3,3] w, float[3] b) => { u = my.Odd (x)  y = ConvTranspose (u, w, b) }"),
        (17, "(float[1,2,4] x, float[3,2,3] w, float[3] b) => { y = Conv (x, w, b) }"),
    ),
    "fold-quantized-constant": tuple(
        (opset, stored(body))
        for opset, body in (
            (17, "y = DequantizeLinear (b, s)  n = Neg (y)"),
            (17, "y = DequantizeLinear (b, s, zb)  n = Neg (y)"),
            (17, "y = DequantizeLinear <axis = 0> (b, ss, zd)  n = Neg (y)"),
            (17, "y = DequantizeLinear <axis = 1> (b, ss)  n = Neg (y)"),
            (17, "y = DequantizeLinear <axis = -1> (b, ss)  n = Neg (y)"),
            (17, "y = DequantizeLinear <axis = -2> (b, ss)  n = Neg (y)"),
            (17, "y = DequantizeLinear (b, two)  n = Neg (y)"),
            (17, "i = Cast <to = 6> (x)  y = DequantizeLinear (i, s)  n = Neg (y)"),
            (17, "i = Cast <to = 6> (x)  y = DequantizeLinear (i, s, zc)  n = Neg (y)"),
            (17, "i = Cast <to = 6> (x)  y = DequantizeLinear <axis = 1> (i, ss, zd)  n = Neg (y)"),
            (17, "i = Cast <to = 6> (x)  y = DequantizeLinear <axis = -2> (i, two)  n = Neg (y)"),
            (19, "i = Cast <to = 6> (x)  y = DequantizeLinear (i, sh)  n = Neg (y)"),
            (17, "i = Cast <to = 6> (x)  y = DequantizeLinear (i, t)  n = Neg (y)"),
            (17, "y = DequantizeLinear (w, s)  n = Neg (y)"),
            (17, "y = DequantizeLinear (b, s)"),
            (17, "y = my.DequantizeLinear (b, s)  n = Neg (y)"),
            (21, "y = DequantizeLinear <block_size = 2> (b, ss)  n = Neg (y)"),
        )
    ),
    "float-quantizers": tuple(
        (opset, stored(body))
        for opset, body in (
            (17, "y = DequantizeLinear (w, s, z)  n = Neg (y)"),
            (17, "y = DequantizeLinear (w, s, odd)  n = Neg (y)"),
            (17, "y = DequantizeLinear (w8, s, z8)  n = Neg (y)"),
            (17, "y = DequantizeLinear <axis = 1> (w, ss, zz)  n = Neg (y)"),
            (17, "y = DequantizeLinear <axis = 1> (w, ss, zo)  n = Neg (y)"),
            (17, "y = DequantizeLinear <axis = 1> (w, ss, odd)  n = Neg (y)"),
            (17, "y = DequantizeLinear <axis = 1> (w, ss, za)  n = Neg (y)"),
            (17, "y = DequantizeLinear <axis = 1> (w, sm, odd)  n = Neg (y)"),
            (17, "y = DequantizeLinear <axis = 0> (w, two)  n = Neg (y)"),
            (17, "y = DequantizeLinear <axis = 2> (w, two)  n = Neg (y)"),
            (17, "u = my.Odd (w)  y = QuantizeLinear (u, ss)  n = DequantizeLinear (y, ss)"),
            (17, "y = DequantizeLinear (w, s, z)"),
            (17, "y = DequantizeLinear (b, s)  n = Neg (y)"),
            (17, "y = DequantizeLinear (q, s, z)  n = Neg (y)"),
            (11, "y = DequantizeLinear (w, s, z)  n = Neg (y)"),
            (10, "y = DequantizeLinear (w, s, z)  n = Neg (y)"),
            (17, "y = QuantizeLinear (x, s, z)  n = DequantizeLinear (y, s, z)"),
            (17, "y = QuantizeLinear (x, s, odd)  n = DequantizeLinear (y, s, odd)"),
            (17, "y = QuantizeLinear (x, s, odd)  n = DequantizeLinear (y, s, zero)"),
            (
                17,
                "y = QuantizeLinear (x, s, z)  d = DequantizeLinear (y, s, odd)"
                "  n = DequantizeLinear (y, s, z)",
            ),
            (17, "y = QuantizeLinear (x, ss, zz)  n = DequantizeLinear (y, ss, zz)"),
            (17, "y = QuantizeLinear (x, ss, zo)  n = DequantizeLinear (y, ss, zo)"),
            (17, "y = QuantizeLinear (x, s)  n = DequantizeLinear (y, s)"),
            (17, "y = QuantizeLinear (x, s, z)  d = DequantizeLinear (y, s, z)  n = Cast <to = 1> (y)"),
            (
                17,
                "y = com.microsoft.QuantizeLinear (x, s, z16)"
                "  n = com.microsoft.DequantizeLinear (y, s, z16)",
            ),
            (
                21,
                "c = Cast <to = 10> (x)  y = QuantizeLinear (c, sh, z16)  n = DequantizeLinear (y, sh, z16)",
            ),
            (21, "c = Cast <to = 10> (x)  y = QuantizeLinear (c, sh, odd)  n = DequantizeLinear (y, s, odd)"),
            (
                21,
                "c = Cast <to = 10> (x)  y = QuantizeLinear (c, sh, odd)  n = DequantizeLinear (y, sh, odd)",
            ),
            (17, "y = QuantizeLinear (x, s, odd)  n = DequantizeLinear (y, t, odd)"),
            (17, "y = QuantizeLinear (x, t, odd)  n = DequantizeLinear (y, s, odd)"),
            (17, "p = QuantizeLinear (x, s, odd)  y = DequantizeLinear (p, s, odd)"),
            (21, "y = QuantizeLinear <output_dtype = 17> (x, s)  n = DequantizeLinear (y, s)"),
            (21, "y = QuantizeLinear <output_dtype = 22> (x, s)  n = DequantizeLinear (y, s)"),
            (
                22,
                "c = Cast <to = 16> (x)  y = QuantizeLinear (c, sb, odd)  n = DequantizeLinear (y, sb, odd)",
            ),
            (
                21,
                "c = Cast <to = 16> (x)  y = QuantizeLinear (c, sb, odd)  n = DequantizeLinear (y, sb, odd)",
            ),
            (17, "r = Reshape (w, turned)  y = DequantizeLinear (r, s, odd)  n = Neg (y)"),
        )
    ),
    "mask-by-where": (
        *((18, SELECTING % case) for case in SELECTED),
        *((18, (SELECTING % case).replace("float zero", "float[5] p, float zero")) for case in DECLARED),
    ),
    "resize-by-gather": tuple(
        (18, SIZED % case)
        for case in (
            ("4", "2", "float[3] s = {1, 1, 0.5}", 'mode = "linear"', ", s"),
            ("4", "2", "float[1] s = {0.5}", 'mode = "linear", axes = [2]', ", s"),
            ("4", "2", "float[1] s = {0.5}", 'mode = "linear", axes = [-1]', ", s"),
            ("4", "3", "float[3] s = {1, 1, 0.5}", 'mode = "linear"', ", s"),
            ("4", "2", "int64[3] s = {1, 1, 2}", 'mode = "linear"', ", , s"),
            ("4", "2", "float[3] s = {1, 1, 0.5}", 'mode = "linear", exclude_outside = 1', ", s"),
            (
                "4",
                "2",
                "float[3] s = {1, 1, 0.5}",
                'coordinate_transformation_mode = "tf_crop_and_resize"',
                ", s",
            ),
            (
                "4",
                "2",
                "float[3] s = {1, 1, 0.5}",
                'mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize"',
                ", s",
            ),
            ("4", "2", "float[3] s = {1, 1, 0.5}", 'mode = "linear"', ", s"),
        )
    ),
    "resize-asymmetric": tuple(
        (18, NEAREST % case)
        for case in (
            ("4", "8", "float[3] s = {1, 1, 2}", "", ", s"),
            ("4", "8", "float[1] s = {2}", ", axes = [2]", ", s"),
            ("4", "4", "float[3] s = {1, 1, 1}", "", ", s"),
            ("4", "8", "int64[3] s = {1, 1, 8}", "", ", , s"),
            ("4", "8", "int64[1] s = {8}", ", axes = [-1]", ", , s"),
            ("4", "8", "int64[2] s = {1, 8}", ", axes = [2]", ", , s"),
            ("4", "6", "int64[3] s = {1, 1, 6}", "", ", , s"),
            ("4", "2", "int64[3] s = {1, 1, 2}", "", ", , s"),
            ("N", "8", "int64[3] s = {1, 1, 8}", "", ", , s"),
            ("0", "0", "int64[3] s = {1, 1, 0}", "", ", , s"),
            ("4", "8", "int64[1] s = {8}", ', axes = [2], keep_aspect_ratio_policy = "not_larger"', ", , s"),
            ("4", "8", "int64[1] s = {8}", ', axes = [2], keep_aspect_ratio_policy = "stretch"', ", , s"),
            ("4", "8", "int64[1] s = {8}", ', axes = [2], mode = "linear"', ", , s"),
        )
    ),
    "broadcast-constant": tuple(
        (opset, EXPANDED % case)
        for opset, case in (
            (17, ("", "y = Expand (w, two)  n = Add (x, y)")),
            (17, ("", "y = Expand (w, two)  n = Add (y, x)  o = Mul (x, y)")),
            (17, ("", "y = Expand (one, two)  n = Add (x, y)")),
            (17, ("", "y = Expand (row, two)  n = Add (x, y)")),
            (17, ("", "y = Expand (w, three)  n = Add (x, y)")),
            (17, ("", "y = Expand (w, z)  n = Add (x, y)")),
            (17, ("", "y = Tile (w, times)  n = Add (x, y)")),
            (17, ("", "y = Tile (row, two)  n = Add (x, y)")),
            (17, ("", "y = Expand (w, two)  n = MatMul (x, y)")),
            (17, ("", "y = Expand (w, two)  n = my.Add (x, y)")),
            (17, ("", "y = Expand (w, two)  n = Add (y, k)")),
            (17, (", float[A,B] y", "y = Expand (w, two)  n = Sub (x, y)")),
            (17, ("", "y = Expand (w, two)  n = Neg (x)")),
            (8, ("", "y = Expand (w, two)  n = Add (x, y)")),
            (
                17,
                (
                    "",
                    "y = Expand (w, two)  n = If (c)"
                    " < then_branch = t () => (float[2,4] d) { d = Add (x, y) },"
                    " else_branch = e () => (float[2,4] f) { f = Abs (x) } >",
                ),
            ),
        )
    ),
    "store-operand": tuple(
        (17, STORED % ("y", body))
        for body in (
            "n = Neg (s)  y = Add (x, n)",
            "n = Neg (s)  k = Abs (s)  y = Clip (x, n, k)",
            "n = Neg (s)  y = Clip (x, n, t)",
            "n = Neg (s)  y = Clip (x, , n)",
            "n = Neg (s)  y = Add (n, x)",
            "y = Add (x, s)",
        )
    ),
    "store-raw": tuple(
        (17, STORED % ("y", body))
        for body in (
            "y = DequantizeLinear (w, s, z)",
            "y = DequantizeLinear (w8, s, z8)",
            "y = DequantizeLinear (w, s)",
            "y = Concat <axis = 0> (w, q, w)",
        )
    ),
}


@pytest.mark.parametrize("rewrite", CASES)
def test_patches_of_one_operator(rewrite: str, snapshot: SnapshotAssertion) -> None:
    found = {}
    for opset, text in CASES[rewrite]:
        given = text.replace("=> {", "=> (float[A] y) {")
        heads = (STORED[:40], SELECTING[:40], EXPANDED[:40])
        label = text.partition("> {")[2] if text.startswith(heads) else text
        found[f"{opset}: {label}"] = whole(proposal(rewrite, given, "y", opset))
    assert found == snapshot
