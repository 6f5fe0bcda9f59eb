"""Tests of rewrites near unusual attributes, sizes and numbers."""

from __future__ import annotations

import onnx

from tests.fixes.proposing import outcome, proposal, small
from trtlint.fixes.patch import Draft, NotApplicable


def test_an_empty_list_of_axes_is_written() -> None:
    model = small("(float[2,4] x) => (float[2,4] y) { y = Neg (x) }")
    draft = Draft(model, model.graph.nodes[0])
    draft.op("ReduceMean", "x", axes=[], keepdims=0)
    (node,) = draft.patch("", []).insert
    assert {each.name: (each.type, list(each.ints)) for each in node.attribute} == {
        "axes": (onnx.AttributeProto.INTS, []),
        "keepdims": (onnx.AttributeProto.INT, []),
    }


def test_a_resize_that_changes_the_rank_is_refused() -> None:
    text = """(float[1,1,3,4,4] x) => (float[1,3,2,2] y) < int64[4] sizes = {1, 3, 2, 2} > {
    y = Resize <mode = "linear", antialias = 1> (x, , , sizes) }"""
    assert isinstance(proposal("resize-by-gather", text, "y", 18), NotApplicable)


def test_a_scale_of_zero_is_refused() -> None:
    text = """(uint8[2,3] x) => (uint8[2,4] y)
    < float s = {0.5}, uint8 z = {0}, uint8[3,4] w = {1,2,3,4,5,6,7,8,9,10,11,12}, float o = {%s} > {
    y = QLinearMatMul (x, s, z, w, s, z, o, z) }"""
    assert outcome("write-out-quantized", text % 0, "y", 18) == "the scale is 0 or not finite"
    assert "scale" not in outcome("write-out-quantized", text % 2, "y", 18)
