"""Tests that damaged and extreme models give facts, and no exception."""

from __future__ import annotations

import pytest

from tests.graphs import facts_of

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
