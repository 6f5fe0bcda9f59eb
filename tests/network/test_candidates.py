"""Tests of network tensors with a counterpart in the model."""

from __future__ import annotations

import onnx
import pytest

from trtlint.network.candidates import candidates
from trtlint.network.layers import Network, Tensor

MODEL = onnx.parser.parse_model(
    """<ir_version: 8, opset_import: ["" : 18, "my" : 1]>
    g (float[4] x, bool c) => (float[4] y, float[4] both) {
        a = Neg (x) b, = Split (a) inner = Abs (a) state = Abs (a) f = my.F (a) part = Neg (f) given = Neg (f)
        both = If (c) <
            then_branch = t () => (float[4] u) { inner = Neg (a) both = Abs (a) u = Neg (inner) },
            else_branch = e () => (float[4] v) { v = my.G (a) <body = h (float[4] state) => (float[4] w) {
                w = Neg (state) }> }>
        y = Neg (a) }
    <domain: "my", opset_import: ["" : 18]> F (given) => (out) { part = Neg (given) out = Abs (part) }"""
)


def found(*names: str, inputs: tuple[int, ...] = (), outputs: tuple[int, ...] = ()) -> list[int]:
    """Return the positions of the tensors that can be compared."""
    tensors = tuple(Tensor(name, "FLOAT") for name in names)
    matches = candidates(MODEL, Network((), tensors, inputs, outputs))
    assert all(names[place] == name for place, name in matches.items())
    return list(matches)


@pytest.mark.parametrize(
    ("names", "inputs", "outputs", "places"),
    [
        (("x", "a", "", "b", "other"), (0,), (), [1, 3]),
        (("a", "b"), (0,), (), [1]),
        (("a", "b", "a"), (), (), [1]),
        (("a", "a"), (), (1,), [1]),
        (("y", "a"), (), (), [1]),
        (("y", "a"), (), (0,), [0, 1]),
        (("y", "y"), (), (1,), [1]),
        (("both", "a"), (), (0,), [0, 1]),
        (("inner", "state", "u", "v", "w"), (), (), []),
        (("f", "part", "given", "out"), (), (), [0]),
        (("x", "c"), (), (0,), []),
    ],
)
def test_tensors_with_a_name_of_the_model(
    names: tuple[str, ...], inputs: tuple[int, ...], outputs: tuple[int, ...], places: list[int]
) -> None:
    assert found(*names, inputs=inputs, outputs=outputs) == places
