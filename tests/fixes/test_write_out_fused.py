"""Tests of ONNX Runtime's fused operators, expanded, against ONNX Runtime itself."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.fixes.fixing import fixed, ops
from trtlint.files.telemetry import onnx_runtime

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime") is None, reason="onnxruntime is not installed"
)

HEAD = '< ir_version: 8, opset_import: ["" : %d, "com.microsoft" : 1] >'
RNG = np.random.default_rng(3)
TRT = ("--trt", "10.7", "--gpu", "L4")
Array = np.ndarray[Any, Any]


def tensor(*shape: int) -> Array:
    return RNG.normal(size=shape).astype(np.float32)


def whole(*numbers: Any) -> Array:
    return np.array(numbers, np.int32)


X = tensor(2, 5, 12)
IMAGE, FILTER, BIAS = tensor(2, 3, 9, 9), tensor(4, 3, 3, 3), tensor(4)
Q, K, V = tensor(2, 5, 12), tensor(2, 7, 12), tensor(2, 7, 12)
LEFT = np.array([[1, 1, 1, 1, 1, 0, 0], [1, 1, 0, 0, 0, 0, 0]], np.int32)
"""Mask after padding on the right."""
MHA = "float[2,5,12] q, float[2,7,12] k, float[2,7,12] v"
QKV = {"q": Q, "k": K, "v": V}
SELF = {"x": X, "w": tensor(12, 36), "b": tensor(36)}
ATTENTION = "float[2,5,12] x, float[12,36] w, float[36] b"
PAST = {"pk": tensor(2, 3, 4, 4), "pv": tensor(2, 3, 4, 4)}
ROTARY = {"c": tensor(16, 2), "s": tensor(16, 2)}
CACHES = "float[16,2] c, float[16,2] s"


def conv(activation: str, *parameters: float, added: bool = False) -> tuple[str, str, str, dict[str, Array]]:
    numbers = f", activation_params = [{', '.join(map(str, parameters))}]" if parameters else ""
    call = f'com.microsoft.FusedConv <activation = "{activation}", pads = [1,1,1,1]{numbers}>'
    feeds = {"x": IMAGE, "w": FILTER, "b": BIAS}
    inputs = "float[2,3,9,9] x, float[4,3,3,3] w, float[4] b"
    if not added:
        return inputs, f"y = {call} (x, w, b)", "float[2,4,9,9] y", feeds
    return (
        f"{inputs}, float[2,4,9,9] z",
        f"y = {call} (x, w, b, z)",
        "float[2,4,9,9] y",
        {**feeds, "z": tensor(2, 4, 9, 9)},
    )


def mha(
    call: str, inputs: str = "", feeds: Mapping[str, Array] | None = None, more: str = ""
) -> tuple[str, str, str, dict[str, Array]]:
    names = f"{MHA}, {inputs}" if inputs else MHA
    return names, call, f"float[2,5,12] y{more}", {**QKV, **(feeds or {})}


def own(
    call: str, inputs: str = "", feeds: Mapping[str, Array] | None = None, more: str = ""
) -> tuple[str, str, str, dict[str, Array]]:
    names = f"{ATTENTION}, {inputs}" if inputs else ATTENTION
    return names, call, f"float[2,5,12] y{more}", {**SELF, **(feeds or {})}


PASTS = "float[2,3,4,4] pk, float[2,3,4,4] pv"
PRESENT = ", float[2,3,11,4] nk, float[2,3,11,4] nv"
M = "com.microsoft.MultiHeadAttention"
A = "com.microsoft.Attention"
NORM = "float[2,5,12] x, float[2,5,12] s, float[12] g"
NORMED = {"x": X, "s": tensor(2, 5, 12), "g": tensor(12)}

CASES: dict[str, tuple[str, str, str, dict[str, Array]]] = {
    "BiasGelu": (
        "float[2,5,12] x, float[12] b",
        "y = com.microsoft.BiasGelu (x, b)",
        "float[2,5,12] y",
        {"x": X, "b": tensor(12)},
    ),
    "FastGelu": ("float[2,5,12] x", "y = com.microsoft.FastGelu (x)", "float[2,5,12] y", {"x": X}),
    "FastGelu with bias": (
        "float[2,5,12] x, float[12] b",
        "y = com.microsoft.FastGelu (x, b)",
        "float[2,5,12] y",
        {"x": X, "b": tensor(12)},
    ),
    "QuickGelu": ("float[2,5,12] x", "y = com.microsoft.QuickGelu (x)", "float[2,5,12] y", {"x": X}),
    "SiLU": (
        "float[2,5,12] x",
        "y = com.microsoft.QuickGelu <alpha = 1.0> (x)",
        "float[2,5,12] y",
        {"x": X},
    ),
    "FusedConv": conv("Relu"),
    "FusedConv with a sum": conv("Relu", added=True),
    "FusedConv, LeakyRelu": conv("LeakyRelu", 0.2),
    "FusedConv, Clip": conv("Clip", 0.0, 1.5),
    "FusedConv, HardSigmoid": conv("HardSigmoid", 0.3, 0.4),
    "FusedConv, Tanh": conv("Tanh"),
    "FusedGemm": (
        "float[5,12] x, float[12,4] w, float[4] b",
        'y = com.microsoft.FusedGemm <activation = "LeakyRelu", activation_alpha = 0.3> (x, w, b)',
        "float[5,4] y",
        {"x": X[0], "w": tensor(12, 4), "b": tensor(4)},
    ),
    **{
        f"FusedMatMul {alpha}, {turned}": (
            f"float[2,3,4,5] a, float[{'2,3,6,5' if turned else '2,3,5,6'}] b",
            f"y = com.microsoft.FusedMatMul <alpha = {alpha}, transB = {turned}> (a, b)",
            "float[2,3,4,6] y",
            {"a": tensor(2, 3, 4, 5), "b": tensor(2, 3, *((6, 5) if turned else (5, 6)))},
        )
        for alpha, turned in ((0.125, 0), (0.125, 1), (3.0, 1), (1.0, 1))
    },
    "FusedMatMul, batch axes moved": (
        "float[2,3,4,5] a, float[3,4,2,6] b",
        "y = com.microsoft.FusedMatMul <transA = 1, transBatchA = 1> (a, b)",
        "float[3,4,5,6] y",
        {"a": tensor(2, 3, 4, 5), "b": tensor(3, 4, 2, 6)},
    ),
    "SkipLayerNormalization": (
        f"{NORM}, float[12] t, float[12] b",
        "y, _m, _v, total = com.microsoft.SkipLayerNormalization <epsilon = 0.001> (x, s, g, t, b)",
        "float[2,5,12] y, float[2,5,12] total",
        {**NORMED, "t": tensor(12), "b": tensor(12)},
    ),
    "SkipLayerNormalization that broadcasts": (
        "float[2,5,12] x, float[5,12] s, float[12] g",
        "y = com.microsoft.SkipLayerNormalization (x, s, g)",
        "float[2,5,12] y",
        {**NORMED, "s": tensor(5, 12)},
    ),
    "SkipSimplifiedLayerNormalization": (
        f"{NORM}, float[12] b",
        "y, _m, _v, total = com.microsoft.SkipSimplifiedLayerNormalization (x, s, g, b)",
        "float[2,5,12] y, float[2,5,12] total",
        {**NORMED, "b": tensor(12)},
    ),
    "SimplifiedLayerNormalization": (
        "float[2,5,12] x, float[12] g",
        "y = SimplifiedLayerNormalization <epsilon = 0.01> (x, g)",
        "float[2,5,12] y",
        {"x": X, "g": tensor(12)},
    ),
    "EmbedLayerNormalization": (
        "int32[2,5] i, int32[2,5] j, float[9,12] w, float[8,12] p, float[2,12] t, float[12] g, float[12] b,"
        " int32[2,5] m",
        "y, n, total = com.microsoft.EmbedLayerNormalization (i, j, w, p, t, g, b, m)",
        "float[2,5,12] y, int32[2] n, float[2,5,12] total",
        {
            "i": RNG.integers(0, 9, (2, 5)).astype(np.int32),
            "j": RNG.integers(0, 2, (2, 5)).astype(np.int32),
            "w": tensor(9, 12),
            "p": tensor(8, 12),
            "t": tensor(2, 12),
            "g": tensor(12),
            "b": tensor(12),
            "m": LEFT[:, :5],
        },
    ),
    **{
        f"RotaryEmbedding, {name}": (
            f"{data} x, int64[{places}] p, {CACHES}",
            f"y = com.microsoft.RotaryEmbedding <interleaved = {interleaved}{rest}> (x, p, c, s)",
            f"{data} y",
            {"x": x, "p": p, **ROTARY},
        )
        for name, data, x, places, p, interleaved, rest in (
            ("rank 3", "float[2,5,12]", X, "2,5", RNG.integers(0, 16, (2, 5)), 0, ""),
            ("interleaved", "float[2,5,12]", X, "2,5", RNG.integers(0, 16, (2, 5)), 1, ", num_heads = 3"),
            ("one position", "float[2,5,12]", X, "1", np.array([6]), 0, ""),
            ("rank 4", "float[2,3,5,4]", tensor(2, 3, 5, 4), "2,5", RNG.integers(0, 16, (2, 5)), 0, ""),
            (
                "a part",
                "float[2,5,24]",
                tensor(2, 5, 24),
                "1",
                np.array([0]),
                0,
                ", num_heads = 3, rotary_embedding_dim = 4",
            ),
        )
    },
    "MultiHeadAttention": mha(f"y = {M} <num_heads = 3> (q, k, v)"),
    "MultiHeadAttention, scale and bias": mha(
        f"y = {M} <num_heads = 3, scale = 0.3> (q, k, v, b)", "float[36] b", {"b": tensor(36)}
    ),
    "MultiHeadAttention, mask": mha(f"y = {M} <num_heads = 3> (q, k, v, , m)", "int32[2,7] m", {"m": LEFT}),
    "MultiHeadAttention, nothing left": mha(
        f"y = {M} <num_heads = 3> (q, k, v, , m)", "int32[2,7] m", {"m": LEFT * 0}
    ),
    "MultiHeadAttention, lengths": mha(
        f"y = {M} <num_heads = 3> (q, k, v, , m)", "int32[2] m", {"m": whole(3, 7)}
    ),
    "MultiHeadAttention, filter and addition": mha(
        f"y = {M} <num_heads = 3, mask_filter_value = -50.0> (q, k, v, , m, a)",
        "int32[2,7] m, float[1,3,5,7] a",
        {"m": LEFT, "a": tensor(1, 3, 5, 7)},
    ),
    "MultiHeadAttention, past": mha(
        f"y, nk, nv = {M} <num_heads = 3> (q, k, v, , , , pk, pv)", PASTS, PAST, PRESENT
    ),
    "MultiHeadAttention, K and V given": mha(
        f"y, nk, nv = {M} <num_heads = 3> (q, k, v)", more=", float[2,3,7,4] nk, float[2,3,7,4] nv"
    ),
    "MultiHeadAttention, V alone given": mha(
        f"y, , nv = {M} <num_heads = 3> (q, k, v)", more=", float[2,3,7,4] nv"
    ),
    "MultiHeadAttention, causal with a past": mha(
        f"y, nk, nv = {M} <num_heads = 3, unidirectional = 1> (q, q, q, , , , pk, pv)",
        PASTS,
        PAST,
        ", float[2,3,9,4] nk, float[2,3,9,4] nv",
    ),
    "MultiHeadAttention, heads apart": (
        "float[2,5,12] q, float[2,3,7,4] k, float[2,3,7,4] v",
        f"y = {M} <num_heads = 3> (q, k, v)",
        "float[2,5,12] y",
        {"q": Q, "k": tensor(2, 3, 7, 4), "v": tensor(2, 3, 7, 4)},
    ),
    "Attention": own(f"y = {A} <num_heads = 3> (x, w, b)"),
    "Attention, causal": own(f"y = {A} <num_heads = 3, unidirectional = 1> (x, w, b)"),
    "Attention, causal and masked": own(
        f"y = {A} <num_heads = 3, unidirectional = 1> (x, w, b, m)",
        "int32[2,5] m",
        {"m": np.array([[0, 1, 1, 1, 0], [1, 1, 0, 1, 1]], np.int32)},
    ),
    "Attention, mask of each query": own(
        f"y = {A} <num_heads = 3> (x, w, b, m)",
        "int32[2,5,5] m",
        {"m": RNG.integers(0, 2, (2, 5, 5)).astype(np.int32)},
    ),
    "Attention, lengths": own(f"y = {A} <num_heads = 3> (x, w, b, m)", "int32[2] m", {"m": whole(2, 5)}),
    "Attention, padded on the left": own(
        f"y = {A} <num_heads = 3> (x, w, b, m)", "int32[4] m", {"m": whole(5, 4, 2, 0)}
    ),
    "Attention, sizes of its own": (
        "float[2,5,12] x, float[12,42] w, float[42] b",
        f"y = {A} <num_heads = 3, qkv_hidden_sizes = [12, 12, 18]> (x, w, b)",
        "float[2,5,18] y",
        {"x": X, "w": tensor(12, 42), "b": tensor(42)},
    ),
    "Attention, past": own(
        f"y, n = {A} <num_heads = 3, unidirectional = 1> (x, w, b, , p)",
        "float[2,2,3,4,4] p",
        {"p": tensor(2, 2, 3, 4, 4)},
        ", float[2,2,3,9,4] n",
    ),
}


def computed(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    onnxruntime = onnx_runtime()
    onnxruntime.set_default_logger_severity(4)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = {info.name for info in session.get_inputs()}
    return list(session.run(None, {name: array for name, array in feeds.items() if name in wanted}))


def varying(text: str) -> str:
    """Return a model with dynamic batch and lengths."""
    for fixed_sizes, free in (
        ("[2,5,12]", "[B,S,12]"),
        ("[2,7,12]", "[B,T,12]"),
        ("[2,5]", "[B,S]"),
        ("[2,7]", "[B,T]"),
        ("[2,3,4,4]", "[B,3,P,4]"),
        ("[2,2,3,4,4]", "[2,B,3,P,4]"),
        ("int32[2] m", "int32[B] m"),
    ):
        text = text.replace(fixed_sizes, free)
    for past in ("[2,3,11,4]", "[2,3,9,4]", "[2,2,3,9,4]"):
        text = text.replace(past, past.replace("9,4", "N,4").replace("11,4", "N,4"))
    return text


@pytest.mark.slow
@pytest.mark.parametrize("opset", [14, 17, 20])
@pytest.mark.parametrize("case", CASES)
def test_it_computes_the_same(case: str, opset: int, tmp_path: Path) -> None:
    inputs, call, outputs, feeds = CASES[case]
    assert_written_out(f"{HEAD % opset} g ({inputs}) => ({outputs}) {{ {call} }}", feeds, tmp_path)


@pytest.mark.parametrize("case", [case for case in CASES if varying(CASES[case][0]) != CASES[case][0]])
def test_it_does_where_sizes_vary(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs, call, outputs, feeds = CASES[case]
    text = varying(f"{HEAD % 17} g ({inputs}) => ({outputs}) {{ {call} }}")
    if case == "Attention, padded on the left" or case.startswith("Embed"):
        _, after = fixed(tmp_path, text, *TRT)
        assert after is None
        why = "cannot show that the mask has" if case.startswith("Attention") else "not known"
        assert why in capsys.readouterr().out
    else:
        assert_written_out(text, feeds, tmp_path)


def test_types_and_ranks_behind_others_become_known(tmp_path: Path) -> None:
    text = f"""{HEAD % 17} g (float[B,S,12] x, float[12,12] w) => (float[B,S,12] y)
    {{
      a = com.microsoft.QuickGelu (x)  b = MatMul (a, w)  c = com.microsoft.FusedMatMul <transB = 1> (b, b)
      d = com.microsoft.FastGelu (c)  y = com.microsoft.FusedMatMul (d, b)
    }}"""
    assert_written_out(text, {"x": X, "w": tensor(12, 12)}, tmp_path)


@pytest.mark.parametrize(
    ("inputs", "call", "outputs", "says"),
    [
        (
            f"{NORM}",
            "y, m = com.microsoft.SkipLayerNormalization (x, s, g)",
            "y, float[2,5,1] m",
            "reads the mean or the deviation",
        ),
        ("float[2,5,36] x", f"y = {M} <num_heads = 3> (x)", "y", "is unknown or not 5"),
        (
            "float[2,5,4,3,3] x",
            f"y = {M} <num_heads = 3> (x)",
            "y",
            "does not have the shape that the operator requires",
        ),
        (
            "float[2,5,3,3,4] x, float[36] b",
            f"y = {M} <num_heads = 3> (x, , , b)",
            "y",
            "the bias of a packed tensor",
        ),
        ("float[2,5,12] x", "y = com.microsoft.Inverse (x)", "y", "no decomposition of Inverse"),
        (ATTENTION, f"y = {A} <num_heads = 3, do_rotary = 1> (x, w, b)", "y", "rotary embedding"),
        (
            "float[1,3,9,9] x, float[4,3,3,3] w",
            'y = com.microsoft.FusedConv <activation = "Mish"> (x, w)',
            "y",
            "'Mish' is not supported",
        ),
    ],
)
def test_what_has_no_exact_form_is_refused(
    inputs: str, call: str, outputs: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"{HEAD % 17} g ({inputs}) => (float[A,B,C] {outputs}) {{ {call} }}"
    _, after = fixed(tmp_path, text, *TRT)
    assert after is None
    assert says in capsys.readouterr().out


@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("MultiHeadAttention, ")])
def test_what_tensorrt_rtx_does_not_take_of_attention_is_written_out(case: str, tmp_path: Path) -> None:
    inputs, call, outputs, feeds = CASES[case]
    text = f"{HEAD % 17} g ({inputs}) => ({outputs}) {{ {call} }}"
    before, after = fixed(tmp_path, text, "--rtx", "1.7", "--gpu", "L4")
    assert after is not None
    for one, other in zip(computed(before, feeds), computed(after, feeds), strict=True):
        np.testing.assert_allclose(other, one, rtol=2e-5, atol=2e-5 * float(np.abs(one).max()))


@pytest.mark.parametrize("form", ["Q, K and V", "K and V"])
@pytest.mark.parametrize(
    ("settings", "more", "inputs", "feeds"),
    [
        ("", "", "", {}),
        (", scale = 0.3, unidirectional = 1", "", "", {}),
        ("", ", , m, a", ", int32[2,5] m, float[1,3,5,5] a", {"m": LEFT[:, :5], "a": tensor(1, 3, 5, 5)}),
    ],
    ids=["plain", "scaled and causal", "masked"],
)
@pytest.mark.parametrize("opset", [13, 18])
def test_packed_operands_of_attention(
    form: str, settings: str, more: str, inputs: str, feeds: dict[str, Array], opset: int, tmp_path: Path
) -> None:
    """No CPU kernel reads packed operands, so ONNX Runtime gets the same numbers unpacked."""
    query, key, value = (tensor(2, 5, 12) for _ in range(3))
    apart = [array.reshape(2, 5, 3, 4) for array in (query, key, value)]
    call = f"y = {M} <num_heads = 3{settings}>"
    one = "float[2,5,12]"
    plain = f"""{HEAD % opset} g ({one} q, {one} k, {one} v{inputs}) => ({one} y)
    {{ {call} (q, k, v{more}) }}"""
    (right,) = computed(onnx.parser.parse_model(plain), {"q": query, "k": key, "v": value, **feeds})
    if form == "K and V":
        names, sources = f"{one} q, float[2,5,3,2,4] kv", "q, kv, "
        given = {"q": query, "kv": np.stack(apart[1:], axis=3)}
    else:
        names, sources, given = "float[2,5,3,3,4] qkv", "qkv, , ", {"qkv": np.stack(apart, axis=3)}
    text = f"{HEAD % opset} g ({names}{inputs}) => ({one} y) {{ {call} ({sources}{more}) }}"
    _, after = fixed(tmp_path, text.replace(", )", ")").replace(", )", ")"), *TRT)
    assert after is not None
    onnx.checker.check_model(after, full_check=True)
    assert not {"com.microsoft"} & {node.domain for node in after.graph.node}
    np.testing.assert_allclose(computed(after, {**given, **feeds})[0], right, rtol=2e-5, atol=2e-5)


def test_norms_in_fp16_keep_their_statistics_in_fp32(tmp_path: Path) -> None:
    text = f"""{HEAD % 17} g (float16[2,5,12] x, float16[2,5,12] s, float16[12] g) => (float16[2,5,12] y)
    {{ y = com.microsoft.SkipSimplifiedLayerNormalization (x, s, g) }}"""
    large = {name: (NORMED[name] * 300).astype(np.float16) for name in "xs"}
    feeds = {**large, "g": NORMED["g"].astype(np.float16)}
    before, after = fixed(tmp_path, text, *TRT)
    assert after is not None
    for one, other in zip(computed(before, feeds), computed(after, feeds), strict=True):
        assert other.dtype == np.float16
        np.testing.assert_allclose(other.astype(np.float32), one.astype(np.float32), rtol=2e-2, atol=2e-2)


def assert_written_out(text: str, feeds: Mapping[str, Array], tmp_path: Path) -> None:
    """Require the same results without ONNX Runtime's own operators."""
    before, after = fixed(tmp_path, text, *TRT)
    assert after is not None
    assert not {"com.microsoft"} & {node.domain for node in after.graph.node}
    assert "SimplifiedLayerNormalization" not in ops(after)
    onnx.checker.check_model(after, full_check=True)
    for one, other in zip(computed(before, feeds), computed(after, feeds), strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        np.testing.assert_allclose(other, one, rtol=2e-5, atol=2e-5 * float(np.abs(one).max()))


def erf_gelu(x: Array) -> Array:
    return np.asarray(x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2)


def tanh_gelu(x: Array) -> Array:
    return np.asarray(x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2)


@pytest.mark.parametrize(
    ("call", "truth"),
    [
        ("GemmFastGelu (x, w, b)", lambda x, w, b: tanh_gelu(x @ w + b)),
        ("GemmFastGelu (x, w)", lambda x, w, b: tanh_gelu(x @ w)),
        ("BiasAdd (x, b, x)", lambda x, w, b: 2 * x + b),
        ("BiasSplitGelu (x, b)", lambda x, w, b: (x + b)[..., :4] * erf_gelu((x + b)[..., 4:])),
    ],
)
def test_what_onnx_runtime_computes_on_gpus_only(
    call: str, truth: Callable[..., Array], tmp_path: Path
) -> None:
    """The CPU provider lacks these operators, so their definitions give the expected results."""
    feeds = {"x": tensor(2, 5, 8), "w": tensor(8, 8), "b": tensor(8)}
    text = f"{HEAD % 17} g (float[2,5,8] x, float[8,8] w, float[8] b) => (float[A,B,C] y)"
    _, after = fixed(tmp_path, f"{text} {{ y = com.microsoft.{call} }}", *TRT)
    assert after is not None
    assert {node.domain for node in after.graph.node} == {""}
    (result,) = computed(after, feeds)
    np.testing.assert_allclose(result, truth(**feeds), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("op", ["GroupQueryAttention", "DecoderMaskedMultiHeadAttention"])
def test_a_cache_that_is_written_into_is_left_with_the_reason(
    op: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"{HEAD % 17} g (float[1,1,8] q, float[1,1,8] k, float[1,1,8] v) => (float[1,1,8] y)"
    _, after = fixed(tmp_path, f"{text} {{ y = com.microsoft.{op} <num_heads = 2> (q, k, v) }}", *TRT)
    assert after is None
    assert "writes into a cache whose length is known only at run time" in capsys.readouterr().out


OF_ANY_SIZE = {
    "attention": ("float[B,T,16] x", "y = com.microsoft.MultiHeadAttention <num_heads = 2> (x, x, x)"),
    "projected": (
        "float[B,T,16] x, float[16,48] w",
        "y = com.microsoft.Attention <num_heads = 2> (x, w)",
    ),
    "rotary": (
        "float[B,T,16] x, int64[B,T] p, float[9,4] c, float[9,4] s",
        "y = com.microsoft.RotaryEmbedding <num_heads = 2> (x, p, c, s)",
    ),
}


@pytest.mark.parametrize("shape", [(0, 5, 16), (2, 0, 16), (0, 0, 16)])
@pytest.mark.parametrize("case", OF_ANY_SIZE)
def test_an_empty_batch_or_length(case: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    import onnxruntime

    inputs, body = OF_ANY_SIZE[case]
    before, after = fixed(tmp_path, f"{HEAD % 17} g ({inputs}) => (float[B,T,16] y) {{ {body} }}", *TRT)
    assert after is not None
    every = {"x": tensor(*shape), "w": tensor(16, 48), "c": tensor(9, 4), "s": tensor(9, 4)}
    every["p"] = np.zeros(shape[:2], np.int64)
    feeds = {info.name: every[info.name] for info in before.graph.input}
    (result,) = onnxruntime.InferenceSession(after.SerializeToString()).run(None, feeds)
    assert result.shape == shape
