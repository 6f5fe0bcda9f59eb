"""Tests of the release lines that refuse a place, and of the nearest that accept it."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.report import handmade
from trtlint.engine.taken import RefusedLines, _taken, taken_words, with_taken
from trtlint.facts.of_model.rejection import Rejection
from trtlint.facts.refusal import Refusal
from trtlint.knowledge.releases import Product, minors
from trtlint.model.graph import Node
from trtlint.target.target import Target

LINES = minors("tensorrt")
NEXT = "the nearest newer release that accepts this part of the model"
LAST = "the nearest older release that accepts this part of the model is TensorRT "
NO_NEWER = f"; no newer release up to {LINES[-1]} does"
REFUSED = "10.0", "10.1"
ONLY = {"tensorrt": "<10.1,>=10.0", "tensorrt-rtx": "none"}
OTHER: dict[Product, str] = {"tensorrt": "<10.2,>=10.1", "tensorrt-rtx": "none"}


def rejection(node: Any, versions: Any = OTHER, **fields: Any) -> Rejection:
    """Return a refusal of one node with the same reason on every GPU."""
    usual: dict[str, Any] = {
        "op": "Abs",
        "stage": "parse",
        "code": "",
        "reason": "type",
        "says": "",
        "way": "",
    }
    usual |= {"plugin": "", "typing": "", "min_sm": None, "has_body": False, "source": ""}
    return Rejection(node=node, **{**usual, "versions": versions, **fields})


def lines(*others: Rejection, node: Any) -> tuple[tuple[str, ...], str]:
    """Return the text about a place that only one line refuses, in a model with other refusals."""
    facts: Any = SimpleNamespace(of=lambda kind: others if kind == "rejection" else ())
    subject: Any = SimpleNamespace(fact=rejection(node, ONLY))
    return RefusedLines(facts).of([subject], "tensorrt")


@pytest.fixture
def node() -> Node:
    """Return a node. Only its identity matters."""
    return Node.__new__(Node)


def test_other_refusals_of_a_node_count_only_where_they_hold_on_every_build(node: Node) -> None:
    other = Node.__new__(Node)
    assert lines(rejection(node), node=node) == (REFUSED, "")
    without: Sequence[Rejection] = (
        rejection(other),
        rejection(None),
        rejection(node, op=""),
        rejection(node, reason="plugin"),
        rejection(node, reason="library"),
        rejection(node, min_sm=80),
        rejection(node, typing="strong"),
    )
    for each in without:
        assert lines(each, node=node) == (REFUSED[:1], ""), each
    assert lines(*without, rejection(node), node=node) == (REFUSED, "")


def test_a_place_that_is_no_refusal_has_no_lines(node: Node) -> None:
    facts: Any = SimpleNamespace(of=lambda _: ())
    subject: Any = SimpleNamespace(fact=object())
    assert RefusedLines(facts).of([subject], "tensorrt") == ((), "")


@given(st.sets(st.sampled_from(LINES), min_size=1), st.sampled_from((None, *LINES)))
def test_the_nearest_accepting_lines_surround_the_target(refused: set[str], version: str | None) -> None:
    target = Target(version=version)
    found = _taken(Refusal("parse", "Abs", "", lines=tuple(refused)), target)
    accepting = [line for line in LINES if line not in refused]
    first = version or max(refused, key=LINES.index)
    after = [line for line in accepting if LINES.index(line) > LINES.index(first)]
    last = version or min(refused, key=LINES.index)
    before = [line for line in accepting if LINES.index(line) < LINES.index(last)]
    if version is None and not after:
        before = accepting
    assert found.first_taken == (after[0] if after else None)
    assert found.last_taken == (before[-1] if before else None)
    words = taken_words(found, "tensorrt")
    assert words.startswith(f"{NEXT} is TensorRT {found.first_taken}") == bool(after)
    assert (f"no TensorRT release up to {LINES[-1]} accepts this part of the model" in words) == (
        not after and not before
    )
    assert (f"; the nearest older release is TensorRT {found.last_taken}" in words) == bool(after and before)
    assert (words == f"{LAST}{found.last_taken}{NO_NEWER}") == bool(before and not after)


@pytest.mark.parametrize(
    ("fields", "limit"),
    [
        ([{}], ""),
        ([{"reason": "plugin", "min_sm": 80}], "without the plugin"),
        ([{"reason": "library"}], "without the plugin"),
        ([{"min_sm": 80, "typing": "strong"}], "on every GPU"),
        ([{"min_sm": 0}], "on every GPU"),
        ([{"typing": "strong"}], "in a strongly typed network"),
        ([{}, {"typing": "strong"}, {"min_sm": 80}], "in a strongly typed network"),
        ([{"min_sm": 80}, {"typing": "strong"}, {}], "on every GPU"),
    ],
)
def test_the_condition_of_the_first_place_that_has_one(
    fields: list[dict[str, Any]], limit: str, node: Node
) -> None:
    facts: Any = SimpleNamespace(of=lambda _: ())
    subjects: Any = [SimpleNamespace(fact=rejection(node, ONLY, **each)) for each in fields]
    assert RefusedLines(facts).of(subjects, "tensorrt") == (REFUSED[:1], limit)
    assert RefusedLines(facts).of(subjects, "tensorrt-rtx") == ((), limit)


def test_lines_of_several_places_are_in_order(node: Node) -> None:
    other = Node.__new__(Node)
    facts: Any = SimpleNamespace(of=lambda _: (rejection(other, OTHER), rejection(other, ONLY)))
    later = {"tensorrt": ">=10.3,<10.4", "tensorrt-rtx": "none"}
    subjects: Any = [SimpleNamespace(fact=rejection(each, later)) for each in (node, other)]
    assert RefusedLines(facts).of(subjects, "tensorrt") == ((*REFUSED, "10.3"), "")
    assert RefusedLines(facts).of(subjects[:1], "tensorrt") == (("10.3",), "")
    assert RefusedLines(facts).of([], "tensorrt") == ((), "")


def test_the_sentence_is_added_to_the_advice() -> None:
    refusal = Refusal("parse", "Abs", "", lines=LINES[:2], limit="on every GPU")
    finding = replace(handmade.SCALE, refusal=refusal, advice=("Change it.",))
    found = with_taken(finding, Target(version=LINES[0]))
    assert found.advice == ("Change it.", f"{NEXT} on every GPU is TensorRT {LINES[2]}")
    assert found.refusal == replace(refusal, first_taken=LINES[2], last_taken=None)
    assert replace(found, advice=finding.advice, refusal=refusal) == finding
    everywhere = replace(finding, refusal=replace(refusal, lines=LINES))
    assert with_taken(everywhere, Target(version=LINES[0])).advice[1:] == (
        f"no TensorRT release up to {LINES[-1]} accepts this part of the model on every GPU",
    )
    newest = replace(finding, refusal=Refusal("parse", "Abs", "", lines=LINES[-1:]))
    assert with_taken(newest, Target(version=LINES[-1])).advice[1:] == (f"{LAST}{LINES[-2]}{NO_NEWER}",)
    for same in (replace(finding, refusal=None), replace(finding, refusal=replace(refusal, lines=()))):
        assert with_taken(same, Target(version=LINES[0])) is same


UNKNOWN = "it is unknown whether releases before TensorRT 10.16 accept this part of the model"


@pytest.mark.parametrize(
    ("known", "first", "version", "expected"),
    [
        ("documented", "10.16", "10.16", UNKNOWN),
        ("documented", "10.16", None, UNKNOWN),
        ("source", "10.16", "10.16", f"{LAST}10.15{NO_NEWER}"),
        ("documented", "10.15", "10.16", f"{LAST}10.14{NO_NEWER}"),
    ],
)
def test_releases_whose_parser_was_not_tried(
    known: str, first: str, version: str | None, expected: str
) -> None:
    lines = LINES[LINES.index(first) :]
    found = replace(handmade.SCALE, refusal=Refusal("parse", "Abs", "", known=known, lines=lines))
    shown = with_taken(found, Target(version=version))
    assert shown.advice[-1] == expected
    assert shown.refusal is not None
    assert shown.refusal.last_taken == (
        None if expected == UNKNOWN else expected.removeprefix(LAST).removesuffix(NO_NEWER)
    )


def test_a_newer_release_that_accepts_is_known() -> None:
    lines = LINES[LINES.index("10.16") : -1]
    found = replace(handmade.SCALE, refusal=Refusal("parse", "Abs", "", known="documented", lines=lines))
    assert with_taken(found, Target(version="10.16")).advice[-1] == f"{NEXT} is TensorRT {LINES[-1]}"


def test_a_refusal_of_much_older_releases_does_not_make_the_releases_between_known() -> None:
    lines = (LINES[0], *LINES[LINES.index("10.16") :])
    found = replace(handmade.SCALE, refusal=Refusal("parse", "Abs", "", known="documented", lines=lines))
    assert with_taken(found, Target(version="10.16")).advice[-1] == UNKNOWN


def test_the_unknown_releases_name_the_limit() -> None:
    lines = LINES[LINES.index("10.16") :]
    refusal = Refusal("parse", "Abs", "", known="documented", lines=lines, limit="on every GPU")
    assert taken_words(refusal, "tensorrt") == f"{UNKNOWN} on every GPU"
