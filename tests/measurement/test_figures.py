"""Tests of the statistics that a rewritten model computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.measurement.written import Graph
from trtlint.measurement.formats import BF16, FP16, Format
from trtlint.measurement.narrowing import SecondLook
from trtlint.measurement.probing import Figures, look
from trtlint.measurement.writing import GraphWriter


class Expressions(GraphWriter):
    """A writer with expressions as names."""

    def add(self, op: str, inputs: Sequence[str], result: str = "", **attributes: Any) -> str:
        return f"{op}({', '.join([*inputs, *(f'{name}={value}' for name, value in attributes.items())])})"

    def constant(self, values: Any, dtype: Any = np.float32) -> str:
        return str(np.asarray(values, dtype).tolist())


@pytest.mark.parametrize(
    ("narrow", "operators"), [(False, ["ReduceMax", "ReduceMin", "ReduceL1"]), (True, ["ReduceL1"])]
)
def test_the_statistics_of_a_tensor_are_side_by_side(narrow: bool, operators: list[str]) -> None:
    figures = Figures(narrow, None, Expressions(17))
    assert figures.each == len(operators)
    assert [figures.measure("x"), figures.measure("wide", double=True), figures.measure("y")] == [0, 1, 2]
    assert figures.names == [
        f"Reshape({op}({name}, keepdims=0), [1])"
        for name in ("x", "Cast(wide, to=1)", "y")
        for op in operators
    ]


@pytest.mark.parametrize("narrow", [False, True])
def test_a_second_look_has_other_statistics(narrow: bool) -> None:
    figures = Figures(narrow, SecondLook(frozenset("x"), FP16), Expressions(17))
    assert (figures.each, figures.measure("x"), figures.measure("y")) == (3, 0, 1)
    assert figures.names == [
        f"Reshape({result}, [1])" for name in "xy" for result in look(name, FP16, Expressions(17))
    ]


@pytest.mark.parametrize("opset", [8, 9, 17])
@pytest.mark.parametrize(
    ("numbers", "format_", "expected"),
    [
        ([0.0, 1.0, -65520.0, 65519.0], FP16, [0.25, 0.0, 1.0]),
        ([0.0, 2.0**-25, -(2.0**-25), 2.0**-24, 3.0], FP16, [0.0, 0.4, 2.0**-25]),
        ([0.0, 0.0], FP16, [0.0, 0.0, np.inf]),
        ([1e30, -5.0], BF16, [0.0, 0.0, 5.0]),
    ],
)
def test_shares_beyond_the_range(
    opset: int, numbers: list[float], format_: Format, expected: list[float]
) -> None:
    graph = Graph(opset, x=1)
    names = look("x", format_, graph)
    found = graph.run(names, x=np.array(numbers, np.float32))
    assert [(each.shape, each.item()) for each in found] == [((), pytest.approx(each)) for each in expected]
