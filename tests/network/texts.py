"""Small models as text, one per layer family."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper, parser

_HEAD = '< ir_version: 8, opset_import: ["" : {opset}] >\n'


def write(folder: Path, text: str, opset: int = 18) -> Path:
    """Write a model whose text has no header."""
    path = folder / "model.onnx"
    onnx.save(parser.parse_model(_HEAD.format(opset=opset) + text), path)
    return path


def with_weights(
    folder: Path, node: onnx.NodeProto, inputs: dict[str, list[int]], weights: dict[str, list[int]]
) -> Path:
    """Write a model of one node whose weights are random."""
    generator = np.random.default_rng(7)
    graph = helper.make_graph(
        [node],
        "one",
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims) for name, dims in inputs.items()],
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in node.output],
        [
            numpy_helper.from_array(generator.standard_normal(dims).astype(np.float32), name)
            for name, dims in weights.items()
        ],
    )
    model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 18)])
    path = folder / "model.onnx"
    onnx.save(onnx.shape_inference.infer_shapes(model), path)
    return path


AGREE: dict[str, str] = {
    "activations": """g (float[3,4] x) => (float[3,4] y) {
        a = Relu(x) b = LeakyRelu <alpha=0.3>(x) c = Elu <alpha=0.7>(x) d = Selu(x) e = Softsign(x)
        f = Softplus(x) h = HardSigmoid <alpha=0.3, beta=0.4>(x) i = ThresholdedRelu <alpha=0.2>(x)
        j = Tanh(x) k = Sigmoid(x) y = Sum(a, b, c, d, e, f, h, i, j, k) }""",
    "unary": """g (float[3,4] x) => (float[3,4] y) {
        p = Abs(x) a = Sqrt(p) b = Exp(x) c = Sin(x) d = Cos(x) e = Erf(x) f = Floor(x) h = Ceil(x)
        i = Round(x) j = Neg(x) k = Sign(x) l = Atan(x) m = Reciprocal(b) n = Log(b)
        y = Sum(a, b, c, d, e, f, h, i, j, k, l, m, n) }""",
    "elementwise": """g (float[3,4] x, float[4] z) => (float[3,4] y, bool[3,4] q) {
        a = Add(x, z) b = Sub(x, z) c = Mul(x, z) d = Div(x, z) e = Max(x, z) f = Min(x, z) p = Abs(x)
        h = Pow(p, z) r = Greater(x, z) s = Less(x, z) t = Or(r, s) q = Xor(t, r) y = Sum(a, b, c, d, e,
        f, h) }""",
    "whole_numbers": """g (int64[3,4] x, int64[4] z) => (int64[3,4] y, int64[3,4] w) {
        a = Add(x, z) b = Mul(a, z) c = Sub(b, x) p = Constant <value = int64[1] {3}>() y = Div(c, p) w =
        Mod(c, p) }""",
    "selection": """g (float[3,4] x, bool[3,4] c, float[4] s) => (float[3,4] y, float[3,4] p, float[3,4]
        z) {
        n = Neg(x) y = Where(c, x, n) p = PRelu(x, s) d = Cast <to=6>(x) z = Cast <to=1>(d) }""",
    "shuffles": """g (float[2,3,4] x) => (float[4,6] y, float[2,1,3,4] u, float[24] f) {
        t = Transpose <perm=[2,0,1]>(x) s = Constant <value = int64[2] {4, -1}>() y = Reshape(t, s)
        a = Constant <value = int64[1] {1}>() u = Unsqueeze(x, a) m = Constant <value = int64[1] {-1}>()
        f = Reshape(x, m) }""",
    "slices": """g (float[4,5] x) => (float[2,3] y, float[4,5] r, float[6,8] p, float[6,8] q) {
        b = Constant <value = int64[2] {1, 0}>() e = Constant <value = int64[2] {3, 5}>()
        a = Constant <value = int64[2] {0, 1}>() s = Constant <value = int64[2] {1, 2}>() y = Slice(x, b,
        e, a, s)
        rb = Constant <value = int64[1] {-1}>() re = Constant <value = int64[1] {-100}>() ra = Constant
        <value = int64[1] {1}>()
        r = Slice(x, rb, re, ra, rb) w = Constant <value = int64[4] {1, 2, 1, 1}>()
        p = Pad <mode="reflect">(x, w) v = Constant <value = float {2.5}>() q = Pad(x, w, v) }""",
    "gathers": """g (float[4,5] x, int64[2,2] i) => (float[2,2,5] y, float[2,2] z, float[2,5] n) {
        y = Gather(x, i) z = GatherElements(x, i) k = Constant <value = int64[2,1] {3, 1}>() n =
        GatherND(x, k) }""",
    "scatters": """g (float[4,5] x) => (float[4,5] y, float[4,5] z, float[1,3] j) {
        i = Constant <value = int64[1,3] {2, 0, 1}>() j = GatherElements <axis=1>(x, i) u = Constant
        <value = float[1,3] {1.0, 2.0, 3.0}>()
        y = ScatterElements <axis=1>(x, i, u) k = Constant <value = int64[2,2] {3, 1, 0, 0}>()
        v = Constant <value = float[2] {9.0, 8.0}>() z = ScatterND(x, k, v) }""",
    "one_hot": """g (int64[3] x) => (float[3,4] y) {
        d = Constant <value = int64 {4}>() v = Constant <value = float[2] {0.0, 2.0}>() y = OneHot(x, d,
        v) }""",
    "reductions": """g (float[2,3,4] x) => (float[2,3] a, float[1,1,1] b, float[2,4] c, float[2,3,1] d,
        float[2,3] e) {
        m = Constant <value = int64[1] {-1}>() a = ReduceMean <keepdims=0>(x, m) b = ReduceSum(x)
        n = Constant <value = int64[1] {1}>() c = ReduceMax <keepdims=0>(x, n) d = ReduceL2(x, m)
        e = ReduceLogSumExp <keepdims=0>(x, m) }""",
    "softmax": """g (float[2,3,4] x) => (float[2,3,4] y, float[2,3,4] z) { y = Softmax <axis=1>(x) z =
        LogSoftmax(x) }""",
    "topk": """g (float[3,6] x) => (float[3,2] y, int64[3,2] i, int64[3,1] j) {
        k = Constant <value = int64[1] {2}>() y, i = TopK(x, k) j = ArgMin <axis=1>(x) }""",
    "cumulative": """g (float[3,4] x) => (float[3,4] y) {
        a = Constant <value = int64 {1}>() y = CumSum <exclusive=1, reverse=1>(x, a) }""",
    "ranges": """g (int64 n, float[4] x) => (int64[k] y, float[4] z) {
        a = Constant <value = int64 {0}>() d = Constant <value = int64 {2}>() s = Constant <value = int64
        {3}>()
        m = Add(n, s) y = Range(a, m, d) z = Identity(x) }""",
    "einsum": """g (float[2,3,4] x, float[2,4,5] z) => (float[2,3,5] y, float[3,2] w) {
        y = Einsum <equation="bij,bjk->bik">(x, z) w = Einsum <equation="bij->ib">(x) }""",
    "matrices": """g (float[2,3,4] x, float[4,5] z, float[4] v, float[3,4] t) => (float[2,3,5] y,
        float[2,3] w, float[3,5] u) {
        y = MatMul(x, z) w = MatMul(x, v) u = Gemm <alpha=0.5>(t, z) }""",
    "pools": """g (float[1,2,7,7] x) => (float[1,2,3,3] a, float[1,2,4,4] b, float[1,2,4,4] c,
        float[1,2,1,1] d) {
        a = MaxPool <kernel_shape=[3,3], strides=[2,2]>(x)
        b = AveragePool <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(x)
        c = AveragePool <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1], count_include_pad=1>(x)
        d = GlobalAveragePool(x) }""",
    "response_normalization": "g (float[2,4,3,3] x) => (float[2,4,3,3] y) { y = LRN <size=3, alpha=0.1>(x) }",
    "layer_normalization": """g (float[2,4,3] x, float[3] s, float[3] b) => (float[2,4,3] y) { y =
        LayerNormalization(x, s, b) }""",
    "resizes": """g (float[1,1,4,5] x) => (float[1,1,8,10] a, float[1,1,7,9] b, float[1,1,8,10] c,
        float[1,1,3,2] d) {
        s = Constant <value = float[4] {1.0, 1.0, 2.0, 2.0}>() z = Constant <value = int64[4] {1, 1, 7,
        9}>()
        w = Constant <value = int64[4] {1, 1, 3, 2}>()
        a = Resize <mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor">(x,
        , s)
        b = Resize <mode="linear", coordinate_transformation_mode="align_corners">(x, , , z)
        c = Resize <mode="cubic", cubic_coeff_a=-0.5>(x, , s)
        d = Resize <mode="linear", coordinate_transformation_mode="half_pixel">(x, , , w) }""",
    "grid_sample": """g (float[1,2,4,4] x, float[1,3,3,2] i) => (float[1,2,3,3] y) {
        y = GridSample <mode="bilinear", padding_mode="border", align_corners=1>(x, i) }""",
    "quantizers": """g (float[3,4] x) => (float[3,4] y, float[3,4] w) {
        s = Constant <value = float {0.05}>() z = Constant <value = int8 {0}>() q = QuantizeLinear(x, s, z)
        y = DequantizeLinear(q, s, z) t = Constant <value = float[4] {0.1, 0.2, 0.01, 0.05}>()
        o = Constant <value = int8[4] {0, 0, 0, 0}>() r = QuantizeLinear <axis=1>(x, t, o) w =
        DequantizeLinear <axis=1>(r, t, o) }""",
    "conditional": """g (float[3] x, bool c) => (float[3] y) {
        y = If(c) <then_branch = t () => (float[3] a) { a = Exp(x) }, else_branch = e () => (float[3] b)
        { b = Neg(x) }> }""",
    "loop": """g (float[3] x, int64 m) => (float[3] y, float[k,3] s) {
        t = Constant <value = bool {1}>() three = Constant <value = int64 {3}>() n = Add(m, three)
        y, s = Loop(n, t, x) <body = b (int64 i, bool ci, float[3] v) => (bool co, float[3] vo, float[3]
        so) {
          co = Identity(ci) vo = Add(v, x) so = Sqrt(vo) }> }""",
    "nested_loops": """g (float[3] x) => (float[3] y) {
        t = Constant <value = bool {1}>() n = Constant <value = int64 {2}>() k = Constant <value = int64
        {3}>()
        y = Loop(n, t, x) <body = b (int64 i, bool ci, float[3] v) => (bool co, float[3] vo) {
          co = Identity(ci)
          vo = Loop(k, ci, v) <body = c (int64 j, bool cj, float[3] w) => (bool cp, float[3] wo) {
            cp = Identity(cj) wo = Add(w, v) }> }> }""",
    "non_zero_shape": """g (float[a,4] x) => (float[b,c] y) { s = Shape(x) y = Expand(x, s) }""",
    "constants": """g (float[4] x) => (float[4] y) { s = Shape(x) f = ConstantOfShape <value = float[1]
        {1.5}>(s) y = Mul(x, f) }""",
    "halves": """g (float16[2,3] x, float16[3,4] w) => (float16[2,4] y) { m = MatMul(x, w) y = Tanh(m) }""",
    "reverse_sequence": """g (float[4,2,3] x) => (float[4,2,3] y) {
        l = Constant <value = int64[2] {3, 4}>() y = ReverseSequence <time_axis=0, batch_axis=1>(x, l) }""",
}
"""Models that TensorRT's parser imports as ONNX describes."""

DIFFER: dict[str, tuple[str, str]] = {
    "Trilu": ("y", "g (float[3,3] x) => (float[3,3] y) { y = Trilu(x) }"),
    "MaxPool": (
        "y",
        """g (float[1,1,3,3] x) => (float[1,1,a,b] y) {
        y = MaxPool <kernel_shape=[2,2], strides=[2,2], pads=[1,1,1,1], ceil_mode=1>(x) }""",
    ),
    "ReduceL1": (
        "r",
        "g (float[3] x) => (float[3] y) { r = ReduceL1 <noop_with_empty_axes=1>(x) n = Neg(r) y = Exp(n) }",
    ),
    "Mean": ("y", "g (float16[4] x, float16[4] z) => (float16[4] y) { y = Mean(x, z) }"),
}
"""By operator: the tensor that TensorRT's parser computes differently, and the model."""
