"""Tests of facts that earlier findings of an evaluation already report."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Literal

import pytest

from tests.graphs import model_of
from trtlint.engine.reported import ReportedPlaces, about_builds, about_experiments, reads_the_graph, turn
from trtlint.engine.subjects import Subject
from trtlint.facts.refusal import Refusal
from trtlint.model.graph import Node

GRAPH = model_of(
    '< ir_version: 8, opset_import: ["" : 17] > g (float[2] x) => (float[2] y) { a = Abs (x)  y = Neg (a) }'
).graph
FIRST, SECOND = GRAPH.nodes
NOWHERE = "file:9"


def rule(find: str, *yields: str, id_: str = "TST001", default: bool = False) -> Any:
    return SimpleNamespace(id=id_, find=find, yields=frozenset(yields), default=default)


def subject(
    node: Node | None = None, at: object = None, stage: Literal["parse", "build"] | None = None
) -> Subject:
    refusal = None if stage is None else Refusal(stage, "Abs", "")
    return Subject(node, "", (), {} if at is None else {"at": at}, refusal=refusal)


@pytest.mark.parametrize(
    ("find", "phase", "build", "experiment", "graph"),
    [
        ("node", 0, False, False, True),
        ("pattern", 0, False, False, True),
        ("parser_refusal", 1, False, True, False),
        ("log_message", 2, True, False, False),
        ("layer", 2, True, False, False),
        ("builder_refusal", 3, False, True, False),
        ("dry_build", 3, False, True, False),
        ("flag", 0, False, False, False),
    ],
)
def test_the_order_of_rules(find: str, phase: int, build: bool, experiment: bool, graph: bool) -> None:
    each = rule(find)
    assert turn(each) == (phase, False)
    assert turn(rule(find, default=True)) == (phase, True)
    assert (about_builds(each), about_experiments(each), reads_the_graph(each)) == (build, experiment, graph)


def test_places_and_messages() -> None:
    found = ReportedPlaces()
    found.add(rule("node", id_="A"), subject(FIRST))
    found.add(rule("log_message", id_="B"), subject(SECOND, "file:1"))
    found.add(rule("layer", id_="C"), subject(None, "file:2"))
    found.messages.add("file:3")
    for each, place, covered in (
        (rule("layer", "A"), subject(FIRST), True),
        (rule("layer", "A"), subject(SECOND), False),
        (rule("layer", "B", "A"), subject(SECOND), True),
        (rule("layer", "C", "D"), subject(FIRST), False),
        (rule("layer"), subject(FIRST), False),
        (rule("log_message"), subject(None, "file:1"), False),
        (rule("log_message", default=True), subject(None, "file:1"), True),
        (rule("log_message", default=True), subject(None, "file:2"), False),
        (rule("log_message", default=True), subject(None, NOWHERE), False),
        (rule("log_message"), subject(None, "file:3"), True),
        (rule("log_message"), subject(None, NOWHERE), False),
    ):
        assert found.covers(each, place) is covered


@pytest.mark.parametrize(
    ("known", "place", "covered"),
    [
        (subject(FIRST, stage="parse"), subject(FIRST, stage="parse"), True),
        (subject(FIRST, stage="parse"), subject(SECOND, stage="parse"), False),
        (subject(FIRST, stage="parse"), subject(None, stage="parse"), False),
        (subject(None, stage="parse"), subject(None, stage="parse"), True),
        (subject(None, stage="parse"), subject(FIRST, stage="parse"), False),
        (subject(FIRST, stage="parse"), subject(FIRST, stage="build"), False),
        (subject(FIRST, stage="build"), subject(SECOND, stage="build"), True),
        (subject(None, stage="build"), subject(SECOND, stage="build"), True),
        (subject(FIRST, stage="build"), subject(FIRST, stage="parse"), False),
        (subject(FIRST), subject(FIRST, stage="parse"), False),
        (subject(FIRST, stage="parse"), subject(FIRST), False),
    ],
)
def test_errors_of_experiments(known: Subject, place: Subject, covered: bool) -> None:
    found = ReportedPlaces()
    assert not found.covers(rule("dry_build"), place)
    found.add(rule("rejection"), known)
    for find in ("dry_build", "parser_refusal", "builder_refusal"):
        assert found.covers(rule(find), place) is covered
    assert not found.covers(rule("node"), place)
