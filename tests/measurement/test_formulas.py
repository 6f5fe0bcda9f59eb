"""Tests of expanded operators as expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest

from tests.graphs import model_of
from trtlint.measurement.formulas import FORMULAS, ROUNDED
from trtlint.measurement.writing import FormulaWriter


class Expressions:
    """A writer with expressions as names; ``<>`` marks rounded numbers and their report names."""

    def __init__(self, opset: int) -> None:
        self.opset = opset

    def add(self, op: str, inputs: Sequence[str], **attributes: Any) -> str:
        return f"{op}({', '.join([*inputs, *(f'{name}={value}' for name, value in attributes.items())])})"

    def add_copy(self, proto: Any, inputs: Sequence[str], node: Any = None) -> list[str]:
        assert node.proto == proto
        return [self.add(proto.op_type, inputs)]

    def constant(self, values: Any, dtype: Any = np.float32) -> str:
        return str(np.asarray(values, dtype).tolist())

    def step(self, node: Any, name: str, what: str = "") -> str:
        return f"<{what}: {name}>" if what else f"<{name}>"


def expression(opset: int, call: str) -> str | None:
    """Return the expanded form of an operator, or None for an unchanged operator."""
    (node,) = model_of(
        f"""< ir_version: 7, opset_import: ["" : {opset}] >
        g (float[2,4] x, float[4,3] w, float[3] b, float[1,4,5,5] i, float[2,4,3,3] k, float[2] c, float[] n)
        => (float[] y) < int64[1] axes = {{1}} > {{ y = {call} }}"""
    ).graph.nodes
    formula = {**FORMULAS, **ROUNDED}[node.op]
    names = ["" if value is None else value.name for value in node.inputs]
    return formula(node, names, cast("FormulaWriter", Expressions(opset)))


def mean(total: str) -> str:
    return f"Div(<sum: {total}>, Div(Cast(Size(x), to=1), Cast(Size(<sum: {total}>), to=1)))"


SQUARE = "<square: Mul(x, x)>"
NOOP = "noop_with_empty_axes"


def normalization(axes: str) -> str:
    norm = f"<Sqrt(<sum of squares: ReduceSum({SQUARE}, {axes}, keepdims=1)>)>"
    return f"Div(x, Add({norm}, Cast(Not(Greater({norm}, 0.0)), to=1)))"


def softmax(axes: str, greatest: str) -> str:
    powers = f"<Exp(<Sub(x, ReduceMax(x, {greatest}, keepdims=1))>)>"
    return f"Div({powers}, <ReduceSum({powers}, {axes}, keepdims=1)>)"


@pytest.mark.parametrize(
    ("opset", "call", "expected"),
    [
        (12, "ReduceMean <axes = [1]> (x)", mean("ReduceSum(x, keepdims=1, axes=[1])")),
        (12, "ReduceMean <keepdims = 0> (x)", mean("ReduceSum(x, keepdims=0)")),
        (13, "ReduceMean <axes = [1]> (x)", mean("ReduceSum(x, [1], keepdims=1)")),
        (17, "ReduceMean <keepdims = 0> (x)", mean("ReduceSum(x, keepdims=0)")),
        (18, "ReduceMean (x)", mean(f"ReduceSum(x, keepdims=1, {NOOP}=0)")),
        (
            18,
            f"ReduceMean <keepdims = 0, {NOOP} = 1> (x, axes)",
            mean(f"ReduceSum(x, axes, keepdims=0, {NOOP}=1)"),
        ),
        (17, "ReduceL2 <axes = [0, 1]> (x)",
         f"Sqrt(<sum of squares: ReduceSum({SQUARE}, [0, 1], keepdims=1)>)"),
        (18, "ReduceSumSquare (x, axes)",
         f"<sum of squares: ReduceSum({SQUARE}, axes, keepdims=1, {NOOP}=0)>"),
        (17, "ReduceLogSum <axes = [1]> (x)", "Log(<sum: ReduceSum(x, [1], keepdims=1)>)"),
        (12, "LpNormalization <axis = 0> (x)", normalization("axes=[0]")),
        (13, "LpNormalization (x)", normalization("[-1]")),
        (13, "LpNormalization <p = 2> (x)", normalization("[-1]")),
        (13, "LpNormalization <p = 1> (x)", None),
        (12, "Softmax (x)", None),
        (13, "Softmax (x)", softmax("[-1]", "axes=[-1]")),
        (17, "Softmax <axis = 0> (x)", softmax("[0]", "axes=[0]")),
        (18, "Softmax (x)", softmax("[-1]", "[-1]")),
        (17, "MatMul (x, w)", "MatMul(x, w)"),
        (10, "Gemm (x, w, b)", "Add(<Gemm(x, w, 0.0)>, b)"),
        (11, "Gemm (x, w, b)", "Add(<Gemm(x, w)>, b)"),
        (17, "Gemm (x, w)", "Gemm(x, w)"),
        (17, 'Gemm (x, w, "")', "Gemm(x, w, )"),
        (17, "Gemm <beta = 1.0> (x, w, b)", "Add(<Gemm(x, w)>, b)"),
        (17, "Gemm <beta = 2.0> (x, w, b)", None),
        (17, "Gemm <beta = 0.5> (x, w)", "Gemm(x, w)"),
        (17, "Conv (i, k)", "Conv(i, k)"),
        (17, 'Conv (i, k, "")', "Conv(i, k, )"),
        (17, "Conv (i, k, c)", "Add(<Conv(i, k)>, Reshape(c, [-1, 1, 1]))"),
        (17, "Conv (i, n, c)", None),
        (17, "ConvTranspose (i, k, c)", "Add(<ConvTranspose(i, k)>, Reshape(c, [-1, 1, 1]))"),
    ],
)  # fmt: skip
def test_operators_as_expressions(opset: int, call: str, expected: str | None) -> None:
    assert expression(opset, call) == expected
