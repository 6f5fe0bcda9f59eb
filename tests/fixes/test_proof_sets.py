"""Tests of the combined verdict on the input sets of a proof."""

from __future__ import annotations

from tests.fixes.proving import prove
from tests.graphs import model_of
from trtlint.fixes.patch import Draft

TINY = """< ir_version: 8, opset_import: ["" : 17] > g (float16[16] x) => (float16[16] y)
< float16 tiny = {3072} > { y = Add (x, tiny) }"""
"""Adds 2 ** -12."""


def test_half_precision_that_is_worse_on_one_set_of_inputs_counts() -> None:
    """Next to one, the small number vanishes: it is the whole result only for zero inputs."""
    model = model_of(TINY)
    (node,) = model.graph.by_op("Add")
    draft = Draft(model, node)
    one, x, tiny = draft.like(1.0, "f16"), node.inputs[0], node.inputs[1]
    draft.op("Sub", draft.op("Add", draft.op("Add", x, one), tiny), one, out="y")
    proof = prove(model, draft.patch("adds one in between", (node,)))
    assert proof.equal is False
    assert "FP16 error" in proof.words
    same = Draft(model, node)
    same.op("Add", tiny, x, out="y")
    assert prove(model, same.patch("swaps both", (node,))).equal is True
