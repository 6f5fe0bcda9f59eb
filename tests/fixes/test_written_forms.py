"""Tests of the nodes that replace one operator, and of the reasons for rejection."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.fixes.proposing import outcome

GIVES = "=> (float[A] y) {"
OTHER = "(float x) => { y = Neg (x) }"
QKV = "float[2,4,3,8] q, float[2,4,5,8] k, float[2,4,5,8] v"
FLAT = "float[2,3,32] q, float[2,5,16] k, float[2,5,24] v"
MOVING = "float[B,4,S,8] q, float[B,4,T,8] k, float[B,4,T,8] v"
PAST = "float[2,4,6,8] pk, float[2,4,6,8] pv"
OPEN_PAST = "float[B,4,P,8] pk, float[B,4,P,8] pv"

ATTENTION = [
    f"({QKV}) => {{ y = Attention (q, k, v) }}",
    f"({QKV}) => {{ y = Attention <scale = 1.0, softcap = 2.0> (q, k, v) }}",
    f"({QKV}) => {{ y = Attention <is_causal = 1> (q, k, v) }}",
    f"({QKV}) => {{ y = Attention <left_window_size = 0, right_window_size = 0> (q, k, v) }}",
    f"({QKV}) => {{ y = Attention <left_window_size = 2> (q, k, v) }}",
    f"({QKV}) => {{ y = Attention <softmax_precision = 10> (q, k, v) }}",
    f"({QKV}) => {{ y = Attention <softmax_precision = 1> (q, k, v) }}",
    f"({QKV}) => {{ y = Attention <softmax_precision = 7> (q, k, v) }}",
    f"({QKV}, float[3,5] m) => {{ y = Attention (q, k, v, m) }}",
    f"({QKV}, float16[3,5] m) => {{ y = Attention (q, k, v, m) }}",
    f"({QKV}, bool[3,5] m) => {{ y = Attention (q, k, v, m) }}",
    f"({QKV}, bool[3,5] m) => {{ y = Attention <is_causal = 1> (q, k, v, m) }}",
    f"({QKV}, float[3,5] m) => {{ y = Attention <is_causal = 1> (q, k, v, m) }}",
    f"({QKV}, float[3,4] m) => {{ y = Attention (q, k, v, m) }}",
    f"({QKV}, float[3,1] m) => {{ y = Attention (q, k, v, m) }}",
    f"({QKV}, float m) => {{ n = Neg (q)  y = Attention (q, k, v, m) }}",
    f"({MOVING}, float[S,7] m) => {{ y = Attention (q, k, v, m) }}",
    f"({MOVING}, float[S,1] m) => {{ y = Attention (q, k, v, m) }}",
    f"({MOVING}) => {{ y = Attention <is_causal = 1> (q, k, v) }}",
    f"({MOVING}, int64[2] n) => {{ y = Attention <is_causal = 1> (q, k, v, , , , n) }}",
    f"({QKV}, int64[2] n) => {{ y = Attention (q, k, v, , , , n) }}",
    f"({QKV}, int64[2] n) => {{ y = Attention <is_causal = 1> (q, k, v, , , , n) }}",
    f"({QKV}, {PAST}) => (float[A] y, float[A] rk, float[A] rv)"
    " { y, rk, rv = Attention <is_causal = 1> (q, k, v, , pk, pv) }",
    f"({MOVING}, {OPEN_PAST}) => (float[A] y, float[A] rk, float[A] rv)"
    " { y, rk, rv = Attention <is_causal = 1> (q, k, v, , pk, pv) }",
    f"({QKV}, {PAST}) => {{ y = Attention (q, k, v, , pk) }}",
    f"({QKV}, float16[2,4,6,8] pk, float[2,4,6,8] pv) => {{ y = Attention (q, k, v, , pk, pv) }}",
    f"({QKV}) => (float[A] y, float[A] rk, float[A] rv) {{ y, rk, rv = Attention (q, k, v) }}",
    *(
        f"({QKV}, bool[3,5] m) => (float[A] y, float[A] s)"
        f" {{ y, , , s = Attention <qk_matmul_output_mode = {mode}, softcap = 3.0> (q, k, v, m) }}"
        for mode in range(4)
    ),
    f"({QKV}) => (float[A] y, float[A] s) {{ y, , , s = Attention <qk_matmul_output_mode = 2> (q, k, v) }}",
    f"({FLAT}) => (float[A] y, float[A] r)"
    " { y, r = Attention <q_num_heads = 4, kv_num_heads = 2> (q, k, v) }",
    f"({FLAT}) => {{ y = Attention <q_num_heads = 64, kv_num_heads = 2> (q, k, v) }}",
    "(float[2,4,3,8] q, float[2,1,5,8] k, float[2,1,5,8] v) => { y = Attention (q, k, v) }",
    "(float[2,6,3,8] q, float[2,3,5,8] k, float[2,3,5,8] v) => { y = Attention (q, k, v) }",
    "(float[1,1,5000,8] q, float[1,1,5000,8] k, float[1,1,5000,8] v) =>"
    " { y = Attention <is_causal = 1> (q, k, v) }",
    f"({QKV}) => (float[A] y) < float[1,5] m = {{0, 0, -1, 0, 0}} > {{ y = Attention (q, k, v, m) }}",
    f"({QKV}) => {{ y = Neg (q) }}",
    f"({QKV}) => {{ y = Attention (q, k) }}",
    "(float[2,4,3,8] q, float[2,4,5,8] k, float[2,4,5,6] v) => { y = Attention (q, k, v) }",
    "(float[2,3,8] q, float[2,5,8] k, float[2,5,V] v) =>"
    " { y = Attention <q_num_heads = 2, kv_num_heads = 2> (q, k, v) }",
]
FUSED = "float[2,3,8] x, float[2,3,8] z, float[8] b, float[8] g, float[2,8] s"
CONTRIB = {
    "Gelu": "(x)",
    "BiasGelu": "(x, b)",
    "FastGelu": "(x)",
    "FastGelu with a bias": "(x, b)",
    "QuickGelu": "(x)",
    "QuickGelu <alpha = 1.0>": "(x)",
    "GemmFastGelu": "(x, w)",
    "GemmFastGelu with a bias": "(x, w, b)",
    "BiasAdd": "(x, b, z)",
    "BiasSplitGelu": "(x, b)",
    "FusedMatMul": "(x, w)",
    "FusedMatMul <transA = 1>": "(x, z)",
    "FusedMatMul <transB = 1, alpha = 0.5>": "(x, z)",
    "FusedMatMul <transBatchA = 1, alpha = 2.0>": "(x, z)",
    "FusedMatMul <transBatchA = 1, transA = 1, alpha = -1.0>": "(q, q)",
    "FusedMatMul <transBatchB = 1>": "(q, q)",
    "FusedMatMul <transA = 1> ": "(b, w)",
    "FusedMatMul <transB = 1>": "(x, n4)",
    "TransposeMatMul <transA = 1>": "(x, z)",
    "FusedConv": "(i, f)",
    "FusedConv with a sum": "(i, f, c, j)",
    'FusedConv <activation = "Relu">': "(i, f, c)",
    'FusedConv <activation = "Clip", activation_params = [0.0, 6.0], pads = [1, 1, 1, 1]>': "(i, f, , j)",
    'FusedConv <activation = "Clip", activation_params = [0.0]>': "(i, f)",
    'FusedGemm <activation = "LeakyRelu", activation_alpha = 0.5, alpha = 2.0, transB = 1>': "(s, w, b)",
    'FusedGemm <activation = "HardSigmoid", activation_alpha = 0.5, activation_beta = 0.25>': "(s, w)",
    "FusedGemm": "(s, w)",
    "NhwcConv <strides = [2, 2]>": "(h, h)",
    "NhwcConv with a bias": "(h, h, c)",
    "SkipLayerNormalization": "(x, z, g)",
    "SkipLayerNormalization <epsilon = 0.5>": "(x, z, g, b, b)",
    "SkipSimplifiedLayerNormalization": "(x, z, g)",
    "SkipSimplifiedLayerNormalization <epsilon = 0.5>": "(x, z, g, b)",
    "SimplifiedLayerNormalization": "(x, g)",
    "SimplifiedLayerNormalization <axis = 2, epsilon = 0.5>": "(x, g)",
    "SimplifiedLayerNormalization <axis = 1>": "(x, g)",
    "SimplifiedLayerNormalization ": "(x, half)",
    "EmbedLayerNormalization": "(t, , e, p, , g, b)",
    "EmbedLayerNormalization with segments": "(t, t, e, p, e, g, b)",
    "EmbedLayerNormalization with positions": "(t, , e, p, , g, b, , t)",
    "EmbedLayerNormalization of unknown length": "(n, , e, p, , g, b)",
    "EmbedLayerNormalization without positions": "(t, , e, , , g, b)",
    "EmbedLayerNormalization without words": "(t, , , p, , g, b)",
    "GroupNorm <groups = 4>": "(h8, g, b)",
    "GroupNorm <groups = 4, activation = 1, channels_last = 0, epsilon = 0.5>": "(q, g4, g4)",
    "GroupNorm <groups = 3>": "(h8, g, b)",
    "GroupNorm": "(h8, g, b)",
    "GroupNorm <groups = 2>": "(hh8, gh, gh)",
    "SkipGroupNorm <groups = 4>": "(h8, g, b, s, b)",
    "SkipGroupNorm <groups = 4> ": "(h8, g, b, h8)",
    "GroupQueryAttention": "(x, x, x)",
    "BeamSearch": "(x)",
    "Mystery": "(x)",
    "RotaryEmbedding": "(x, t, cos, cos)",
    "RotaryEmbedding <interleaved = 1>": "(q, t, cos, cos)",
    "RotaryEmbedding with one position": "(x, one, cos, cos)",
    "RotaryEmbedding with one position ": "(q, one, cos, cos)",
    "RotaryEmbedding <num_heads = 2>": "(x, t, cos2, cos2)",
    "RotaryEmbedding <num_heads = 2, rotary_embedding_dim = 2>": "(x, t, cos2, cos2)",
    "RotaryEmbedding <scale = 2.0>": "(x, t, cos, cos)",
    "RotaryEmbedding <is_packed_batching = 1>": "(x, t, cos, cos)",
    "RotaryEmbedding  ": "(x, x, cos, cos)",
    "RotaryEmbedding   ": "(b, t, cos, cos)",
}
MORE = (
    "float[8,8] w, float[2,4,3,8] q, float[N,M] n2, float[8] n4, float[1,3,9,9] i, float[4,3,3,3] f,"
    " float[4] c,"
    " float[1,4,7,7] j, float[1,9,9,3] h, float16[8] half, int32[2,3] t, float[20,8] e, float[6,8] p,"
    " int32[2,L] n, float[2,5,5,8] h8, float16[2,5,5,8] hh8, float[8] gh, float[4] g4, float[6,4] cos,"
    " float[6,2] cos2, int64[1] one"
)
SMALL = "float[2,3,8] q, float[2,5,8] k, float[2,5,8] v"
MULTI = [
    ("", "float[2,3,8] q, float[2,5,8] k, float[2,5,12] v", "(q, k, v)"),
    ("scale = 0.5", "float[2,3,8] q, float[2,2,5,4] k, float[2,2,5,6] v", "(q, k, v)"),
    ("", "float[2,3,8] q, float[2,5,8] k, float[2,5,12] v, float[28] b", "(q, k, v, b)"),
    ("", "float[2,3,8] q, float[2,2,5,4] k, float[2,2,5,6] v, float[28] b", "(q, k, v, b)"),
    ("", f"{SMALL}, int32[2] m", "(q, k, v, , m)"),
    ("", f"{SMALL}, int64[4] m", "(q, k, v, , m)"),
    ("", f"{SMALL}, int32[3] m", "(q, k, v, , m)"),
    ("", f"{SMALL}, int32[B] m", "(q, k, v, , m)"),
    (
        "mask_filter_value = -5.0",
        f"{SMALL}, int32[2,5] m",
        "(q, k, v, , m)",
    ),
    ("", f"{SMALL}, int32[2,3,5] m", "(q, k, v, , m)"),
    ("", f"{SMALL}, int32[2,1,3,5] m", "(q, k, v, , m)"),
    ("", f"{SMALL}, float[2,2,3,5] a", "(q, k, v, , , a)"),
    ("unidirectional = 1", "float[2,3,8] q, float[2,3,8] k, float[2,3,8] v", "(q, k, v)"),
    ("unidirectional = 1", "float[2,S,8] q, float[2,S,8] k, float[2,S,8] v", "(q, k, v)"),
    (
        "unidirectional = 1",
        "float[2,3,8] q, float[2,3,8] k, float[2,3,8] v, float[2,2,4,4] pk, float[2,2,4,4] pv",
        "(q, k, v, , , , pk, pv)",
    ),
    (
        "unidirectional = 1",
        "float[2,3,8] q, float[2,3,8] k, float[2,3,8] v, float[2,2,P,4] pk, float[2,2,P,4] pv",
        "(q, k, v, , , , pk, pv)",
    ),
    ("", "float[2,3,2,3,4] q", "(q)"),
    ("", "float[2,3,2,2,4] q", "(q)"),
    ("", "float[2,3,8] q, float[2,5,2,2,4] k", "(q, k)"),
    ("", "float[2,3,9] q, float[2,5,2,2,4] k", "(q, k)"),
    ("", "float[2,3,8] q, float[2,5,2,3,4] k", "(q, k)"),
    ("", "float[2,3,2,3,4] q, float[24] b", "(q, , , b)"),
    ("", "float[2,3,8] q", "(q)"),
    ("", "float[2,3,9] q, float[2,5,8] k, float[2,5,8] v", "(q, k, v)"),
    ("", "float[2,8] q, float[2,5,8] k, float[2,5,8] v", "(q, k, v)"),
    ("", "float[2,3,8] q, float[5,8] k, float[2,5,8] v", "(q, k, v)"),
    ("", "float[2,3,8] q, float[2,5,8] k, float[2,5,E] v", "(q, k, v)"),
    ("", f"{SMALL}, int32[2] n", "(q, k, v, , , , , , n)"),
]
PROJECTED = [
    ("", "float[2,3,8] x, float[8,24] w", "(x, w)"),
    ("scale = 0.5", "float[2,3,8] x, float[8,24] w, float[24] b", "(x, w, b)"),
    ("qkv_hidden_sizes = [8, 8, 4]", "float[2,3,8] x, float[8,20] w", "(x, w)"),
    ("qkv_hidden_sizes = [8, 8, 5]", "float[2,3,8] x, float[8,21] w", "(x, w)"),
    ("", "float[2,3,8] x, float[8,W] w", "(x, w)"),
    ("do_rotary = 1", "float[2,3,8] x, float[8,24] w", "(x, w)"),
    ("past_present_share_buffer = 1", "float[2,3,8] x, float[8,24] w", "(x, w)"),
    ("unidirectional = 1", "float[2,3,8] x, float[8,24] w, float[2,2,2,5,4] p", "(x, w, , , p)"),
    ("unidirectional = 1", "float[2,3,8] x, float[8,24] w, float[2,2,2,P,4] p", "(x, w, , , p)"),
    ("unidirectional = 1", "float[2,3,8] x, float[8,24] w, float[2,2,5,4] p", "(x, w, , , p)"),
    ("", "float[B,S,8] x, float[8,24] w, int32[B] m", "(x, w, , m)"),
    ("", "float[2,3,8] x, float[8,24] w, int32[2,3] m", "(x, w, , m)"),
]
ROTARY = [
    "(float[2,4,3,8] x, float[6,4] c, float[6,4] s, int64[2,3] i) => { y = RotaryEmbedding %s (x, c, s, i) }",
    "(float[2,4,3,8] x, float[2,3,4] c, float[2,3,4] s) => { y = RotaryEmbedding %s (x, c, s) }",
    "(float[2,3,32] x, float[6,4] c, float[6,4] s, int64[2,3] i) => { y = RotaryEmbedding %s (x, c, s, i) }",
    "(float[2,3,W] x, float[6,4] c, float[6,4] s, int64[2,3] i) => { y = RotaryEmbedding %s (x, c, s, i) }",
]
GROUPS = [
    "(float[2,6,5] x, float[%s] g, float[%s] b) => { y = GroupNormalization <num_groups = 3> (x, g, b) }",
    "(float16[2,6,5] x, float16[%s] g, float16[%s] b) =>"
    " { y = GroupNormalization <num_groups = 2, epsilon = 0.5> (x, g, b) }",
    "(float16[2,6,5] x, float16[%s] g, float16[%s] b) =>"
    " { y = GroupNormalization <num_groups = 2, stash_type = 10> (x, g, b) }",
    "(float[2,6,5] x, float[%s] g, float[%s] b) => { y = GroupNormalization <num_groups = 4> (x, g, b) }",
    "(float[2,6] x, float[%s] g, float[%s] b) => { y = GroupNormalization <num_groups = 2> (x, g, b) }",
]
SCATTER = [
    "(float[4,5] x, int64[4,5] i, float[4,5] u) => { y = ScatterElements <reduction = '%s'> (x, i, u) }",
    "(int32[4,5] x, int64[4,3] i, int32[4,3] u) =>"
    " { y = ScatterElements <axis = -1, reduction = '%s'> (x, i, u) }",
    "(float[N,5] x, int64[M,5] i, float[M,5] u) =>"
    " { y = ScatterElements <axis = 0, reduction = '%s'> (x, i, u) }",
    "(float[4,5] x, int64[3,5] i, float[3,5] u) =>"
    " { y = ScatterElements <axis = 1, reduction = '%s'> (x, i, u) }",
    "(float[4,5,6] x, int64[7,2] i, float[7,6] u) => { y = ScatterND <reduction = '%s'> (x, i, u) }",
    "(float[4,5,6] x, int64[7,3] i, float[7] u) => { y = ScatterND <reduction = '%s'> (x, i, u) }",
    "(float[4,0] x, int64[7,1] i, float[7,0] u) => { y = ScatterND <reduction = '%s'> (x, i, u) }",
    "(float[4,N] x, int64[7,1] i, float[7,N] u) => { y = ScatterND <reduction = '%s'> (x, i, u) }",
    "(float[4,5] x, int64[7,3] i, float[7] u) => { y = ScatterND <reduction = '%s'> (x, i, u) }",
    "(uint8[4,5] x, int64[4,5] i, uint8[4,5] u) => { y = ScatterElements <reduction = '%s'> (x, i, u) }",
    "(float[4,5] x, int64[5] i, float[5] u) => { y = ScatterElements <reduction = '%s'> (x, i, u) }",
]


def contrib(op: str, inputs: str) -> str:
    """Return a model of one ONNX Runtime or ONNX operator, by name and attributes."""
    name, _, settings = re.split(r" (?:with|of|without) ", op)[0].partition(" <")
    settings = f"<{settings.strip()}" if settings else ""
    domain = "" if name.startswith("SimplifiedLayer") else "com.microsoft."
    return f"({FUSED}, {MORE}) => {{ y = {domain}{name.strip()} {settings} {inputs} }}"


def heads(op: str, settings: str, inputs: str, given: str) -> str:
    """Return a model with ONNX Runtime's attention."""
    settings = f"<num_heads = 2{', ' if settings else ''}{settings}>"
    return f"({inputs}) => {{ y = com.microsoft.{op} {settings} {given} }}"


def compare(snapshot: SnapshotAssertion, rewrite: str, texts: Mapping[str, str], opset: int) -> None:
    """Compare the rewrites of some models with the snapshot. ``=> {`` computes only ``y``."""
    found = {
        label: outcome(rewrite, text.replace("=> {", GIVES), "y", opset).split("  ")
        for label, text in texts.items()
    }
    assert found == snapshot


def test_attention(snapshot: SnapshotAssertion) -> None:
    compare(snapshot, "decompose-attention", {text: text for text in ATTENTION}, 23)


@pytest.mark.parametrize("opset", [9, 12, 13, 18])
def test_fused_operators(opset: int, snapshot: SnapshotAssertion) -> None:
    chosen = list(CONTRIB.items())[:: 1 if opset == 18 else 3]
    compare(snapshot, "write-out-fused", {f"{op} {given}": contrib(op, given) for op, given in chosen}, opset)


@pytest.mark.parametrize("opset", [12, 17])
def test_fused_attention(opset: int, snapshot: SnapshotAssertion) -> None:
    texts = [heads("MultiHeadAttention", *case) for case in MULTI]
    texts += [heads("Attention", *case) for case in PROJECTED]
    chosen = texts[:: 1 if opset == 17 else 4]
    compare(snapshot, "write-out-fused", {text: text for text in chosen}, opset)


def test_several_results(snapshot: SnapshotAssertion) -> None:
    """Additional sums, states and counts of an operator keep their names."""
    head = f"({FUSED}, {MORE}, float[8,24] w24) => (float[A] y, float[A] r%s)"
    texts = {
        body: f"{head % (', float[A] r2' if 'r2 =' in body else '')} {{ {body} }}"
        for body in (
            "y, , , r = com.microsoft.SkipLayerNormalization (x, z, g)",
            "y, , , r = com.microsoft.SkipLayerNormalization (x, z, g, b, b)",
            "y, r = com.microsoft.SkipLayerNormalization (x, z, g)",
            "y, r = SimplifiedLayerNormalization (x, g)",
            "y, r = com.microsoft.SkipGroupNorm <groups = 4> (h8, g, b, s)",
            "y, r = com.microsoft.SkipGroupNorm <groups = 4> (h8, g, b, s, b)",
            "y, , r = com.microsoft.EmbedLayerNormalization (t, , e, p, , g, b)",
            "y, r, r2 = com.microsoft.EmbedLayerNormalization (t, t, e, p, e, g, b, t)",
            "y, r = com.microsoft.EmbedLayerNormalization (t, , e, p, , g, b)",
            "y, r, r2 = com.microsoft.MultiHeadAttention <num_heads = 2> (x, x, x)",
            "y, , , r = com.microsoft.MultiHeadAttention <num_heads = 2> (x, x, x)",
            "y, r = com.microsoft.Attention <num_heads = 2> (x, w24)",
        )
    }
    compare(snapshot, "write-out-fused", texts, 17)


@pytest.mark.parametrize("opset", [17, 23])
def test_rotary_embedding(opset: int, snapshot: SnapshotAssertion) -> None:
    settings = (
        "",
        "num_heads = 4",
        "num_heads = 4, interleaved = 1",
        "num_heads = 4, rotary_embedding_dim = 4",
    )
    texts = [text % (f"<{each}>" if each else "") for text in ROTARY for each in settings]
    compare(snapshot, "write-out-rotary", {text: text for text in [*texts, OTHER]}, opset)


@pytest.mark.parametrize("opset", [18, 21])
def test_group_normalization(opset: int, snapshot: SnapshotAssertion) -> None:
    texts = [text.replace("%s", size) for text in GROUPS for size in ("6", "1", "3", "C")]
    compare(snapshot, "write-out-group-norm", {text: text for text in [*texts, OTHER]}, opset)


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min", "none"])
def test_scattering(reduction: str, snapshot: SnapshotAssertion) -> None:
    texts = [text.replace("'%s'", f'"{reduction}"') for text in SCATTER]
    chosen = texts if reduction == "add" else texts[:2]
    compare(snapshot, "write-out-scatter", {text: text for text in [*chosen, OTHER]}, 18)
