"""Tests of facts about operators with different float input types."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.graphs import facts_of
from tests.sampling import sample
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.mixed_types import MixedTypes
from trtlint.model.load import load


def mixed(facts: Facts) -> list[MixedTypes]:
    return [fact for fact in facts.of("mixed_types") if isinstance(fact, MixedTypes)]


def of(body: str, constants: str = "", opset: int = 17) -> list[MixedTypes]:
    text = f"""
    < ir_version: 10, opset_import: ["" : {opset}] >
    g (float16[4,4] h, float[4,4] s, double[4,4] d, bool[4,4] c, int64[4,4] i) => (float[4,4] y)
    < float[4,4] w = {{}}, float16[4] v = {{}}, float zero = {{0}}, float six = {{6}}{constants} >
    {{ {body} }}
    """
    return mixed(facts_of(text))


@pytest.mark.parametrize(
    ("body", "ports"),
    [
        ("y = Add (h, s)", (0, 1)),
        ("y = Add (s, h)", (0, 1)),
        ("y = Mul (h, zero)", (0, 1)),
        ("y = MatMul (h, w)", (0, 1)),
        ("y = Concat <axis = 0> (s, s, h)", (0, 2)),
        ("y = Where (c, h, s)", (1, 2)),
        ("y = LayerNormalization (s, v, v)", (0, 1)),
        ("y = Gemm (s, s, v)", (0, 2)),
        ("y = Max (s, s, s, h)", (0, 3)),
        ("t = Less (h, s) y = Cast <to = 1> (t)", (0, 1)),
        ("y = Add (h, d)", (0, 1)),
    ],
)
def test_types_that_must_agree(body: str, ports: tuple[int, int]) -> None:
    (found,) = of(body)
    assert found.ports == ports
    assert {found.first, found.second} == {"f16", "f32"}
    assert not found.cast_by_parser


@pytest.mark.parametrize(
    "body",
    [
        "y = Add (s, s)",
        "y = Add (d, s)",  # float64 is imported as float32
        "y = Pow (h, zero)",
        "y = Gather (h, i)",
        "t = Cast <to = 1> (h) y = Add (t, s)",
        "y = Where (c, s, s)",
    ],
)
def test_types_that_may_differ(body: str) -> None:
    assert of(body) == []


@pytest.mark.parametrize(("bound", "casts"), [("zero, six", True), ("k, six", False)])
def test_constant_bounds_of_clip_are_cast_by_the_parser(bound: str, casts: bool) -> None:
    (found,) = of(f"k = ReduceMax <keepdims = 0> (s) y = Clip (h, {bound})")
    assert found.cast_by_parser is casts


def test_grid_sample_and_its_grid() -> None:
    text = """
    < ir_version: 10, opset_import: ["" : 20] >
    g (float16[1,3,4,4] x, float[1,4,4,2] grid) => (float16[1,3,4,4] y)
    { y = GridSample (x, grid) }
    """
    (found,) = mixed(facts_of(text))
    assert (found.op, found.first, found.second) == ("GridSample", "f16", "f32")


def test_only_the_first_of_a_region_is_stated_with_what_follows() -> None:
    found = of("a = Add (h, s) b = Mul (a, s) e = Add (b, h) f = Add (e, s) k = Sub (h, s) y = Add (f, s)")
    assert [(fact.node.op, fact.node.output.name) for fact in found if fact.node] == [
        ("Add", "a"),
        ("Sub", "k"),
    ]
    assert found[0].followers >= 1


def test_the_cast_that_the_types_part_at() -> None:
    (found,) = of("wide = Cast <to = 1> (h) r = Relu (wide) y = LayerNormalization (r, v, v)")
    node = found.chain[0].node
    assert (node.op, node.path) == ("Cast", found.origin)
    assert found.chain[0].role == "origin"


@pytest.mark.slow
def test_against_the_verdicts_of_the_parser(exported: Path) -> None:
    """Here trtlint flags the node that TensorRT-RTX 1.7.1 refuses for its types, and no other."""
    wrong = {}
    for line in sample((exported / "verdicts-rtx-1.7.1.jsonl").read_text().splitlines()):
        verdict = json.loads(line)
        refused = {
            error["node_name"]
            for error in verdict["errors"]
            if "must have identical types" in error["desc"] or "same input types" in error["desc"]
        }
        facts = mixed(Facts(load(exported / f"{verdict['model']}.onnx")))
        found = {fact.place for fact in facts if not fact.cast_by_parser}
        if found != refused:
            wrong[verdict["model"]] = (found, refused)
    assert not wrong
