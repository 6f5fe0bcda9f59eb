"""Tests of product rewrites for FP16 range: the FP32 results stay the same."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from tests.conversion.models import MASKED, saved
from tests.graphs import model_of, model_of_bodies
from trtlint.conversion import rewriting
from trtlint.conversion.rewriting import apply_to, proposals
from trtlint.conversion.run import run
from trtlint.conversion.session import ConversionRequest, ConversionSession, PendingConversion
from trtlint.measurement.inputs import Inputs

LARGE = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[1,8,8] x, float[1,8,8] z) => (float[1,8,8] y)
{ [product] a = MatMul(x, z) [norm] y = LpNormalization<axis: int = -1, p: int = 2>(a) }
"""
BIASED = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[1,8,8,8] x) => (float[1,8,8,8] y)
< float eight = {8}, float[8] b = {1e6, 2e6, 3e6, 4e6, 5e6, 6e6, 7e6, 8e6} >
{ [conv] a = Conv<kernel_shape = [1, 1]>(x, w, b) y = Div(a, eight) }
"""
SCALED = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[1,4,64] q, float[1,64,4] k, float[1,4,64] v) => (float[1,4,64] y)
< float scale = {0.01} >
{ [qk] s = MatMul(q, k) [scaling] t = Mul(s, scale) [sm] p = Softmax(t) [pv] y = MatMul(p, v) }
"""


def evaluated(model: onnx.ModelProto, **feeds: np.ndarray) -> np.ndarray:
    """Return the first output."""
    outputs: Any = ReferenceEvaluator(model).run(None, feeds)
    return np.asarray(outputs[0])


def rewritten(path: Path, kept: dict[str, float], greatest: dict[str, float]) -> onnx.ModelProto:
    """Return a model with all proposed rewrites."""
    session = ConversionSession(ConversionRequest(path))
    found = proposals(session.model, kept, greatest)
    assert found
    apply_to(session.source, session.model, found, path.with_name("rewritten.onnx"))
    model = onnx.load(path.with_name("rewritten.onnx"))
    onnx.checker.check_model(model, full_check=True)
    return model


def test_a_power_of_two_keeps_the_results(tmp_path: Path) -> None:
    path = saved(LARGE, tmp_path / "m.onnx", None)
    model = rewritten(path, {"product": 0}, {"a": 1e6})
    assert [node.op_type for node in model.graph.node] == ["Mul", "MatMul", "Mul", "LpNormalization"]
    feeds = {name: np.random.default_rng(0).standard_normal((1, 8, 8)).astype(np.float32) for name in "xz"}
    assert (evaluated(model, **feeds) == evaluated(onnx.load(path), **feeds)).all()


def test_each_operand_beyond_the_range_is_scaled(tmp_path: Path) -> None:
    model = rewritten(saved(LARGE, tmp_path / "m.onnx", None), {"product": 0}, {"x": 1e6, "z": 1e5})
    assert [node.op_type for node in model.graph.node][:4] == ["Mul", "Mul", "MatMul", "Mul"]


def test_a_bias_is_scaled_with_its_product(tmp_path: Path) -> None:
    path = saved(BIASED, tmp_path / "m.onnx", (8, 8, 1, 1))
    model = rewritten(path, {"conv": 0}, {"a": 1e7})
    x = np.random.default_rng(0).standard_normal((1, 8, 8, 8)).astype(np.float32)
    assert np.allclose(evaluated(model, x=x), evaluated(onnx.load(path), x=x), rtol=1e-6)
    scaled = next(node for node in model.graph.node if node.op_type == "Conv")
    assert "b" not in scaled.input


def test_the_scale_of_attention_goes_to_q(tmp_path: Path) -> None:
    model = rewritten(saved(SCALED, tmp_path / "m.onnx", None), {"qk": 0}, {"s": 1e5})
    assert [node.op_type for node in model.graph.node] == ["Mul", "MatMul", "Softmax", "MatMul"]


def test_scores_that_stay_beyond_the_range_get_a_power_of_two(tmp_path: Path) -> None:
    model = rewritten(saved(SCALED, tmp_path / "m.onnx", None), {"qk": 0}, {"s": 1e8, "t": 1e6})
    assert [node.op_type for node in model.graph.node][:3] == ["Mul", "MatMul", "Mul"]


def test_a_mask_gets_numbers_of_fp16(tmp_path: Path) -> None:
    path = saved(MASKED, tmp_path / "m.onnx", None)
    model = rewritten(path, {"sm": 0}, {})
    lowest = min(float(onnx.numpy_helper.to_array(each).min()) for each in model.graph.initializer)
    assert lowest == pytest.approx(-6e4)


def test_nothing_is_proposed_for_what_is_not_kept(tmp_path: Path) -> None:
    session = ConversionSession(ConversionRequest(saved(LARGE, tmp_path / "m.onnx", None)))
    assert proposals(session.model, [], {"a": 1e6}) == []
    assert proposals(session.model, ["product"], {"a": 1e4}) == []


def conversion(path: Path, **arrays: np.ndarray) -> PendingConversion:
    """Convert a model with one measured batch."""
    given: dict[str, Any] = {**arrays}
    np.savez(path.with_name("in.npz"), **given)
    _, draft = run(
        ConversionRequest(path, inputs=Inputs((str(path.with_name("in.npz")),))), path.with_name("out.onnx")
    )
    return draft


def test_a_product_beyond_the_range_computes_in_fp16(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path = saved(LARGE, tmp_path / "m.onnx", None)
    numbers = np.random.default_rng(0).standard_normal((2, 1, 8, 8)).astype(np.float32) * 1000
    draft = conversion(path, x=numbers[0], z=numbers[1])
    assert draft.conversion.share == 1.0
    (rewrite,) = draft.conversion.rewrites
    assert rewrite.startswith("scales the operands of product by 2^-")
    assert (tmp_path / "out.onnx").exists()


def test_a_rewrite_that_does_not_help_is_left_out(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    text = LARGE.replace("[norm] y = LpNormalization<axis: int = -1, p: int = 2>(a)", "y = Sub(a, c)")
    text = text.replace("{ [product]", "< float c = {1e6} > { [product]")
    path = saved(text, tmp_path / "m.onnx", None)
    x = np.full((1, 8, 8), 1000, np.float32) + np.arange(8, dtype=np.float32) / 64
    z = np.full((1, 8, 8), 125, np.float32)
    draft = conversion(path, x=x, z=z)
    assert draft.conversion.share == 0.0
    assert draft.conversion.rewrites == ()
    assert draft.source.proto.graph.node[0].name == "product"


def test_a_product_that_is_infinite_in_fp32_stays(tmp_path: Path) -> None:
    model = ConversionSession(ConversionRequest(saved(LARGE, tmp_path / "m.onnx", None))).model
    assert proposals(model, {"product"}, {"a": float("inf")}) == []
    assert proposals(model, {"product"}, {"a": 1e6})


POWERS = """< ir_version: 8, opset_import: ["" : 17] >
g (float[2,4] x, float[4,3] z, float[3] c, float[1,4,5,5] i, float16[2,4] h, float16[4,3] k) => (float[] y)
< float[4,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}, float[2,4,1,1] f = {1, 2, 3, 4, 5, 6, 7, 8},
  float[2] b = {1, 2} > { [p] a = %s y = Neg (a) }"""
SCALES = "scales the operands of p by 2^-{0} in all, and the result by 2^{0}"


def powers(call: str, **greatest: float) -> tuple[str, dict[str, int]]:
    """Return the title of the only rewrite, and the power of two of each scaled value."""
    found = proposals(model_of(POWERS % call), ["p"], greatest)
    if not found:
        return "", {}
    (rewrite,) = found
    assert rewrite.node == "p"
    numbers = {tensor.name: tensor for tensor in rewrite.patch.initializers}
    return rewrite.patch.title, {
        node.input[0] if index < len(rewrite.patch.insert) - 1 else node.output[0]: round(
            np.log2(onnx.numpy_helper.to_array(numbers[node.input[1]]).item())
        )
        for index, node in enumerate(rewrite.patch.insert)
        if node.op_type == "Mul"
    }


@pytest.mark.parametrize(
    ("call", "greatest", "scaled"),
    [
        ("MatMul (x, z)", {"a": 32752.0}, {}),
        ("MatMul (x, z)", {"a": 32753.0, "x": 2.0, "z": 1.0}, {"x": -2, "a": 2}),
        ("MatMul (x, z)", {"a": 32753.0, "x": 1.0, "z": 2.0}, {"z": -2, "a": 2}),
        ("MatMul (x, z)", {"a": 65536.0}, {"x": -3, "a": 3}),
        ("MatMul (x, z)", {"a": 65537.0}, {"x": -4, "a": 4}),
        ("MatMul (x, z)", {"x": 65536.0}, {"x": -3, "a": 3}),
        ("MatMul (x, z)", {"x": 65536.0, "z": 131072.0}, {"x": -3, "z": -4, "a": 7}),
        ("MatMul (x, z)", {"x": 65536.0, "a": 65536.0}, {"x": -3, "a": 3}),
        ("MatMul (x, z)", {"x": 65536.0, "a": 131072.0}, {"x": -4, "a": 4}),
        ("MatMul (x, z)", {"x": 1.0, "z": 65536.0, "a": 2.0**18}, {"z": -5, "a": 5}),
        ("MatMul (x, w)", {"x": 1.0, "w": 100.0, "a": 65536.0}, {"x": -3, "a": 3}),
        ("MatMul (x, z)", {"a": 2.0**43}, {"x": -30, "a": 30}),
        ("MatMul (x, z)", {"a": 2.0**43 * 1.1}, {}),
        ("MatMul (x, z)", {"a": float("inf")}, {}),
        ("MatMul (x, z)", {"x": float("nan"), "a": 1e5}, {}),
        ("MatMul (h, k)", {"a": 65536.0}, {}),
        ("Gemm (x, z, c)", {"a": 65536.0}, {"x": -3, "c": -3, "a": 3}),
        ("Gemm (x, z)", {"a": 65536.0}, {"x": -3, "a": 3}),
        ("Conv (i, f, b)", {"a": 65536.0}, {"i": -3, "b": -3, "a": 3}),
        ('Einsum <equation = "ij,jk->ik"> (x, z)', {"a": 65536.0}, {"x": -3, "a": 3}),
        ('Einsum <equation = "ij,jk,k->ik"> (x, z, c)', {"a": 65536.0}, {"x": -3, "a": 3}),
        ('Einsum <equation = "ij->i"> (x)', {"a": 65536.0}, {}),
    ],
)
def test_operands_are_scaled_by_powers_of_two(
    call: str, greatest: dict[str, float], scaled: dict[str, int]
) -> None:
    title = SCALES.format(scaled["a"]) if scaled else ""
    assert powers(call, **greatest) == (title, scaled)


@pytest.mark.parametrize(
    ("mask", "clamped"),
    [
        ("-3.4e38, 0, 0, 0", True),
        ("0, 0, 0, 3.4e38", True),
        ("1, 1, 1, 3.4e38", True),
        ("-3.4e38, -1, -1, -1", True),
        ("-65505, 0, 0, 1", True),
        ("-65504, 0, 0, 1", False),
        ("-1, 0, 0, 65505", True),
        ("-1, 0, 0, 65504", False),
    ],
)
def test_masks_beyond_fp16_are_clamped(mask: str, clamped: bool) -> None:
    model = model_of(
        f"""< ir_version: 8, opset_import: ["" : 17] >
        g (float[1,4,8] q, float[1,8,4] k, float[1,4,8] v) => (float[1,4,8] y)
        < float[1,1,4] mask = {{{mask}}} >
        {{ [qk] s = MatMul(q, k) t = Add(s, mask) [sm] p = Softmax(t) [pv] y = MatMul(p, v) }}"""
    )
    found = proposals(model, ["sm"], {})
    assert [each.node for each in found] == (["sm"] if clamped else [])
    assert proposals(model, ["pv"], {}) == []


@pytest.mark.parametrize(
    ("greatest", "count"), [({"s": 1e5}, 1), ({"s": 1e5, "t": 32752.0}, 1), ({"s": 1e5, "t": 32753.0}, 0)]
)
def test_the_scale_goes_to_q_if_the_scores_fit_then(greatest: dict[str, float], count: int) -> None:
    found = proposals(model_of(SCALED), ["qk"], greatest)
    titles = [each.patch.title for each in found]
    assert sum("2^" not in title for title in titles) == count


def test_rewrites_change_different_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model has at most 1000 rewrites. Rewrites of attention come first."""
    model = model_of_bodies(["a = Neg (x)  b = Neg (a)  y = Neg (b)"], "float[2] x")
    first, second, third = model.graph.nodes

    def rewrite(name: str, *touched: object) -> rewriting.ProductRewrite:
        patch: Any = SimpleNamespace(touched=touched)
        return rewriting.ProductRewrite(name, patch)

    found = {
        "_attention": [rewrite("attention", first)],
        "_splits": [rewrite("covered", second, first), rewrite("split", second)],
        "_powers": [rewrite("covered", second), rewrite("power", third)],
    }
    for function, rewrites in found.items():
        monkeypatch.setattr(rewriting, function, lambda *_, own=rewrites: iter(own))
    assert [each.node for each in proposals(model, [], {})] == ["attention", "split", "power"]
    many = [rewrite(str(index), index) for index in range(1001)]
    for function in found:
        monkeypatch.setattr(rewriting, function, lambda *_, own=many if function == "_powers" else []: own)
    assert proposals(model, [], {}) == many[:1000]
