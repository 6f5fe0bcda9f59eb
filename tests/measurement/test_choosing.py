"""Tests of outputs whose elements an operator chooses by value."""

# ruff: noqa: E501 - a graph, a message or a case in one line is read at once

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from tests.inprocess import printed
from tests.measurement.test_compared import model_of
from trtlint.measurement.choosing import choosers, sentence
from trtlint.model.load import load

TOPK = "a = MatMul (x, w) s = ReduceMax <axes = [1], keepdims = 0> (a) [top] v, i = TopK (s, two)"


@pytest.mark.parametrize(
    ("body", "outputs", "expected"),
    [
        (f"{TOPK} y = Gather (a, i)", "float[2,8] y", (("top",), ("y",))),
        (f"{TOPK} g = Gather (a, i) y = MatMul (g, w) z = Neg (a)", "float[2,8] y, float[4,8] z", (("top",), ("y",))),
        (f"{TOPK} g = Gather (a, i) [last] u, j = TopK (g, two) y = GatherElements <axis = 1> (g, j)", "float[2,2] y", (("top", "last"), ("y",))),
        (f"{TOPK} y = Neg (v)", "float[2] y", ((), ())),
        (f"{TOPK} n = Shape (i) y = Cast <to = 1> (n)", "float[1] y", ((), ())),
        (f"{TOPK} y = Gather (a, i) z = Identity (i)", "int64[2] z", ((), ())),
        ("y = Neg (x)", "float[4,8] y", ((), ())),
    ],
)  # fmt: skip
def test_choosers(body: str, outputs: str, expected: object, tmp_path: Path) -> None:
    onnx.save(model_of(body, outputs), tmp_path / "m.onnx")
    graph = load(tmp_path / "m.onnx").graph
    assert choosers(graph) == expected
    assert bool(sentence(graph)) is bool(expected[1])


# The scores are so close that FP16 chooses another order, as at the end of a detector:
# https://github.com/Intellindust-AI-Lab/DEIMv2
CLOSE = """s = ReduceSum <keepdims = 0> (x, axes) t = Mul (s, small) u = Add (t, one)
[top] v, i = TopK (u, k) y = Gather (x, i)"""
HEAD = """< ir_version: 8, opset_import: ["" : 17] > g (float[64,8] x) => (float[64,8] y)
< int64[1] axes = {1}, float small = {0.00001}, float one = {1}, int64[1] k = {64} >"""


def test_the_note_of_a_measurement_and_of_a_conversion(tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model(f"{HEAD} {{ {CLOSE} }}"), tmp_path / "m.onnx")
    note = "after rounding, these operators can choose other elements or another order: top"
    assert note in " ".join(printed(tmp_path, "measure", "m.onnx").out.split())
    convert = ("convert", "m.onnx", "--to", "fp16", "--dry-run")
    converted = " ".join(printed(tmp_path, *convert).out.split())
    assert note in converted
    assert "try BF16" not in converted
    assert note not in " ".join(printed(tmp_path, *convert, "--tolerance", "4").out.split())
