"""Tests of predicted partitions: findings that exclude nodes or prevent the session."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.graphs import model_of
from tests.report import handmade
from trtlint.engine.finding import Finding, Rewrite, Row, Site
from trtlint.engine.partition import refused_nodes, unbuildable
from trtlint.facts.refusal import Refusal
from trtlint.partition.predict import Reason

TEXT = """< ir_version: 8, opset_import: ["" : 17] > g (float[2] x) => (float[2] y)
{ [one] a = Abs (x)  [two] b = Neg (a)  [three] y = Exp (b) }"""
PARTS: Any = type("Parts", (), {"parts": (("one",), ("two", "four"))})


def site(node: str, *rows: tuple[str, str]) -> Site:
    return Site(node, "Abs", None, None, tuple(Row(name, "Abs", role=role) for name, role in rows), "")


def refused(*sites: Site, stage: Any = "build", op: str = "Abs", **fields: Any) -> Finding:
    finding = replace(handmade.SCALE, sites=sites, refusal=Refusal(stage, op, ""), confidence="high")
    return replace(finding, **fields)


@pytest.mark.parametrize(
    ("findings", "node"),
    [
        ([], ""),
        ([refused(site("one"))], "one"),
        ([refused(site("one"), confidence="confirmed")], "one"),
        ([refused(site("one"), confidence="medium")], ""),
        ([refused(site("three"))], ""),
        ([refused(site("three"), site("four"), site("one"))], "four"),
        ([refused(site("one"), stage="parse")], ""),
        ([refused(site("one"), standing="refuted")], ""),
        ([refused(site("one"), refusal=None)], ""),
        ([refused(site("one"), confidence="low"), refused(site("two"))], "two"),
        ([refused(site("one"), stage="parse"), refused(site("two"))], "two"),
    ],
)
def test_a_part_that_the_builder_refuses(findings: list[Finding], node: str) -> None:
    words = f"TensorRT cannot build the part of the model that contains {node} [ACC102]" if node else ""
    assert unbuildable(findings, PARTS) == words


def test_nodes_that_the_parser_refuses() -> None:
    model = model_of(TEXT)
    findings = [
        refused(site("two"), stage="build"),
        refused(site("three"), stage="parse", standing="refuted"),
        refused(site("nowhere"), site("one"), stage="parse", rule="A", message="first", fixes=(FIX,)),
        refused(site("one"), stage="parse", rule="B", message="second", fixes=(OTHER, FIX)),
        refused(
            site("two", ("one", "s"), ("two", "r"), ("three", "r")),
            stage="parse",
            rule="C",
            message="third",
            op="ScatterElements",
        ),
        refused(site("two"), stage="parse", rule="C", message="fourth"),
    ]
    third = Reason("third", ("C",), (), ends=True)
    assert {node.path: why for node, why in refused_nodes(model, findings).items()} == {
        "one": Reason("first", ("A", "B"), ("fix", "other")),
        "two": third,
        "three": third,
    }


FIX, OTHER = Rewrite("fix", "safe"), Rewrite("other", "safe")
