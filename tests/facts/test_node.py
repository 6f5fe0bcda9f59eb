"""Tests of facts about single operators, graph inputs and outputs, and the whole model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.graphs import facts_of
from tests.sampling import sample
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.graph_io import GraphIO
from trtlint.facts.of_model.model import ModelFact
from trtlint.facts.of_model.node import NodeFact
from trtlint.model.load import load

SMALL = """
< ir_version: 8, opset_import: ["" : 20] >
g (float[N,3,8,8] x, float[1,8,8,2] grid) => (float[N,3,8,8] y)
{
  c = Constant <value = float[2] {1, 2}> ()
  a = GridSample <mode = "linear"> (x, grid)
  y = GridSample (a, grid)
}
"""


def nodes(text: str) -> list[NodeFact]:
    return [fact for fact in facts_of(text).of("node") if isinstance(fact, NodeFact)]


def test_attributes_that_are_written_are_told_from_those_left_out() -> None:
    constant, first, second = nodes(SMALL)
    assert first.attributes["mode"] == "linear"
    assert "mode" in first.attributes
    assert "mode" not in second.attributes
    assert len(second.attributes) == 0
    with pytest.raises(KeyError):
        second.attributes["mode"]
    assert dict(constant.attributes) == {"value": "f32[2]"}


def test_types_of_inputs_and_outputs() -> None:
    first = nodes(SMALL)[1]
    assert [value.type_text for value in first.inputs if value] == ["f32[N,3,8,8]", "f32[1,8,8,2]"]
    assert first.outputs[0].dtype == "f32"


def test_nodes_of_bodies_are_stated_too() -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (bool cond, float[4] x) => (float[4] y)
    {
      y = If (cond) <
        then_branch = t () => (float[4] a) { a = Relu (x) },
        else_branch = e () => (float[4] b) { b = Abs (x) }
      >
    }
    """
    assert sorted(fact.op for fact in nodes(text)) == ["Abs", "If", "Relu"]


def test_ends_of_the_graph() -> None:
    ends = [fact for fact in facts_of(SMALL).of("graph_io") if isinstance(fact, GraphIO)]
    assert [(end.name, end.direction, end.dynamic, end.readers) for end in ends] == [
        ("x", "input", (0,), 1),
        ("grid", "input", (), 2),
        ("y", "output", (), 0),
    ]
    assert ends[0].shape == ("N", 3, 8, 8)
    assert [end.node.op for end in ends if end.node] == ["GridSample"] * 3


def model_of(facts: Facts) -> ModelFact:
    (fact,) = facts.of("model")
    assert isinstance(fact, ModelFact)
    return fact


def products(*types: str) -> str:
    """Return a graph with one product of each type."""
    inputs = ", ".join(f"{dtype}[4,4] x{i}" for i, dtype in enumerate(types))
    outputs = ", ".join(f"{dtype}[4,4] y{i}" for i, dtype in enumerate(types))
    body = " ".join(f"y{i} = MatMul (x{i}, x{i})" for i in range(len(types)))
    return f'< ir_version: 8, opset_import: ["" : 17] > g ({inputs}) => ({outputs}) {{ {body} }}'


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (["float"], "f32"),
        (["float16"], "f16"),
        (["bfloat16"], "bf16"),
        (["float16", "float"], "mixed"),
        (["float16", "float16", "float16", "float"], "f16"),
    ],
)
def test_float_type(types: list[str], expected: str) -> None:
    assert model_of(facts_of(products(*types))).float_type == expected


def test_float_type_of_integers() -> None:
    assert model_of(facts_of(products("int32"))).float_type is None


@pytest.mark.parametrize(("shape", "dynamic"), [("", False), ("[]", True), ("[4]", False), ("[N,4]", True)])
def test_dynamic(shape: str, dynamic: bool) -> None:
    text = f"""
    < ir_version: 8, opset_import: ["" : 17] >
    g (float{shape} x) => (float{shape} y) {{ y = Relu (x) }}
    """
    assert model_of(facts_of(text)).dynamic is dynamic


def test_quantized() -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[4] x) => (float[4] y)
    < float scale = {0.1}, int8 point = {0} >
    { q = QuantizeLinear (x, scale, point) y = DequantizeLinear (q, scale, point) }
    """
    assert model_of(facts_of(text)).quantized
    assert not model_of(facts_of(SMALL)).quantized


@pytest.mark.slow
def test_exporter_of_exported_models(exported: Path) -> None:
    words = {"ts": "torchscript", "dynamo": "dynamo"}
    wrong = {
        path.stem: found
        for path in sample(sorted(exported.glob("*.onnx")))
        if (found := model_of(Facts(load(path))).exporter) != words[path.stem.split("__")[1]]
    }
    assert not wrong


@pytest.mark.parametrize(
    ("producer", "exporter"), [("tf2onnx 1.16", "tf2onnx"), ("onnx.quantize 0.1", "other")]
)
def test_exporter_by_producer(producer: str, exporter: str) -> None:
    name, version = producer.split()
    head = f'ir_version: 8, opset_import: ["" : 20], producer_name: "{name}", producer_version: "{version}"'
    assert (
        model_of(facts_of(SMALL.replace('ir_version: 8, opset_import: ["" : 20]', head))).exporter == exporter
    )
