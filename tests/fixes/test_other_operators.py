"""Tests that rewrites reject facts without a node, other operators and other domains."""

from __future__ import annotations

import pytest

from tests.fixes.proposing import proposed, small, spelled
from trtlint.facts.base import Fact, Step
from trtlint.fixes import names

OPERATORS = {
    "add-bias-behind": ("ConvTranspose (x, w, b)", "there is no ConvTranspose with a bias at this place"),
    "broadcast-constant": ("Expand (b, i)", "there is no Expand or Tile at this place"),
    "clip-by-minimum": ("Clip (x, z, o)", "there is no Clip at this place, or the opset is older than 8"),
    "clip-by-one-bound": ("Clip (x, z)", "there is no Clip at this place, or the opset is older than 13"),
    "clip-in-int32": ("Clip (q)", "there is no Clip of INT8 at this place"),
    "cut-stacked-outputs": ("Loop (i, t, x)", "there is no Loop at this place"),
    "decompose-attention": ("Attention (x, x, x)", "there is no Attention operator of ONNX at this place"),
    "drop-second-quantizer": (
        "QuantizeLinear (d, o)",
        "there is no pair of consecutive quantizers at this place",
    ),
    "drop-unread-outputs": ("Loop (i, t, x)", "there is no Loop or Scan at this place"),
    "elu-by-selu": ("Elu (x)", "there is no Elu at this place"),
    "float-quantizers": ("DequantizeLinear (q, o)", "there is no quantizer at this place"),
    "fold-quantized-constant": ("DequantizeLinear (q, o)", "there is no DequantizeLinear at this place"),
    "leave-out-mode": ('GridSample <mode = "linear"> (x, x)', "there is no GridSample at this place"),
    "mask-by-where": ("NonZero (x)", "there is no NonZero at this place"),
    "relu-by-max": ("Relu (i)", "there is no Relu of integers at this place"),
    "resize-asymmetric": ("Resize (x, , x)", "there is no Resize of opset 11 or newer at this place"),
    "resize-by-gather": (
        "Resize <antialias = 1> (x, , x)",
        "there is no Resize with antialias at this place",
    ),
    "state-from-sequence": ("GRU (x, w, w)", "there is no recurrent operator at this place"),
    "store-constant": ("Neg (x)", "there is no Constant at this place"),
    "store-dense": ("MatMul (x, w)", "there is no sparse tensor at this place"),
    "take-absolute-first": ("GlobalLpPool (x)", "there is no GlobalLpPool at this place"),
    "wrap-index": ("OneHot (i, j, x)", "there is no OneHot at this place"),
    "write-default": ("Trilu (x)", "there is no Trilu or RoiAlign at this place"),
    "write-out-ellipsis": ('Einsum <equation = "...i->i"> (x)', "there is no Einsum at this place"),
    "write-out-group-norm": (
        "GroupNormalization <num_groups = 2> (x, b, b)",
        "there is no GroupNormalization at this place",
    ),
    "write-out-layout": (
        "GRU <layout = 1> (x, w, w)",
        "there is no recurrent operator with layout 1 at this place",
    ),
    "write-out-logsumexp": ("ReduceLogSumExp <axes = [1]> (x)", "there is no ReduceLogSumExp at this place"),
    "write-out-loop": ("Loop (i, t, x)", "there is no Loop at this place"),
    "write-out-mean": ("Mean (x, x)", "there is no Mean at this place, or the opset is older than 8"),
    "write-out-pads": (
        "ConvTranspose <output_shape = [4]> (x, w)",
        "there is no ConvTranspose at this place, or the shape of the weight is not known",
    ),
    "write-out-prelu": ("PRelu (x, b)", "there is no PRelu at this place"),
    "write-out-rotary": ("RotaryEmbedding (x, x, x)", "there is no RotaryEmbedding of ONNX at this place"),
    "write-out-scatter": (
        'ScatterND <reduction = "add"> (x, i, x)',
        "there is no ScatterElements or ScatterND at this place",
    ),
    "write-out-sequence": ("SequenceConstruct (x, x)", "there is no sequence at this place"),
    "write-out-space-to-depth": (
        'SpaceToDepth <mode = "CRD", blocksize = 2> (x)',
        "there is no SpaceToDepth with mode CRD at this place",
    ),
    "write-score-threshold": ("NonMaxSuppression (x, x)", "there is no NonMaxSuppression at this place"),
}
"""An operator that each rewrite replaces, and the reason to reject another operator."""
TEXT = """(float[2,4] x, float[4,2,3] w, float[4] b, int64[2] i, int8[2] q) => (float[A] y)
< float z = {0}, float o = {1}, bool t = {1}, int64 j = {4}, float[4] k = {1, 2, 3, 4} >
{ d = DequantizeLinear (q, o)  y = %s }"""


@pytest.mark.parametrize("rewrite", OPERATORS)
def test_another_operator_is_rejected(rewrite: str) -> None:
    operator, reason = OPERATORS[rewrite]
    for text in ("Sign (x)", "Add (k, k)", "Range (x, k, k)", f"my.{operator}"):
        model = small(TEXT % text)
        assert spelled(proposed(rewrite, Fact(node=model.graph.nodes[-1]), model)) == reason, text


@pytest.mark.parametrize("rewrite", sorted(set(names()) - {"lower-opset"}))
def test_a_fact_without_a_node_is_rejected(rewrite: str) -> None:
    model = small(TEXT % "Sign (x)")
    reason = spelled(proposed(rewrite, Fact(), model))
    assert reason.startswith((OPERATORS.get(rewrite, ("", "there "))[1], "the ", "no declared type"))


@pytest.mark.parametrize(
    ("rewrite", "operators"),
    [
        ("cast-table", ("Gather (k, i)", "Cast <to = 10> (x)")),
        ("shift-logsumexp", ("Exp (x)", "ReduceSum (x)", "Log (x)")),
    ],
)
def test_a_fact_names_all_operators_of_a_chain(rewrite: str, operators: tuple[str, ...]) -> None:
    lines = [f"v{index} = {text}" for index, text in enumerate(operators)]
    model = small(TEXT.replace("y = %s", "  ".join([*lines, "y = Sign (x)"])))
    nodes = model.graph.nodes[1:-1]
    reasons = {
        spelled(proposed(rewrite, Fact(chain=tuple(Step(node, "operator") for node in part)), model))
        for part in ([each for each in nodes if each is not left] for left in nodes)
    }
    assert len(reasons) == 1
    assert reasons.pop().startswith("there is no ")


@pytest.mark.parametrize(
    "rewrite",
    [
        "add-epsilon",
        "clamp-mask",
        "fold-weights",
        "fuse-norm",
        "name-nodes",
        "pad-heads",
        "rank-four-attention",
        "scale-on-query",
        "select-mask",
        "store-dequantized",
        "take-branch",
        "widen-norm",
        "write-out-ceil-mode",
    ],
)
def test_a_fact_of_another_kind_is_rejected(rewrite: str) -> None:
    model = small(TEXT % "Sign (x)")
    without, other = (
        spelled(proposed(rewrite, Fact(node=node), model)) for node in (None, model.graph.nodes[-1])
    )
    assert without == other
