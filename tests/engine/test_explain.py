"""Tests of the reasons why a rule did not fire at a node."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.rules import make_rule
from tests.graphs import facts_of
from trtlint.engine.explain import explain_miss
from trtlint.target.target import Target

FACTS = facts_of(
    '< ir_version: 8, opset_import: ["" : 17] > '
    "g (float[1,4,8] q, float[1,8,4] k, float[1,4,8] v) => (float[1,4,8] o) "
    "{ s = MatMul(q, k) p = Softmax(s) m = MatMul(p, v) o = Relu(m) }"
)


def path(op: str) -> str:
    return next(node.path for node in FACTS.model.graph.nodes if node.op == op)


def test_a_rule_that_does_fire(tmp_path: Path) -> None:
    rule = make_rule(tmp_path, where='op == "Relu"')
    assert explain_miss(rule, FACTS, Target(), path("Relu")) == [f"TST001 fires here, at {path('Relu')}"]


def test_a_node_that_is_not_there(tmp_path: Path) -> None:
    (line,) = explain_miss(make_rule(tmp_path), FACTS, Target(), path("Relu") + "x")
    assert (
        line == f"the model has no node {path('Relu')}x; the nearest names are " + line.split("names are ")[1]
    )
    assert path("Relu") in line.split("names are ")[1]


def test_the_part_of_the_condition_that_is_false_with_its_values(tmp_path: Path) -> None:
    rule = make_rule(
        tmp_path, find="attention", message="x", where='form == "matmul" and scale.placement == "both"'
    )
    (line,) = explain_miss(rule, FACTS, Target(), path("Softmax"))
    assert line.endswith('scale.placement == "both" is false: scale.placement is none')


def test_a_part_that_is_unknown(tmp_path: Path) -> None:
    rule = make_rule(tmp_path, where='op == "Relu" and target.fp16 and len(inputs) == 1')
    lines = explain_miss(rule, FACTS, Target(version="10.7"), path("Relu"))
    assert lines == [
        f"whether TST001 fires here, at {path('Relu')}, depends on --fp16",
        f"at {path('Relu')}, target.fp16 is unknown: target.fp16 is unknown",
    ]


def test_the_version(tmp_path: Path) -> None:
    rule = make_rule(tmp_path, where='op == "Relu"', applies='{tensorrt: ">=10.7,<10.8"}')
    assert explain_miss(rule, FACTS, Target(version="10.8"), path("Relu")) == [
        "TST001 applies to TensorRT 10.7, but the target is TensorRT 10.8"
    ]
    (line,) = explain_miss(rule, FACTS, Target(product="tensorrt-rtx", version="1.5"), path("Relu"))
    assert line == "TST001 does not apply to TensorRT-RTX"


def test_a_node_that_no_fact_contains(tmp_path: Path) -> None:
    rule = make_rule(tmp_path, find="attention", message="x")
    (line,) = explain_miss(rule, FACTS, Target(), path("Relu"))
    assert line.startswith(
        f"no fact of kind attention contains {path('Relu')} (Relu); the nearest matches are at "
    )
    rule = make_rule(tmp_path, find="convolution", message="x")
    assert explain_miss(rule, FACTS, Target(), path("Relu")) == ["the model has no fact of kind convolution"]
    rule = make_rule(tmp_path, find="model", message="x")
    (line,) = explain_miss(rule, FACTS, Target(), path("Relu"))
    assert line == "each fact of kind model concerns the whole model, not a node"


def test_a_pattern(tmp_path: Path) -> None:
    front = {"find": "pattern", "match": "p = Softmax(s)", "message": "x"}
    rule = make_rule(tmp_path, where='dtype(p) == "f16"', **front)
    (line,) = explain_miss(rule, FACTS, Target(), path("Softmax"))
    assert line == f'at {path("Softmax")}, dtype(p) == "f16" is false: dtype(p) is f32'
    (line,) = explain_miss(rule, FACTS, Target(), path("Relu"))
    assert line.startswith("no match of the pattern contains")


@pytest.mark.parametrize("kind", ["convolution", "pooling", "quantized"])
def test_a_kind_that_the_model_lacks_is_named(tmp_path: Path, kind: str) -> None:
    rule = make_rule(tmp_path, find=kind, message="x")
    assert explain_miss(rule, FACTS, Target(), path("Relu")) == [f"the model has no fact of kind {kind}"]


def test_the_three_nearest_places_are_named(tmp_path: Path) -> None:
    facts = facts_of(
        '< ir_version: 8, opset_import: ["" : 17] > '
        "g (float[1,8,4,4] x) => (float[1,8,4,4] y) < float[8,8,1,1] w = {} > "
        "{ a = Conv(x, w) b = Conv(a, w) c = Conv(b, w) d = Conv(c, w) y = Softmax(d) }"
    )
    node = facts.model.graph.nodes[-1]
    places = [facts.model.graph.nodes[at].path for at in (3, 2, 1)]
    assert explain_miss(make_rule(tmp_path, find="convolution", message="x"), facts, Target(), node.path) == [
        f"no fact of kind convolution contains {node.path} (Softmax); "
        f"the nearest matches are at {', '.join(places)}"
    ]
