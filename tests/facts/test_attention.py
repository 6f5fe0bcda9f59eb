"""Tests of attention facts on real exports and on small graphs with one difference."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.graphs import facts_of
from tests.sampling import sample
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.attention import QKV, Attention
from trtlint.model.load import load


def attentions(facts: Facts) -> list[Attention]:
    return [fact for fact in facts.of("attention") if isinstance(fact, Attention)]


def only(text: str) -> Attention:
    (block,) = attentions(facts_of(text))
    return block


def block(body: str, inputs: str = "float[1,8,16,64] q, float[1,8,64,16] kt, float[1,8,16,64] v") -> str:
    return f"""
    < ir_version: 8, opset_import: ["" : 17] >
    g ({inputs}) => (float[1,8,16,64] o)
    < float half = {{0.5}}, float one = {{1}}, float four = {{4}}, float low = {{-10000}} >
    {{ {body} }}
    """


PLAIN = "s = MatMul (q, kt) p = Softmax <axis = -1> (s) o = MatMul (p, v)"


@pytest.mark.slow
def test_labels_of_exported_models(exported: Path) -> None:
    wrong = {}
    for line in sample((exported / "labels.jsonl").read_text().splitlines()):
        label = json.loads(line)
        blocks = attentions(Facts(load(exported / f"{label['model']}.onnx")))
        placements = Counter(b.scale.placement for b in blocks if b.form in ("matmul", "einsum"))
        operators = sum(b.form == "operator" for b in blocks)
        # The labels do not look through Q/DQ pairs, which these three have on every operand.
        quantized = label["model"].startswith("timm_vit_unfused_qdq")
        if (dict(placements) != label["attention_scale"] and not quantized) or (
            operators != label["attention_ops"]
        ):
            wrong[label["model"]] = (dict(placements), operators, label)
    assert not wrong


@pytest.mark.parametrize(
    ("body", "placement", "product"),
    [
        (PLAIN, "none", 1.0),
        (f"q1 = Mul (half, q) {PLAIN.replace('(q,', '(q1,')}", "query", 0.5),
        (f"q1 = Div (q, four) {PLAIN.replace('(q,', '(q1,')}", "query", 0.25),
        (f"k1 = Mul (kt, half) {PLAIN.replace('kt)', 'k1)')}", "key", 0.5),
        (
            "q1 = Mul (q, half) k1 = Mul (kt, half) s = MatMul (q1, k1) "
            "p = Softmax <axis = -1> (s) o = MatMul (p, v)",
            "both",
            0.25,
        ),
        ("s = MatMul (q, kt) t = Mul (s, half) p = Softmax <axis = -1> (t) o = MatMul (p, v)", "scores", 0.5),
        (f"q1 = Mul (q, one) {PLAIN.replace('(q,', '(q1,')}", "none", 1.0),
    ],
)
def test_placement_of_the_scale(body: str, placement: str, product: float) -> None:
    scale = only(block(body)).scale
    assert (scale.placement, scale.product) == (placement, product)


def test_head_size_and_heads_come_from_the_types() -> None:
    found = only(block(PLAIN))
    assert (found.heads, found.head_size, found.rank, found.dtype) == (8, 64, 4, "f32")


def test_additive_mask_with_its_fill() -> None:
    body = (
        "s = MatMul (q, kt) n = Sub (one, mask) f = Mul (n, low) t = Add (s, f) "
        "p = Softmax <axis = -1> (t) o = MatMul (p, v)"
    )
    inputs = "float[1,8,16,64] q, float[1,8,64,16] kt, float[1,8,16,64] v, float[1,1,1,16] mask"
    assert only(block(body, inputs)).mask.kind == "additive"
    assert only(block(body, inputs)).mask.fill == -10000


def test_selecting_mask() -> None:
    body = "s = MatMul (q, kt) t = Where (mask, s, low) p = Softmax <axis = -1> (t) o = MatMul (p, v)"
    inputs = "float[1,8,16,64] q, float[1,8,64,16] kt, float[1,8,16,64] v, bool[1,1,1,16] mask"
    assert only(block(body, inputs)).mask.kind == "where"
    assert only(block(body, inputs)).mask.fill == -10000


def test_scores_read_elsewhere_are_shared() -> None:
    text = block(PLAIN).replace("(float[1,8,16,64] o)", "(float[1,8,16,64] o, float[1,8,16,16] s)")
    assert only(text).scores_shared
    assert not only(text).probabilities_shared
    assert not only(block(PLAIN)).scores_shared


def test_probabilities_read_elsewhere_are_shared() -> None:
    text = block(PLAIN).replace("(float[1,8,16,64] o)", "(float[1,8,16,64] o, float[1,8,16,16] p)")
    assert only(text).probabilities_shared


def test_a_product_with_a_weight_is_no_attention() -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[1,2] x) => (float[1,2] y)
    < float[2,2] w = {1, 2, 3, 4}, float[2,2] u = {1, 2, 3, 4} >
    { l = MatMul (x, w) p = Softmax <axis = -1> (l) y = MatMul (p, u) }
    """
    assert attentions(facts_of(text)) == []


@pytest.mark.parametrize(
    ("axes", "axis"), [("axes = [2], ", -1), ("axes = [-2], ", -2), ("axes = [1, 2], ", None), ("", None)]
)
def test_operands_cut_by_a_slice_with_attributes(axes: str, axis: int | None) -> None:
    found = only(f"""
    < ir_version: 8, opset_import: ["" : 9] >
    g (float[2,6,48] h, float[2,6,16] v) => (float[2,6,16] o)
    {{
      q = Slice <{axes}starts = [0], ends = [16]> (h)  k = Slice <{axes}starts = [16], ends = [32]> (h)
      t = Transpose <perm = [0, 2, 1]> (k)  s = MatMul (q, t)  p = Softmax <axis = 2> (s)  o = MatMul (p, v)
    }}
    """)
    assert found.qkv == QKV("slices", axis, 3, all_three=False)


def test_blocks_are_in_the_order_of_the_graph() -> None:
    found = attentions(
        facts_of("""
    < ir_version: 10, opset_import: ["" : 23] >
    g (float[1,8,16,64] q, float[1,8,64,16] kt, float[1,8,16,64] v) => (float[1,8,16,64] o)
    {
      a = Attention (q, v, v)  s = MatMul (a, kt)  p = Softmax (s)  b = MatMul (p, v)  o = Attention (b, v, v)
    }
    """)
    )
    assert [block.form for block in found] == ["operator", "matmul", "operator"]


def test_a_softmax_that_weighs_nothing_is_no_attention() -> None:
    body = "s = MatMul (q, kt) p = Softmax <axis = -1> (s) o = Relu (p)"
    assert attentions(facts_of(block(body).replace("float[1,8,16,64] o)", "float[1,8,16,16] o)"))) == []


@pytest.mark.parametrize(
    ("equation", "layout"),
    [("bct,bcs->bts", "channels-first"), ("btc,bsc->bts", "tokens-first")],
)
def test_layout_of_einsum_attention(equation: str, layout: str) -> None:
    last = "bts,bcs->bct" if layout == "channels-first" else "bts,bsc->btc"
    shape = "[2,64,16]" if layout == "channels-first" else "[2,16,64]"
    text = f"""
    < ir_version: 8, opset_import: ["" : 17] >
    g (float{shape} q, float{shape} k, float{shape} v) => (float{shape} o)
    {{
      s = Einsum <equation = "{equation}"> (q, k)
      p = Softmax <axis = -1> (s)
      o = Einsum <equation = "{last}"> (p, v)
    }}
    """
    found = only(text)
    assert (found.form, found.layout, found.head_size) == ("einsum", layout, 64)


@pytest.mark.slow
def test_families_whose_attention_is_cut_from_one_tensor(exported: Path) -> None:
    kinds = {}
    for path in sorted(exported.glob("*__ts__op17__fp32.onnx")):
        blocks = attentions(Facts(load(path)))
        if blocks and blocks[0].qkv.kind != "separate":
            kinds[path.name.split("__")[0]] = (blocks[0].qkv.kind, blocks[0].qkv.axis, blocks[0].layout)
    assert kinds["attn_qkv_split"] == ("split", -1, "tokens-first")
    assert kinds["attn_qkv_index"] == ("gather", -5, "tokens-first")
    assert kinds["guided_diffusion_chunk"] == ("chunk", -2, "channels-first")
    assert kinds["guided_diffusion_legacy"] == ("split", -2, "channels-first")


@pytest.mark.parametrize(
    ("before", "fed"),
    [
        ("a = Transpose <perm = [0, 2, 1, 3]> (q)", ("query",)),
        ("t = Transpose <perm = [0, 2, 1, 3]> (q) a = Identity (t)", ("query",)),
        ("t = Transpose <perm = [0, 2, 1, 3]> (q) a = Relu (t)", ()),
        ("a = Transpose <perm = [0, 1, 2, 3]> (q)", ()),
        ("a = Identity (q)", ()),
    ],
)
def test_operands_that_are_transposed_inputs(before: str, fed: tuple[str, ...]) -> None:
    text = f"""
    < ir_version: 8, opset_import: ["" : 17] >
    g (float16[1,8,8,64] q, float16[1,8,8,64] k, float16[1,8,8,64] v) => (float16[1,8,8,64] o)
    {{
      {before}
      kt = Transpose <perm = [0, 1, 3, 2]> (k)
      s = MatMul (a, kt)
      p = Softmax <axis = -1> (s)
      o = MatMul (p, v)
    }}
    """
    (fact,) = facts_of(text).of("attention")
    assert isinstance(fact, Attention)
    assert fact.fed == fed


_WITH_HEADS = "<q_num_heads = 4, kv_num_heads = 4>"


@pytest.mark.parametrize(
    ("query", "node", "expected"),
    [
        ("float[1,4,8,64]", "Attention (q, k, v)", ("operator", 0.125, "none", 4, 64, True, 4)),
        ("float16[2,8,64]", f"Attention {_WITH_HEADS} (q, k, v)", ("operator", 0.25, "none", 4, 16, True, 3)),
        (
            "float[2,64,12]",
            f"Attention {_WITH_HEADS} (q, k, v)",
            ("operator", 3**-0.5, "none", 4, 3, False, 3),
        ),
        ("float[2,8,n]", f"Attention {_WITH_HEADS} (q, k, v)", ("operator", None, "none", 4, None, None, 3)),
        ("float[2,8,64]", "Attention (q, k, v)", ("operator", None, "none", None, None, None, 3)),
        (
            "float[2,8,64]",
            "Attention <q_num_heads = 0, kv_num_heads = 0> (q, k, v)",
            ("operator", None, "none", 0, None, None, 3),
        ),
        ("float", f"Attention {_WITH_HEADS} (q, k, v)", ("operator", None, "none", 4, None, None, 0)),
        (
            "float[1,4,8,260]",
            "Attention <scale = 0.5, is_causal = 1> (q, k, v)",
            ("operator", 0.5, "attribute", 4, 260, False, 4),
        ),
        ("float[1,4,8,256]", "Attention (q, k, v)", ("operator", 0.0625, "none", 4, 256, True, 4)),
        ("float[1,4,8,16]", "Attention (q, k, v)", ("operator", 0.25, "none", 4, 16, True, 4)),
        ("float[1,4,8,8]", "Attention (q, k, v)", ("operator", 8**-0.5, "none", 4, 8, False, 4)),
        ("float[1,4,8,24]", "Attention (q, k, v, m)", ("operator", 24**-0.5, "attribute", 4, 24, True, 4)),
        (
            "float[2,8,64]",
            "com.microsoft.MultiHeadAttention <num_heads = 4> (q, k, v, m)",
            ("contrib", None, "none", 4, None, None, 3),
        ),
        (
            "float[2,8,64]",
            "com.microsoft.GroupQueryAttention <num_heads = 4, scale = 0.5> (q, k, v)",
            ("contrib", 0.5, "none", 4, None, None, 3),
        ),
    ],
)
def test_attention_operators(query: str, node: str, expected: tuple[object, ...]) -> None:
    dtype = query.partition("[")[0]
    found = only(f"""< ir_version: 10, opset_import: ["" : 23, "com.microsoft" : 1] >
        g ({query} q, {query} k, {query} v, {dtype}[8,8] m) => ({dtype}[A,B,C] y) {{ y = {node} }}""")
    assert (
        *(found.form, found.scale.product, found.mask.kind, found.heads, found.head_size),
        *(found.fusable_head_size, found.rank),
    ) == (expected[0], pytest.approx(expected[1]), *expected[2:])
    assert found.scale.placement == "attribute"
    assert (found.dtype, found.softmax_dtype) == (("f16", "f16") if dtype == "float16" else ("f32", "f32"))
    assert not found.scores_shared


@pytest.mark.parametrize(("outputs", "shared"), [("y, , , s", True), ("y, s, t", False)])
def test_an_attention_operator_whose_scores_are_an_output(outputs: str, shared: bool) -> None:
    found = only(f"""< ir_version: 10, opset_import: ["" : 23] >
        g (float16[1,4,8,64] q) => (float16[1,4,8,64] y, float16[A,B,C,D] s)
        {{ {outputs} = Attention <softmax_precision = 1> (q, q, q) }}""")
    assert (found.dtype, found.softmax_dtype, found.scores_shared) == ("f16", "f32", shared)


@pytest.mark.parametrize(
    ("query", "product"),
    [
        ("q1 = Identity (q)", True),
        ("q1 = Expand (learned, size)", True),
        ("q1 = Identity (learned)", False),
        ("q1 = Transpose <perm = [1, 0]> (matrix)", False),
    ],
)
def test_queries_that_are_learned(query: str, product: bool) -> None:
    text = f"""< ir_version: 8, opset_import: ["" : 17] >
    g (float[1,8,16,64] q, float[1,8,64,16] kt, float[1,8,16,64] v) => (float[A,B,C,D] o)
    < float[1,1,16,64] learned = {{}}, float[64,16] matrix = {{}}, int64[4] size = {{1, 8, 16, 64}} >
    {{ {query} {PLAIN.replace("(q,", "(q1,")} }}"""
    assert len(attentions(facts_of(text))) == product


def test_two_constants_are_no_scores() -> None:
    body = f"q1 = Expand (learned, size) k1 = Expand (keys, turned) {PLAIN.replace('(q, kt)', '(q1, k1)')}"
    text = f"""< ir_version: 8, opset_import: ["" : 17] >
    g (float[1,8,16,64] v) => (float[A,B,C,D] o)
    < float[1,1,16,64] learned = {{}}, float[1,1,64,16] keys = {{}}, int64[4] size = {{1, 8, 16, 64}},
      int64[4] turned = {{1, 8, 64, 16}} > {{ {body} }}"""
    assert attentions(facts_of(text)) == []
