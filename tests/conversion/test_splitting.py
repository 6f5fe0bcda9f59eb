"""Tests of fused Q, K and V products split into one product each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from tests.conversion.models import saved
from tests.graphs import model_of
from trtlint.conversion import splitting
from trtlint.conversion.measuring import KeepSearchResult
from trtlint.conversion.rewriting import apply_to, proposals
from trtlint.conversion.session import ConversionRequest, ConversionSession, RewrittenDraft
from trtlint.fixes.patch import NotApplicable

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
    split.found = KeepSearchResult(dict.fromkeys(("qkv/MatMul", "qkv/MatMul_2"), "digits"))
    conversion = split.draft().conversion
    kept = {each.node for each in conversion.kept if each.product}
    assert kept == {"qkv/MatMul", "qkv/MatMul_2"}
    assert conversion.share is not None
    assert conversion.share > 0.3


def numbers(*shape: int) -> str:
    count = int(np.prod(shape))
    return f"float[{','.join(map(str, shape))}] w = {{{', '.join(str(each % 7) for each in range(count))}}}"


def refusal(body: str, constants: str, *, x: str = "float[2,8] x", opset: int = 17) -> str:
    """Return the reason why the first operator stays fused, empty if it does not."""
    model = model_of(
        f'< ir_version: 10, opset_import: ["" : {opset}, "own" : 1] > '
        f"g ({x}) => (float[] y) < {constants} > {{ {body} }}"
    )
    try:
        splitting.split_product(model.graph.nodes[0], model)
    except NotApplicable as error:
        return str(error)
    return ""


SUM = "s = Add (q, k) y = Add (s, v)"
THREE = f"q, k, v = Split <axis = 1> (a, sizes) {SUM}"
WIDE = f"{numbers(8, 6)}, int64[3] sizes = {{2, 2, 2}}"
BIASES = (
    f"{WIDE}, float[6] b = {{1, 2, 3, 4, 5, 6}}, float[1] short = {{1}}, "
    "float[2,6] large = {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}"
)
NO_MATRIX = "the second operand of the matrix product is not a stored matrix"
SCALED = "the matrix product is transposed or scaled"
NO_BIAS = "the Add after the matrix product does not add a stored bias"
NO_COLUMNS = "the result is not split into columns"
NEITHER = "the result is neither split nor reshaped"
SEVERAL = "several operators read the result"
GIVEN_BIAS = "the bias does not have one number for each column"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (f"a = MatMul (x, w) {THREE}", ""),
        (f"a = Gemm (x, w) {THREE}", ""),
        (f"a = Gemm (x, w, b) {THREE}", ""),
        (f"a = Gemm <alpha = 1.0> (x, w, b) {THREE}", ""),
        (f"a = Gemm <alpha = 2.0> (x, w, b) {THREE}", SCALED),
        (f"a = Gemm <alpha = 0.5> (x, w, b) {THREE}", SCALED),
        (f"a = Gemm (x, w, short) {THREE}", GIVEN_BIAS),
        (f"a = Gemm (x, w, large) {THREE}", GIVEN_BIAS),
        (f"c = Identity (w) a = MatMul (x, c) {THREE}", NO_MATRIX),
        (f"a = MatMul (x, w) a2 = Add (a, b) {THREE}".replace("(a, sizes)", "(a2, sizes)"), ""),
        (f"a = MatMul (x, w) a2 = Add (b, a) {THREE}".replace("(a, sizes)", "(a2, sizes)"), ""),
        (f"a = MatMul (x, w) a2 = Add (a, short) {THREE}".replace("(a, sizes)", "(a2, sizes)"), NO_BIAS),
        (f"a = MatMul (x, w) a2 = Add (a, a) {THREE}".replace("(a, sizes)", "(a2, sizes)"), SEVERAL),
        (f"a = MatMul (x, w) a2 = own.Add (a, b) {THREE}".replace("(a, sizes)", "(a2, sizes)"),
         "the operator after the product is not an ONNX operator"),
        (f"a = MatMul (x, w) {THREE} z = Neg (a)", SEVERAL),
        ("y = MatMul (x, w)", SEVERAL),
        ("a = MatMul (x, w) q, k = Split <axis = 0, num_outputs = 2> (a) y = Add (q, k)", NO_COLUMNS),
        ("a = MatMul (x, w) y = Relu (a)", NEITHER),
    ],
)  # fmt: skip
def test_products_before_a_split(body: str, reason: str) -> None:
    opset = 18 if "num_outputs" in body else 17
    assert refusal(body, BIASES, opset=opset) == reason


@pytest.mark.parametrize(
    ("body", "constants", "x", "reason"),
    [
        (f"a = MatMul (x, w) {THREE}", "int64[3] sizes = {2, 2, 2}", "float[2,8] x, float[8,6] w", NO_MATRIX),
        (f"a = Gemm <transA = 1> (x, w) {THREE}", WIDE, "float[8,2] x", SCALED),
        (f"a = MatMul (x, w) {THREE}".replace("axis = 1", "axis = 2"),
         f"{numbers(1, 8, 6)}, int64[3] sizes = {{2, 2, 2}}", "float[2,4,8] x", NO_MATRIX),
        ("a = MatMul (x, w) y = Neg (a)", numbers(8), "float[2,8] x", NO_MATRIX),
        (f"a = MatMul (x, w) {THREE}".replace("axis = 1", "axis = 2"), WIDE, "float[2,N,8] x", ""),
        (f"a = MatMul (x, w) {THREE}".replace("axis = 1", "axis = -1"), WIDE, "float[2,N,8] x", ""),
        (f"a = MatMul (x, w) {THREE}", WIDE, "float[2,3,8] x", NO_COLUMNS),
        ("a = Add (x, w) q, k, v = Split <axis = 1> (a, sizes) y = Sum (q, k, v)",
         "float[2,6] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}, int64[3] sizes = {2, 2, 2}",
         "float[2,6] x", NO_MATRIX),
        (f"a = MatMul (x, w) {THREE}", f"{numbers(8, 6)}", "float[2,8] x, int64[3] sizes",
         "the output sizes of the Split are known only at run time"),
    ],
)  # fmt: skip
def test_products_of_other_operands(body: str, constants: str, x: str, reason: str) -> None:
    assert refusal(body, constants, x=x) == reason


GATHERS = "q = Gather <axis = {0}> (r, i0) k = Gather <axis = {0}> (r, i1) v = Gather <axis = {0}> (r, i2)"
INDICES = (
    "int64 i0 = {0}, int64 i1 = {1}, int64 i2 = {2}, "
    "int64 last = {-1}, int64 before = {-4}, int64 least = {-3}"
)
SHAPES = (
    "int64[1] list = {2}, int64[3] three = {2, 3, 2}, int64[3] zero = {0, 3, 2}, int64[2] six = {2, 6}, "
    "int64[3] rows = {1, 6, 2}, int64[3] single = {2, 1, 6}, int64[3] ones = {1, 1, 1}, "
    "int64[2] uneven = {1, 2}"
)
FOLDED = f"{numbers(8, 6)}, {INDICES}, {SHAPES}"
FOLD = f"a = MatMul (x, w) r = Reshape (a, three) {GATHERS.format(1)} {SUM}"
COLUMNS_MOVED = "the Reshape after the matrix product must divide only the last axis"
TOO_MANY = "the result has too many parts"
NOT_SPLIT = "the result is not split"
INDEX = "the index of a Gather is not a single stored integer within the axis"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("i2", "i2", ""),
        ("three", "zero", ""),
        ("Reshape (a, three)", "Reshape <allowzero = 1> (a, three)", NEITHER),
        ("r, i2", "r, last", ""),
        ("r, i0", "r, least", ""),
        ("r, i2", "r, before", INDEX),
        ("r, i2", "r, i1", "two Gathers select the same index"),
        ("v = Gather <axis = 1> (r, i2)", "g = Gather <axis = 1> (r, list) v = Identity (g)", INDEX),
        ("v = Gather <axis = 1> (r, i2)", "g = Gather <axis = 2> (r, i1) v = ReduceSum (g)", NOT_SPLIT),
        ("v = Gather <axis = 1> (r, i2)", "v = own.Gather <axis = 1> (r, i2)", NOT_SPLIT),
        ("v = Gather <axis = 1> (r, i2)", "g = CumSum <axis = 1> (r, i2) v = ReduceSum (g)", NOT_SPLIT),
        ("three", "rows", COLUMNS_MOVED),
        ("three", "single", TOO_MANY),
        ("r = Reshape (a, three)", "r = Relu (a)", NEITHER),
        (f"{GATHERS.format(1)} {SUM}", "y = Neg (r)", NOT_SPLIT),
        (f"r = Reshape (a, three) {GATHERS.format(1)} {SUM}", "y = Reshape (a, three)",
         "the result is an output of the model"),
        (GATHERS.format(1), "q, k, v = Split <axis = 1> (r, ones)", ""),
        (GATHERS.format(1), "q, k, v = Split <axis = -2> (r, ones)", ""),
        (f"{GATHERS.format(1)} {SUM}", "q, k = Split <axis = 1> (r, uneven) y = Add (q, k)",
         "an output of the Split has a size other than 1"),
        ("r = Reshape (a, three)", "t = Reshape (a, three) r = Transpose <perm = [0, 1, 2]> (t)", ""),
        (f"r = Reshape (a, three) {GATHERS.format(1)}",
         f"t = Reshape (a, three) r = Transpose <perm = [1, 0, 2]> (t) {GATHERS.format(0)}", ""),
        (f"r = Reshape (a, three) {GATHERS.format(1)}",
         f"t = Reshape (a, three) r = Transpose <perm = [1, 0, 2]> (t) {GATHERS.format(1)}", NOT_SPLIT),
        ("r = Reshape (a, three)", "t = Reshape (a, three) r = Transpose (t)",
         "the attribute perm of the Transpose is missing or invalid"),
    ],
)  # fmt: skip
def test_products_before_a_reshape(old: str, new: str, reason: str) -> None:
    assert old in FOLD
    assert refusal(FOLD.replace(old, new), FOLDED) == reason


@pytest.mark.parametrize(
    ("columns", "shape", "reason"),
    [
        (6, "2,4,3,2", ""),
        (6, "2,4,3,N,2", COLUMNS_MOVED),
        (6, "2,4,3,1", COLUMNS_MOVED),
        (6, "4,2,3,2", COLUMNS_MOVED),
        (6, "2,M,3,2", COLUMNS_MOVED),
        (6, "2,4,6", ""),
        (1, "2,4", COLUMNS_MOVED),
        (1, "8", COLUMNS_MOVED),
    ],
)
def test_shapes_that_keep_the_columns_together(columns: int, shape: str, reason: str) -> None:
    """The input ``to`` has the shape only at run time, so the file gives it."""
    constants = f"{FOLDED.replace(numbers(8, 6), numbers(8, columns))}, float[{shape}] r"
    body = f"a = MatMul (x, w) r = Reshape (a, to) {GATHERS.format(2)} {SUM}"
    to = f"int64[{shape.count(',') + 1}] to"
    assert refusal(body, constants, x=f"float[2,4,8] x, {to}") == reason


@pytest.mark.parametrize(("parts", "reason"), [(2, ""), (8, ""), (9, TOO_MANY)])
def test_a_product_has_up_to_eight_parts(parts: int, reason: str) -> None:
    names = [f"p{index}" for index in range(parts)]
    sizes = f"int64[3] to = {{2, {parts}, 2}}, int64[{parts}] ones = {{{', '.join(['1'] * parts)}}}"
    constants = f"{numbers(8, 2 * parts)}, {sizes}"
    split = f"{', '.join(names)} = Split <axis = 1> (r, ones) y = Sum ({', '.join(names)})"
    assert refusal(f"a = MatMul (x, w) r = Reshape (a, to) {split}", constants) == reason


def test_an_operator_that_is_not_ready_for_columns_stays() -> None:
    """Operators other than Reshape can have as many columns as parts."""
    body = f"a = MatMul (x, w) r = Relu (a) {GATHERS.format(1)} {SUM}"
    constants = f"{numbers(8, 3)}, int64 i0 = {{0}}, int64 i1 = {{1}}, int64 i2 = {{2}}"
    assert refusal(body, constants) == NEITHER


@pytest.mark.parametrize(("elements", "reason"), [(48, ""), (47, NO_MATRIX)])
def test_large_weights_stay_whole(monkeypatch: pytest.MonkeyPatch, elements: int, reason: str) -> None:
    monkeypatch.setattr(splitting, "MOST_ELEMENTS", elements)
    assert refusal(f"a = MatMul (x, w) {THREE}", WIDE) == reason


@pytest.mark.parametrize(
    ("body", "constants"),
    [
        (f"a = MatMul (x, w) {THREE}", WIDE),
        (f"a = Gemm (x, w, b) {THREE}", BIASES),
        (f"a = MatMul (x, w) c = Add (a, b) {THREE.replace('(a,', '(c,')}", BIASES),
        ("a = MatMul (x, w) q, k, v = Split <axis = 1> (a, sizes) y = Sub (q, v)", WIDE),
        (FOLD.replace("Add (q, k)", "Sub (q, k)"), FOLDED),
        (FOLD.replace("r, i0", "r, last").replace("r, i2", "r, i0").replace("Add (q, k)", "Sub (q, k)"),
         FOLDED),
        (FOLD.replace(GATHERS.format(1), "q, k, v = Split <axis = 1> (r, ones)").replace("Add (q", "Sub (q"),
         FOLDED),
    ],
    ids=["columns", "gemm", "bias", "unused", "folded", "other order", "split"],
)  # fmt: skip
def test_the_new_products_compute_the_same(tmp_path: Path, body: str, constants: str) -> None:
    text = f'< ir_version: 10, opset_import: ["" : 17] > g (float[2,8] x) => (float[?] y) < {constants} > '
    path = saved(f"{text} {{ {body.replace('a = ', '[qkv] a = ', 1)} }}", tmp_path / "m.onnx", None)
    session = ConversionSession(ConversionRequest(path))
    (found,) = proposals(session.model, {"qkv"}, {})
    apply_to(session.source, session.model, [found], tmp_path / "rewritten.onnx")
    model = onnx.load(tmp_path / "rewritten.onnx")
    products = [node for node in model.graph.node if node.op_type in ("MatMul", "Gemm")]
    assert len(products) == (2 if "Sub (q, v)" in body else 3)
    x = np.random.default_rng(0).standard_normal((2, 8)).astype(np.float32)
    np.testing.assert_allclose(evaluated(model, x), evaluated(onnx.load(path), x), rtol=1e-5, atol=1e-5)
