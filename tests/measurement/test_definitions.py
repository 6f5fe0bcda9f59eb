"""Tests of operators replaced by their definition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, cast

import pytest
from onnx import TensorProto, defs

from tests.graphs import model_of
from trtlint.measurement import definitions
from trtlint.measurement.writing import FormulaWriter

FLOAT, HALF, BRAIN = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16


class Expressions:
    """A writer with expressions as names; ``<>`` marks rounded numbers."""

    def __init__(self, opset: int) -> None:
        self.opset = opset

    def add_copy(self, proto: Any, inputs: Sequence[str]) -> list[str]:
        return [f"{proto.op_type}({', '.join(inputs)})"] * len(proto.output)

    def step(self, node: Any, name: str, what: str) -> str:
        return f"<{what}: {name}>"


def expression(opset: int, call: str, type_: int) -> str | None:
    (node,) = model_of(
        f'< ir_version: 8, opset_import: ["" : {opset}] > g (float[2,4] x) => (float[] y) {{ y = {call} }}'
    ).graph.nodes
    write = cast("FormulaWriter", Expressions(opset))
    return definitions.definition(node, ["name"], [type_], write)


@pytest.mark.parametrize(
    ("opset", "call", "type_", "expected"),
    [
        (17, "HardSwish (x)", HALF, "Mul(name, <HardSigmoid: HardSigmoid(name)>)"),
        (17, "HardSwish (x)", FLOAT, "Mul(name, HardSigmoid(name))"),
        (22, "HardSwish (x)", BRAIN, "Mul(name, <HardSigmoid: HardSigmoid(name)>)"),
        (13, "HardSwish (x)", HALF, None),
        (18, "Mish (x)", HALF, "Mul(name, <Tanh: Tanh(<Softplus: Softplus(name)>)>)"),
        (18, "Mish (x)", FLOAT, "Mul(name, Tanh(Softplus(name)))"),
        (17, "Sqrt (x)", HALF, None),
    ],
)
def test_definitions_as_expressions(opset: int, call: str, type_: int, expected: str | None) -> None:
    assert expression(opset, call, type_) == expected


@pytest.mark.parametrize("error", [defs.SchemaError, RuntimeError, ValueError])
def test_an_operator_without_a_usable_definition_stays(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def function(*_: object) -> NoReturn:
        raise error

    monkeypatch.setattr(definitions, "_function", function)
    assert expression(18, "Mish (x)", HALF) is None
