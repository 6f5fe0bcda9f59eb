"""Functions of the language about readers of values."""

from __future__ import annotations

import pytest

from tests.graphs import model_of
from trtlint.language.flowfunctions import _refused_if_empty
from trtlint.language.graphfunctions import _one_scale

HEAD = '< ir_version: 8, opset_import: ["" : 17] > g '


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        ("y = Slice (x, v, v)", True),
        ("y = Pad (x, v)", True),
        ("y = Squeeze (x, v)", False),
        ("y = Squeeze (o, v)", True),
        ("y = Neg (x)", False),
        ("s = Slice (x, v, v)  y = Reshape (x, v)", False),
    ],
)
def test_lists_that_no_reader_takes_empty(body: str, refused: bool) -> None:
    for result, expected in ("float[A] y", refused), ("float[A] y, int64[1] v", False):
        text = f"(float[1,4] x, float[N,4] o, int64[1] i) => ({result}) {{ v = Abs (i)  {body} }}"
        (value,) = (node.output for node in model_of(HEAD + text).graph.nodes if node.output.name == "v")
        assert _refused_if_empty(None, (value,)) is expected


@pytest.mark.parametrize(
    ("scale", "one"), [("float", True), ("float[1]", True), ("float[4]", False), ("float[1,4]", False)]
)
def test_tensors_of_one_scale(scale: str, one: bool) -> None:
    text = f"(int8[2,4] x, {scale} s) => (float[2,4] y) {{ v = Identity (x)  y = DequantizeLinear (v, s) }}"
    model = model_of(HEAD + text)
    assert _one_scale(None, model.graph.nodes[1].output) is one
    assert _one_scale(None, model.graph.nodes[0].output) is None
