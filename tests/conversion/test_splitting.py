"""Fused products of Q, K and V become one product for each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from tests.conversion.models import saved
from trtlint.conversion.measuring import Found
from trtlint.conversion.rewriting import apply_to, proposals
from trtlint.conversion.session import ConversionRequest, ConversionSession, RewrittenDraft

HEAD = '< ir_version: 8, opset_import: ["" : 17] > g (float[2,4,8] x) => (float[2,4,8] y) '
BIAS = "< float[24] b = {" + ", ".join(map(str, range(24))) + "}, "
SPLIT = "int64[3] sizes = {8, 8, 8} >"
FIVE = (
    "int64[5] five = {2, 4, 3, 2, 4}, int64[3] three = {2, 4, 8}, "
    "int64 i0 = {0}, int64 i1 = {1}, int64 i2 = {2} >"
)
ATTENTION = "kt = Transpose<perm = [0, 2, 1]>(k) s = MatMul(q, kt) p = Softmax(s) y = MatMul(p, v)"
HEADS = """
  kt = Transpose<perm = [0, 1, 3, 2]>(k) s = MatMul(q, kt) p = Softmax(s) o = MatMul(p, v)
  t = Transpose<perm = [0, 2, 1, 3]>(o) y = Reshape(t, three)
"""
COLUMNS = (
    HEAD
    + BIAS
    + SPLIT
    + "{ [qkv] a = MatMul(x, w) c = Add(b, a) q, k, v = Split<axis = -1>(c, sizes) "
    + ATTENTION
    + "}"
)
INDEXED = (
    HEAD
    + BIAS
    + FIVE
    + """{
  [qkv] a = MatMul(x, w) c = Add(a, b) r = Reshape(c, five) m = Transpose<perm = [2, 0, 3, 1, 4]>(r)
  q = Gather<axis = 0>(m, i0) k = Gather<axis = 0>(m, i1) v = Gather<axis = 0>(m, i2)
"""
    + HEADS
    + "}"
)
PARTS = INDEXED.replace(
    "q = Gather<axis = 0>(m, i0) k = Gather<axis = 0>(m, i1) v = Gather<axis = 0>(m, i2)",
    "q1, k1, v1 = Split<axis = 0>(m, ones) q = Squeeze(q1, axes) k = Squeeze(k1, axes) v = Squeeze(v1, axes)",
).replace("< float[24] b", "< int64[3] ones = {1, 1, 1}, int64[1] axes = {0}, float[24] b")
ROWS = """< ir_version: 8, opset_import: ["" : 17] > g (float[4,8] x) => (float[4,8] y) """
GEMM = (
    ROWS
    + BIAS
    + SPLIT
    + "{ [qkv] c = Gemm<transB = 1>(x, w, b) q, k, v = Split<axis = 1>(c, sizes) kt = Transpose(k)"
    + " s = MatMul(q, kt) p = Softmax(s) y = MatMul(p, v) }"
)


def evaluated(model: onnx.ModelProto, x: np.ndarray) -> np.ndarray:
    """Return the first output."""
    return np.asarray(ReferenceEvaluator(model).run(None, {"x": x})[0])  # type: ignore[index]


@pytest.mark.parametrize(
    ("text", "weights"),
    [(COLUMNS, (8, 24)), (INDEXED, (8, 24)), (PARTS, (8, 24)), (GEMM, (24, 8))],
    ids=["columns", "indexed", "parts", "gemm"],
)
def test_the_results_stay_the_same(tmp_path: Path, text: str, weights: tuple[int, ...]) -> None:
    path = saved(text, tmp_path / "m.onnx", weights)
    session = ConversionSession(ConversionRequest(path))
    (found,) = proposals(session.model, {"qkv"}, {})
    assert found.patch.title == "splits qkv into 3 products"
    apply_to(session.source, session.model, [found], tmp_path / "rewritten.onnx")
    model = onnx.load(tmp_path / "rewritten.onnx")
    onnx.checker.check_model(model, full_check=True)
    products = [node for node in model.graph.node if node.op_type in ("MatMul", "Gemm")]
    assert len(products) == 5
    x = np.random.default_rng(0).standard_normal((4, 8) if text is GEMM else (2, 4, 8)).astype(np.float32)
    assert np.allclose(evaluated(model, x), evaluated(onnx.load(path), x), atol=1e-5)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("c = Add(b, a)", "c = Mul(b, a)"),
        ("p = Softmax(s)", "p0 = Softmax(s) e = ReduceSum<keepdims = 1>(c) p = Add(p0, e)"),
        ("c = Add(b, a)", "c0 = Add(b, a) c = Transpose<perm = [0, 1, 2]>(c0)"),
        ("int64[3] sizes = {8, 8, 8}", "int64[3] sizes = {4, 8, 12}"),
    ],
    ids=["no bias", "read twice", "moved", "unequal"],
)
def test_other_products_stay_whole(tmp_path: Path, old: str, new: str) -> None:
    text = COLUMNS.replace(old, new)
    assert text != COLUMNS
    if "12" in new:
        text = text.replace(ATTENTION, "s = ReduceSum(q) t = Add(k, s) u = ReduceSum(v) y = Add(t, u)")
    model = ConversionSession(ConversionRequest(saved(text, tmp_path / "m.onnx", (8, 24)))).model
    found = proposals(model, {"qkv"}, {})
    assert len(found) == ("12" in new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("m = Transpose<perm = [2, 0, 3, 1, 4]>(r)", "m = Transpose(r)"),
        ("int64 i2 = {2}", "int64 i2 = {3}"),
        ("int64 i2 = {2}", "int64 i2 = {1}"),
        ("int64[5] five = {2, 4, 3, 2, 4}", "int64[5] five = {2, 2, 3, 4, 4}"),
    ],
    ids=["default order", "beyond the range", "twice", "rows"],
)
def test_unusual_parts_stay_whole(tmp_path: Path, old: str, new: str) -> None:
    text = INDEXED.replace(old, new)
    assert text != INDEXED
    model = ConversionSession(ConversionRequest(saved(text, tmp_path / "m.onnx", (8, 24)))).model
    assert proposals(model, {"qkv"}, {}) == []


def test_parts_inside_a_subgraph_stay_whole(tmp_path: Path) -> None:
    text = (
        HEAD.replace("(float[2,4,8] x)", "(float[2,4,8] x, bool t)")
        + BIAS
        + SPLIT
        + """{
      [qkv] a = MatMul(x, w)
      y = If (t) <
        then_branch = one () => (float[2,4,8] o) { q, k, v = Split<axis = -1>(a, sizes) o = Add(q, v) },
        else_branch = two () => (float[2,4,8] z) { z = Identity(x) }
      >
    }"""
    )
    model = ConversionSession(ConversionRequest(saved(text, tmp_path / "m.onnx", (8, 24)))).model
    assert proposals(model, {"qkv"}, {}) == []


def test_v_computes_in_fp16_where_q_and_k_cannot(tmp_path: Path) -> None:
    request = ConversionRequest(saved(COLUMNS, tmp_path / "m.onnx", (8, 24)))
    session = ConversionSession(request)
    found = proposals(session.model, {"qkv"}, {})
    source = apply_to(session.source, session.model, found, tmp_path / "rewritten.onnx")
    split = ConversionSession(request, None, RewrittenDraft(source, tmp_path / "rewritten.onnx", ()))
    split.found = Found(dict.fromkeys(("qkv/MatMul", "qkv/MatMul_2"), "digits"))
    conversion = split.draft().conversion
    kept = {each.node for each in conversion.kept if each.product}
    assert kept == {"qkv/MatMul", "qkv/MatMul_2"}
    assert conversion.share is not None
    assert conversion.share > 0.3
