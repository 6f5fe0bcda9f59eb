"""Constant folding and sizes of operands that no valid model has: unknown, never a crash."""

from __future__ import annotations

from tests.graphs import model_of
from trtlint.model.sizes import slice_shape


def test_more_axes_than_numpy_holds_are_unknown() -> None:
    sizes = ", ".join(["1"] * 70)
    text = f"""< ir_version: 8, opset_import: ["" : 17] > g (float[2] x) => (float y)
    < int64[70] s = {{{sizes}}}, int64 one = {{1}} > {{ e = Expand (one, s)  y = Cast <to = 1> (e) }}"""
    model = model_of(text)
    value = model.graph.resolve("e")
    assert value is not None
    assert model.constants.array(value) is None


def test_an_axis_of_negative_size_is_unknown() -> None:
    assert slice_shape((-3, 4), [(1,), (2,), (0,), (1,)]) == (None, 4)
    assert slice_shape((3, 4), [(1,), (2,), (0,), (1,)]) == (1, 4)
