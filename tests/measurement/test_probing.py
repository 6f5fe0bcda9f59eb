"""Tests of the tensors and internal numbers that a rewritten model measures."""

from __future__ import annotations

from pathlib import Path

import onnx

from tests.measurement.test_rewriting import written
from trtlint.measurement.formats import FP16
from trtlint.measurement.narrowing import STATISTICS, Narrowing, Probe, SecondLook

INSIDE = """(float[2,4] x, float[2] unused, int64[2] n) => (float[2,4] y, float[1,1] s, float[2] unused)
< float[4] w = {1, 2, 3, 4}, float[4] never = {1, 2, 3, 4}, float[2] c = {1, 2} >
{ [id] i = Identity (x) [mul] y = Mul (i, w) [norm] s = ReduceL2 (y) [fold] f = Neg (c) [end] e = Abs (f)
  [count] m = Add (n, n) }"""


def probe(node: str, op: str, tensor: str, column: int, inside: str = "") -> Probe:
    return Probe(node, op, tensor, column, narrow=True, inside=inside)


def test_the_tensors_that_are_measured(tmp_path: Path) -> None:
    found = written(tmp_path, INSIDE)
    assert found.probes == (
        probe("", "Constant", "w", 0),
        probe("", "Input", "x", 1),
        probe("", "Input", "unused", 2),
        probe("id", "Identity", "i", 1),
        probe("mul", "Mul", "y", 3),
        probe("norm", "ReduceL2", "s", 4, "square"),
        probe("norm", "ReduceL2", "s", 5, "sum of squares"),
        probe("norm", "ReduceL2", "s", 6),
        probe("end", "Constant", "e", 7),
    )
    assert found.figures == 3
    outputs = [info.name for info in onnx.ModelProto.FromString(found.data).graph.output]
    assert outputs == ["y", "s", "unused", STATISTICS]
    again = written(tmp_path, INSIDE, Narrowing(FP16))
    assert [each.tensor for each in again.probes if each.inside] == []
    assert again.figures == 1


def test_a_second_look_measures_some_tensors(tmp_path: Path) -> None:
    found = written(tmp_path, INSIDE, second=SecondLook(frozenset({"y", "s"}), FP16))
    assert found.probes == (probe("mul", "Mul", "y", 0), probe("norm", "ReduceL2", "s", 1))
    assert found.figures == 3
    assert written(tmp_path, INSIDE, probed=False).probes == ()
