"""Tests that damaged and extreme models give facts, and no exception."""

from __future__ import annotations

import pytest

from tests.graphs import facts_of
from trtlint.facts.of_model.attention import Attention

HEAD = '< ir_version: 8, opset_import: ["" : 17, "foo" : 1] >'


@pytest.mark.parametrize(
    ("kind", "nodes"),
    [
        (
            "normalization",
            "a = foo.Sub () b = foo.Sub () s = Mul (a, b) v = ReduceMean <axes = [-1]> (s) r = Sqrt (v) "
            "y = Div (x, r)",
        ),
        ("normalization", "a = foo.Cast () y = LayerNormalization (a, x)"),
        ("rejection", "q = foo.Transpose <perm = [0, 2, 1, 3]> () y = Attention (q, x, x)"),
    ],
)
def test_an_operator_of_another_domain_needs_no_inputs(kind: str, nodes: str) -> None:
    opset = 23 if "Attention" in nodes else 17
    facts = facts_of(
        f"{HEAD.replace('17', str(opset))} g (float[2,3,4,5] x) => (float[2,3,4,5] y) {{ {nodes} }}"
    )
    assert facts.of(kind) is not None


def test_a_permutation_beyond_the_rank_leaves_the_axes_unknown() -> None:
    (block,) = facts_of(
        f"""{HEAD} g (float x, float k, float w) => (float y) {{
        t = Transpose <perm = [0, 1]> (x) q = Transpose <perm = [0, 100, 200, 300]> (t)
        s = MatMul (q, k) p = Softmax <axis = -1> (s) y = MatMul (p, w) }}"""
    ).of("attention")
    assert isinstance(block, Attention)
    assert block.layout is None


@pytest.mark.parametrize(
    ("kind", "field", "expected", "nodes"),
    [
        ("sum_of_squares", "magnitude", 0.0, "s = Mul (h, h) t = ReduceSum (s) y = Cast <to = 1> (t)"),
        ("foldable", "growth", None, "c = Expand (one, sizes) n = Neg (c) y = Add (n, x)"),
        ("cost", "intensity", None, "y = Conv (x, x)"),
    ],
)
def test_sizes_beyond_the_largest_float(kind: str, field: str, expected: object, nodes: str) -> None:
    dims = ",".join([str(2**61)] * 20)
    (fact,) = facts_of(
        f"""{HEAD} g (float[{dims}] x, float16[{dims}] h) => (float[{dims}] y)
        < float[1] one = {{1}}, int64[20] sizes = {{{dims}}} > {{ {nodes} }}"""
    ).of(kind)
    assert getattr(fact, field) == expected
