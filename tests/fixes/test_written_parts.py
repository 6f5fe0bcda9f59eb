"""Tests of rewritten operators of one kind, bodies and quantized tensors."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.fixes.proposing import outcome

FOR_NN = 'coordinate_transformation_mode = "tf_half_pixel_for_nn"'
SMALL: dict[str, tuple[tuple[int, str], ...]] = {
    "elu-by-selu": (
        (17, "(float[4] x) => { y = Elu (x) }"),
        (17, "(float[4] x) => { y = Elu <alpha = 0.5> (x) }"),
        (6, "(float[4] x) => { y = Elu (x) }"),
        (5, "(float[4] x) => { y = Elu (x) }"),
        (17, "(float[4] x) => { y = com.microsoft.Elu (x) }"),
        (17, "(float[4] x) => { y = Celu (x) }"),
    ),
    "clip-by-minimum": (
        (17, "(float[4] x) => < float a = {0}, float b = {6} > { y = Clip (x, a, b) }"),
        (17, "(float16[4] x) => < float16 a = {0}, float16 b = {17920} > { y = Clip (x, a, b) }"),
        (17, "(float[4] x) => < float a = {1}, float b = {6} > { y = Clip (x, a, b) }"),
        (17, "(float[4] x) => < float a = {0} > { y = Clip (x, a) }"),
        (17, "(float[4] x, float b) => < float a = {0} > { y = Clip (x, a, b) }"),
        (17, "(int64[4] x) => < int64 a = {0}, int64 b = {6} > { y = Clip (x, a, b) }"),
        (8, "(float[4] x) => { y = Clip <min = 0.0, max = 6.0> (x) }"),
        (7, "(float[4] x) => { y = Clip <min = 0.0, max = 6.0> (x) }"),
    ),
    "relu-by-max": (
        (14, "(int64[4] x) => { y = Relu (x) }"),
        (12, "(int32[4] x) => { y = Relu (x) }"),
        (11, "(int32[4] x) => { y = Relu (x) }"),
        (14, "(int8[4] x) => { y = Relu (x) }"),
        (14, "(float[4] x) => { y = Relu (x) }"),
        (14, "(int64[4] x) => { y = Neg (x) }"),
    ),
    "leave-out-mode": (
        (20, '(float[1,2,4,4] x, float[1,3,3,2] g) => { y = GridSample <mode = "linear"> (x, g) }'),
        (
            20,
            "(float[1,2,4,4] x, float[1,3,3,2] g) =>"
            ' { y = GridSample <align_corners = 1, mode = "linear", padding_mode = "border"> (x, g) }',
        ),
        (20, '(float[1,2,4,4] x, float[1,3,3,2] g) => { y = GridSample <mode = "cubic"> (x, g) }'),
        (20, "(float[1,2,4,4] x, float[1,3,3,2] g) => { y = GridSample (x, g) }"),
        (20, "(float x) => { y = Neg (x) }"),
    ),
    "leave-out-optional": (
        (17, '(float[4] x) => { y, m = Dropout (x, "") }'),
        (17, '(float[4] x) => { y, m = Dropout (x, "", "") }'),
        (17, "(float[4] x) => { y, m = Dropout (x)  n = Not (m) }"),
        (17, "(float[1,1,4,4] x) => { y, i = MaxPool <kernel_shape = [2, 2]> (x)  n = Neg (i) }"),
        (17, "(float[1,1,4,4] x) => { y, i = MaxPool <kernel_shape = [2, 2]> (x) }"),
        (17, "(float[2,4] x, float[4] g) => { y, m, d = LayerNormalization (x, g, g) }"),
        (17, '(float[4] x) => { y = Clip (x, "", "") }'),
        (17, '(float[4] x, float b) => { y = Clip (x, "", b) }'),
        (17, "(float[4] x) => { y = Neg (x) }"),
        (17, '(float[4] x) => { "", y = Split <axis = 0> (x) }'),
        (17, "(float[4] x) => { y = com.microsoft.Gelu (x) }"),
    ),
    "write-out-ellipsis": (
        (17, '(float[2,3,4] x, float[2,4,5] z) => { y = Einsum <equation = "...ij,...jk->...ik"> (x, z) }'),
        (17, '(float[2,3,4] x, float[4,5] z) => { y = Einsum <equation = "...ij,...jk->...ik"> (x, z) }'),
        (17, '(float[2,3,4] x, float[4,5] z) => { y = Einsum <equation = "...ij,jk"> (x, z) }'),
        (17, '(float[2,3,4] x) => { y = Einsum <equation = "...ij->ij"> (x) }'),
        (17, '(float[3,4] x) => { y = Einsum <equation = "...ij->ij"> (x) }'),
        (17, '(float[2,3,4] x, float[1,4,5] z) => { y = Einsum <equation = "...ij,...jk->...ik"> (x, z) }'),
        (17, '(float[2,3,4] x) => { y = Einsum <equation = "aij->ij"> (x) }'),
        (17, '(float[3] x) => { y = Einsum <equation = "...ij->ij"> (x) }'),
        (17, '(float[2,3] x) => { y = Einsum <equation = "...bcdefghijklmnopqrstuvwxyz->..."> (x) }'),
        (17, "(float x) => { y = Neg (x) }"),
    ),
    "write-out-prelu": (
        (17, "(float[1,2,4] x) => < float[2,1] s = {1, 2} > { y = PRelu (x, s) }"),
        (8, "(float16[1,2,4] x) => < float16[2,1] s = {15360, 0} > { y = PRelu (x, s) }"),
        (7, "(float[1,2,4] x) => < float[2,1] s = {1, 2} > { y = PRelu (x, s) }"),
        (17, "(float[1,2,4] x, float[2,1] s) => { y = PRelu (x, s) }"),
        (17, "(int32[1,2,4] x) => < int32[2,1] s = {1, 2} > { y = PRelu (x, s) }"),
        (17, "(float x) => { y = Neg (x) }"),
    ),
    "resize-asymmetric": tuple(
        (opset, f"(float[1,3,4,4] x) => < float[4] s = {{{scales}}} > {{ y = Resize <{settings}> (x, , s) }}")
        for opset, scales, settings in (
            (11, "1, 1, 2, 3", f'nearest_mode = "floor", {FOR_NN}'),
            (10, "1, 1, 2, 3", f'nearest_mode = "floor", {FOR_NN}'),
            (11, "1, 1, 2, 1.5", f'nearest_mode = "floor", {FOR_NN}'),
            (11, "1, 1, 2, 0.5", f'nearest_mode = "floor", {FOR_NN}'),
            (11, "1, 1, 2, 2", f'nearest_mode = "ceil", {FOR_NN}'),
            (11, "1, 1, 2, 2", f'mode = "linear", {FOR_NN}'),
            (11, "1, 1, 2, 2", 'nearest_mode = "floor", coordinate_transformation_mode = "half_pixel"'),
        )
    ),
}
RESIZED = "(float[1,1,%s] x) => (float[1,1,%s] y) < int64[4] s = {1, 1, %s} > { y = Resize <%s> (x, , , s) }"
RESIZES = (
    ("4,4", "2,4", "2, 4", 'antialias = 1, mode = "linear"'),
    ("4,4", "2,2", "2, 2", 'antialias = 1, mode = "cubic", cubic_coeff_a = -0.5'),
    ("4,4", "4,4", "4, 4", 'antialias = 1, mode = "linear"'),
    ("4,4", "2,4", "2, 4", 'mode = "linear"'),
    ("4,4", "2,4", "2, 4", 'antialias = 1, mode = "nearest"'),
    ("4,4", "2,4", "2, 4", 'antialias = 1, mode = "cubic", exclude_outside = 1'),
    ("4,N", "2,4", "2, 4", 'antialias = 1, mode = "linear"'),
    ("4096,1", "2048,1", "2048, 1", 'antialias = 1, mode = "cubic", exclude_outside = 1'),
    ("4097,1", "2,1", "2, 1", 'antialias = 1, mode = "linear"'),
    ("2,1", "4097,1", "4097, 1", 'antialias = 1, mode = "linear"'),
    ("4096,1", "2,1", "2, 1", 'antialias = 1, mode = "linear"'),
)
BRANCHES = """(float[4] x, bool c) => %s < bool yes = {1}, bool no = {0} > {
  y%s = If (%s) < then_branch = t () => (float[4] p%s)
      < float[4] w = {1, 2, 3, 4} > { p = Mul (x, w) },
    else_branch = e () => (float[4] q%s) { n = Neg (x)  q = Abs (n) } > }"""
LOOP = """(float[4] x, bool c, int64 m) => (float[A] y%s) < int64 three = {3}, int64 many = {65},
  bool yes = {1}, bool no = {0}, int64 huge = {2147483647}, float[4] one = {1, 1, 1, 1} > {
  y%s = Loop (%s) <body = b (int64 i, bool go, float[4] s) => (bool again, float[4] next%s)
    < float[4] w = {1, 2, 3, 4} > { %s next = Add (s, w) }> }"""
LOOPS = {
    "three times": ("", "", "three, yes, x", "", "again = Identity (go)"),
    "three times without a condition": ("", "", "three, , x", "", "again = Identity (go)"),
    "three times what is stacked": (
        ", float[B] r",
        ", r",
        "three, yes, x",
        ", float[4] row",
        "again = Identity (go)  row = Abs (s)",
    ),
    "the number is read": (
        ", float[B] r",
        ", r",
        "three, yes, x",
        ", float row",
        "again = Identity (go)  row = Cast <to = 1> (i)",
    ),
    "never": ("", "", "three, no, x", "", "again = Identity (go)"),
    "never what is stacked": (
        ", float[B] r",
        ", r",
        "three, no, x",
        ", float[4] row",
        "again = Identity (go)  row = Abs (s)",
    ),
    "too often": ("", "", "many, yes, x", "", "again = Identity (go)"),
    "as often as is told": ("", "", "m, yes, x", "", "again = Identity (go)"),
    "if it is told": ("", "", "three, c, x", "", "again = Identity (go)"),
    "without an end": ("", "", '"", yes, x', "", "again = Identity (go)"),
    "without an end as good as": ("", "", "huge, yes, x", "", "again = Identity (go)"),
    "once": ("", "", "three, yes, x", "", "again = Constant <value = bool {0}> ()"),
    "once and without a count": ("", "", '"", yes, x', "", "again = Constant <value = bool {0}> ()"),
    "always": ("", "", "three, yes, x", "", "again = Constant <value = bool {1}> ()"),
    "without a condition that is told": ("", "", "three, , x", "", "again = Constant <value = bool {0}> ()"),
    "while the count is low": (
        "",
        "",
        '"", yes, x',
        "",
        "two = Constant <value = int64 {2}> ()  again = Less (i, two)",
    ),
    "while the sum is low": (
        "",
        "",
        '"", yes, x',
        "",
        "five = Constant <value = float {5.0}> ()  t = ReduceMax <keepdims = 0> (s)  again = Less (t, five)",
    ),
    "while the stored sum is low": (
        "",
        "",
        '"", yes, one',
        "",
        "five = Constant <value = float {9.0}> ()  t = ReduceMax <keepdims = 0> (s)  again = Less (t, five)",
    ),
    "counted in what it carries": (
        "",
        "",
        "m, , x",
        "",
        "again = Identity (go)  f = Cast <to = 1> (i)  k = Not (go)",
    ),
    "of unknown sizes": (
        "",
        "",
        "three, yes, x",
        "",
        "z = Shape (s)  k = Size (z)  t = Cast <to = 9> (k)  again = Identity (t)",
    ),
}
QUANTIZED = (
    "(float[2,4] x, uint8[2,4] q, float t) => (%s) < float s = {0.5}, uint8 z = {3},"
    " float[4] ss = {1, 2, 3, 4}, uint8[4] zz = {1, 2, 3, 4},"
    " uint8[4,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},"
    " int32[3] b = {1, 2, 3}, float[3] ws = {1, 2, 3}, uint8[3] wz = {0, 0, 0},"
    " int64[2] turned = {4, 2} > { %s }"
)
BITS = "uint8[A,B] y"
REALS = "float[A,B] y"
QUANTIZING = (
    (BITS, "y = QuantizeLinear (x, s, z)"),
    (BITS, "y = QuantizeLinear (x, ss, zz)"),
    (BITS, "y = QuantizeLinear <axis = 0> (x, ss, zz)"),
    (BITS, "y = QuantizeLinear (x, t, z)"),
    (BITS, "y = QuantizeLinear (x, s)"),
    (REALS, "y = DequantizeLinear (q, s, z)"),
    (REALS, "y = DequantizeLinear (q, s)"),
    (REALS, "y = DequantizeLinear (q, ss, zz)"),
    (REALS, "y = DequantizeLinear (q, t, z)"),
    (REALS, "y = DequantizeLinear (q, t)"),
    (REALS, "r = Reshape (q, turned)  y = DequantizeLinear (r, s, z)"),
    (REALS, "y = Cast <to = 1> (q)"),
    ("int32[A,B] y", "y = Cast <to = 6> (q)"),
    ("int8[A,B] y", "y = Cast <to = 3> (q)"),
    ("int32[A,B] y", "y = MatMulInteger (q, w, z)"),
    ("int32[A,B] y", "y = MatMulInteger (q, w)"),
    (REALS, "p = MatMulInteger (q, w, z)  y = Cast <to = 1> (p)"),
    (BITS, "y = QLinearMatMul (q, s, z, w, s, z, s, z)"),
    (BITS, "y = QLinearMatMul (q, s, z, w, ws, wz, s, z)"),
    (BITS, "y = QLinearMatMul (q, s, z, w, t, z, s, z)"),
    (BITS, "y = com.microsoft.QLinearAdd (q, s, z, q, s, z, s, z)"),
    (BITS, "y = com.microsoft.QLinearMul (q, s, z, q, s, , s, z)"),
    (BITS, "y = com.microsoft.QLinearSigmoid (q, s, z, s, z)"),
    (BITS, "y = com.microsoft.QLinearLeakyRelu <alpha = 0.25> (q, s, z, s, z)"),
    (BITS, "y = com.microsoft.QLinearSoftmax <axis = 1, opset = 13> (q, s, z, s, z)"),
    (BITS, "y = com.microsoft.QLinearSoftmax <axis = 1, opset = 11> (q, s, z, s, z)"),
    (BITS, "y = com.microsoft.QLinearConcat <axis = 1> (s, z, q, s, z, q, t, z)"),
    (BITS, "y = com.microsoft.QLinearConcat <axis = 1> (s, z, q, s, z, q, s, z)"),
    (REALS, "y = com.microsoft.QGemm (q, s, z, w, s, z, b)"),
    (BITS, "y = com.microsoft.QGemm <alpha = 2.0> (q, s, z, w, ws, wz, b, s, z)"),
    (REALS, "d, e, f = DynamicQuantizeLinear (x)  y = DequantizeLinear (d, e, f)"),
    (BITS, "y, e, f = DynamicQuantizeLinear (x)"),
)


@pytest.mark.parametrize("rewrite", SMALL)
def test_small_operators(rewrite: str, snapshot: SnapshotAssertion) -> None:
    found = {}
    for opset, text in SMALL[rewrite]:
        whole = text.replace("=> {", "=> (float[A] y) {").replace("=> <", "=> (float[A] y) <")
        found[f"{opset}: {text}"] = outcome(rewrite, whole, "y", opset)
    assert found == snapshot


@pytest.mark.slow
def test_sizes_of_images(snapshot: SnapshotAssertion) -> None:
    texts = [RESIZED % case for case in RESIZES]
    assert {text: outcome("resize-by-gather", text, "y", 18)[:600] for text in texts} == snapshot


def test_branches(snapshot: SnapshotAssertion) -> None:
    """The rewrite keeps the taken branch with its stored tensors and local names."""
    found = {}
    for condition in ("yes", "no", "c"):
        text = BRANCHES % ("(float[A] y)", "", condition, "", "")
        found[condition] = outcome("take-branch", text, "y")
        twice = BRANCHES % ("(float[A] y, float[A] r)", ", r", condition, ", float[4] p", ", float[4] n")
        found[f"{condition}, with two results"] = outcome("take-branch", twice, "y")
        outer = BRANCHES % ("(float[A] y, float[A] r)", ", r", condition, ", float[4] w", ", float[4] n")
        found[f"{condition}, with a stored result"] = outcome("take-branch", outer, "y")
    assert found == snapshot


@pytest.mark.parametrize("opset", [12, 18])
def test_loops(opset: int, snapshot: SnapshotAssertion) -> None:
    chosen = list(LOOPS.items())[:: 1 if opset == 18 else 5]
    assert {name: outcome("write-out-loop", LOOP % case, "y", opset) for name, case in chosen} == snapshot


@pytest.mark.parametrize("opset", [10, 11, 17])
def test_quantized_tensors(opset: int, snapshot: SnapshotAssertion) -> None:
    chosen = QUANTIZING[:: 1 if opset == 17 else 4]
    found = {
        body: outcome("write-out-quantized", QUANTIZED % (given, body), "y", opset) for given, body in chosen
    }
    assert found == snapshot
