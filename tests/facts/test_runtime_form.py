"""Tests of models from ONNX Runtime's tools: refused operators, their counts and first places."""

from __future__ import annotations

import pytest

from tests.graphs import facts_of
from trtlint.facts.of_model.runtime_form import RuntimeForm

HEAD = """< ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1] >
g (float[1,8] x) => (float[1,8] y)
< float s = {0.1}, uint8 z = {100}, int8[8,8] w = {1}, float[8,8] f = {} > { """
Q = "q = QuantizeLinear (x, s, z) "
D = "y = DequantizeLinear (q, s, z)"
SUM = "com.microsoft.QLinearAdd (q, s, z, q, s, z, s, z)"


def forms(body: str) -> list[RuntimeForm]:
    """Return the facts of a model."""
    return [fact for fact in facts_of(HEAD + body + "}").of("runtime_form") if isinstance(fact, RuntimeForm)]


@pytest.mark.parametrize(
    ("body", "form", "listed", "first", "shown"),
    [
        (Q + D, "asymmetric", "QuantizeLinear, DequantizeLinear", "q", "q y"),
        (
            f"b = Relu (x) {Q} a = {SUM} c = {SUM} e = com.microsoft.FastGelu (x) {D}",
            "operators",
            "QLinearAdd × 2, QuantizeLinear, FastGelu, DequantizeLinear",
            "q",
            "q a e y",
        ),
        (
            "e = com.microsoft.FastGelu (x) y = com.microsoft.FusedMatMul (e, f)",
            "optimised",
            "FastGelu, FusedMatMul",
            "e",
            "e y",
        ),
        (
            "e = com.microsoft.FastGelu (x) y = com.microsoft.SoftmaxGrad (e, x)",
            "training",
            "FastGelu, SoftmaxGrad",
            "e",
            "e y",
        ),
        (
            "q, qs, qz = DynamicQuantizeLinear (x) m = MatMulInteger (q, w) n = MatMulInteger (q, w) "
            "y = Cast <to = 1> (m)",
            "dynamic",
            "MatMulInteger × 2, DynamicQuantizeLinear",
            "q",
            "q m",
        ),
        (
            f"e = com.microsoft.FastGelu (x) a = com.microsoft.BiasGelu (e, x) {Q} "
            "b = com.microsoft.QuickGelu (a) c = com.microsoft.FusedMatMul (b, f) "
            "d = com.microsoft.FusedGemm (c, f, x) h = com.microsoft.QLinearSigmoid (q, s, z, s, z) "
            "i = com.microsoft.FastGelu (c) y = DequantizeLinear (h, s, z)",
            "operators",
            "FastGelu × 2, BiasGelu, QuantizeLinear, QuickGelu, FusedMatMul, FusedGemm and 2 more",
            "e",
            "e a q b c d",
        ),
    ],
)
def test_forms(body: str, form: str, listed: str, first: str, shown: str) -> None:
    (found,) = forms(body)
    assert (found.form, found.listed) == (form, listed)
    assert found.node is not None
    assert (found.node.output.name, found.op) == (first, found.node.op)
    assert [step.node.output.name for step in found.chain] == shown.split()
    assert found.refusal.op == found.op
    assert found.versions == found.applies == {"tensorrt": "", "tensorrt-rtx": ""}
    assert found.is_whole


def test_six_operators_are_all_listed() -> None:
    ops = ("FastGelu", "QuickGelu", "BiasGelu", "FusedMatMul", "FusedGemm", "Inverse")
    inputs = ("x", "x", "x, x", "x, f", "x, f, x", "f")
    nodes = (f"a{op} = com.microsoft.{op} ({given})" for op, given in zip(ops, inputs, strict=True))
    (found,) = forms(" ".join(nodes) + " y = Add (aInverse, aFusedGemm)")
    assert found.listed == ", ".join(ops)


def test_the_counts_of_a_form() -> None:
    (found,) = forms(f"{Q} a = {SUM} b = {SUM} c = {SUM} {D}")
    assert (found.count, found.operators) == (5, {"QuantizeLinear", "QLinearAdd", "DequantizeLinear"})
    assert found.consequences == found.operators


@pytest.mark.parametrize(
    "body",
    ["y = Relu (x)", "y = com.microsoft.FastGelu (x)", "e = com.microsoft.FastGelu (x) y = NonZero (e)"],
)
def test_one_refused_operator_is_no_form(body: str) -> None:
    assert forms(body) == []
