"""Tests of dry-build facts: outcome, parser errors and builder error."""

from __future__ import annotations

from typing import Any

import pytest

from tests.facts.builds import facts_of_build
from tests.graphs import model_of
from trtlint.dry_build.result import DryBuild, DryBuildResult, ParserMessage, UsedShape
from trtlint.engine.evidence.dry_build import DryBuildEvidence
from trtlint.facts.facts import Facts
from trtlint.facts.of_trial import builder_refusal, parser_refusal
from trtlint.facts.of_trial.builder_refusal import BuilderRefusal
from trtlint.facts.of_trial.dry_build import DryBuildFact
from trtlint.facts.of_trial.parser_refusal import ParserRefusal
from trtlint.facts.refusal import Refusal

MODEL = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[4] x, bool c) => (float[4] y, float[4] z)
{
  [first] a = Relu (x)
  b = Abs (a)
  [last] d = Relu (b)
  [the_if] y = If (c) <
    then_branch = t () => (float[4] p) { [inside] p = Exp (d) },
    else_branch = e () => (float[4] q) { q = Identity (d) }
  >
  z = Relu (y)
}
"""
SHAPES = (
    UsedShape("x", (1, 4), (2, 4), (8, 4), chosen=False, values=False),
    UsedShape("n", (3,), (3,), (3,), chosen=True, values=True),
)


def facts(log: str | None = None, **fields: Any) -> Facts:
    record = None if log is None else facts_of_build(log=log).record
    result = DryBuildResult("1.7.1", **fields)
    return Facts(model_of(MODEL), evidence=[DryBuildEvidence(DryBuild(result, record))])


def error(
    code: str = "UNSUPPORTED_NODE",
    node: str = "",
    op: str = "",
    index: int = -1,
    text: str = "no",
    function: str = "",
) -> ParserMessage:
    return ParserMessage(code, node, op, index, text, function)


def refusals(*errors: ParserMessage) -> list[ParserRefusal]:
    found = facts(parsed=False, stage="parse", errors=errors).of("parser_refusal")
    return [fact for fact in found if isinstance(fact, ParserRefusal)]


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({}, "parsed"),
        ({"parsed": True}, "parsed"),
        ({"parsed": True, "built": True}, "built"),
        ({"parsed": True, "built": False}, "refused"),
        ({"parsed": False}, "refused"),
        ({"parsed": False, "built": True}, "refused"),
        ({"parsed": True, "cause": "crashed"}, "crashed"),
        ({"parsed": True, "cause": "time"}, "out-of-time"),
        ({"parsed": True, "cause": "memory"}, "out-of-memory"),
        ({"parsed": True, "cause": "failed"}, "failed"),
        ({"parsed": False, "built": False, "cause": "failed"}, "failed"),
    ],
)
def test_the_outcome_of_a_dry_build(fields: dict[str, Any], outcome: str) -> None:
    (fact,) = facts(**fields).of("dry_build")
    assert isinstance(fact, DryBuildFact)
    assert (fact.outcome, fact.place) == (outcome, "")


def test_a_dry_build_as_a_whole() -> None:
    whole = facts(
        sm=120,
        stage="build",
        signal="SIGSEGV",
        seconds=1.5,
        last_lines=("a", "b"),
        shapes=SHAPES,
        cause="crashed",
    )
    assert whole.of("dry_build") == (
        DryBuildFact(
            label="dry build, TensorRT-RTX 1.7.1, SM 12.0",
            version="1.7.1",
            sm=120,
            outcome="crashed",
            stage="build",
            signal="SIGSEGV",
            seconds=1.5,
            last_lines=("a", "b"),
            shapes=("x=1x4..2x4..8x4", "n=3"),
            shapes_chosen=True,
        ),
    )
    (fixed,) = facts(shapes=SHAPES[:1]).of("dry_build")
    assert isinstance(fixed, DryBuildFact)
    assert not fixed.shapes_chosen


def test_without_a_dry_build_there_are_no_facts() -> None:
    alone = Facts(model_of(MODEL))
    assert [alone.of(kind) for kind in ("dry_build", "parser_refusal", "builder_refusal")] == [(), (), ()]
    from trtlint.facts.of_trial import dry_build

    assert [list(module.find(alone)) for module in (dry_build, parser_refusal, builder_refusal)] == [
        [],
        [],
        [],
    ]


@pytest.mark.parametrize(
    ("found", "path"),
    [
        (error(node="first", op="Relu"), "first"),
        (error(node="first"), "first"),
        (error(node="nobody", op="Abs", index=1), None),
        (error(node="nobody", op="Exp"), None),
        (error(op="Relu", index=0), "first"),
        (error(op="Relu", index=2), "last"),
        (error(op="Relu", index=1), None),
        (error(op="Relu", index=-3), None),
        (error(op="Relu", index=4), "Relu_4"),
        (error(op="Relu", index=5), None),
        (error(op="Abs", index=7), "Abs_1"),
        (error(op="Exp"), "the_if/then_branch/inside"),
        (error(op="Tan"), None),
        (error(node="inside", op="Exp", index=0), "the_if/then_branch/inside"),
        (error(op="Relu", text="error at node_of_b"), "Abs_1"),
        (error(op="Relu", text="error at node_of_z (Relu)"), "Relu_4"),
        (error(op="Relu", text="error at node_of_a"), "first"),
        (error(op="Relu", text="error at node_of_first"), None),
        (error(node="last", op="Relu", text="error at node_of_b"), "last"),
        (error(node="nobody", op="Relu", text="error at node_of_b"), "Abs_1"),
        (error(function="importAbs"), "Abs_1"),
        (error(function="checkExp"), "the_if/then_branch/inside"),
        (error(function="importRelu"), None),
        (error(function="parseAbs"), None),
        (error(function="importAbs", op="Relu", index=2), "last"),
        (error(function=""), None),
    ],
)
def test_the_node_of_an_error(found: ParserMessage, path: str | None) -> None:
    (fact,) = refusals(found)
    assert (None if fact.node is None else fact.node.path) == path
    assert fact.place == (found.node if path is None else path)
    assert [(step.node, step.role, step.label) for step in fact.chain] == (
        [] if fact.node is None else [(fact.node, "refused", "refused")]
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "CODE"),
        ("Assertion failed: no", "no"),
        ("no, Assertion failed: no", "no, Assertion failed: no"),
        ("a\n  b", "a b"),
        ("In node 5 with name: a b and operator: Relu (checkRelu): INVALID_NODE: the reason", "the reason"),
        ("In node 5: other", "In node 5: other"),
        ("x" * parser_refusal._SHORT, "x" * parser_refusal._SHORT),
        ("x" * (parser_refusal._SHORT + 1), "x" * (parser_refusal._SHORT - 3) + "..."),
    ],
)
def test_the_sentence_of_an_error(text: str, says: str) -> None:
    (fact,) = refusals(error("CODE", "first", "Relu", 0, text, "checkRelu"))
    assert (fact.says, fact.code, fact.name, fact.function) == (says, "CODE", "first", "checkRelu")
    assert fact.label == "dry build, TensorRT-RTX 1.7.1, SM 8.9"
    assert fact.refusal == Refusal("parse", "Relu", "CODE")


def test_equal_errors_are_one_and_others_stay_in_order() -> None:
    found = refusals(
        error(node="last", op="Relu"),
        error(node="first", op="Relu"),
        error(node="last", op="Relu", index=7),
        error(node="last", op="Relu", text="other"),
        error("OTHER", node="last", op="Relu"),
        error(node="nobody"),
        error(node="somebody"),
    )
    assert [(fact.name, fact.says, fact.code, fact.op) for fact in found] == [
        ("last", "no", "UNSUPPORTED_NODE", "Relu"),
        ("first", "no", "UNSUPPORTED_NODE", "Relu"),
        ("last", "other", "UNSUPPORTED_NODE", "Relu"),
        ("last", "no", "OTHER", "Relu"),
        ("nobody", "no", "UNSUPPORTED_NODE", ""),
        ("somebody", "no", "UNSUPPORTED_NODE", ""),
    ]
    (by_function,) = refusals(error(function="importAbs"))
    assert by_function.op == "Abs"


def refused(log: str | None, **fields: Any) -> BuilderRefusal:
    (fact,) = facts(log, parsed=True, built=False, stage="build", **fields).of("builder_refusal")
    assert isinstance(fact, BuilderRefusal)
    return fact


API = (
    "[E] [TRT] IBuilder::buildSerializedNetwork: Error Code 4: API Usage Error (Network has dynamic or shape "
    "inputs, but no optimization profile has been defined. In validate at /_src/network.cpp:4023)\n"
)
NODE = (
    "[E] [TRT] IBuilder::buildSerializedNetwork: Error Code 10: Internal Error (Could not find any "
    "implementation for node {}.)\n"
)


def described(fact: BuilderRefusal) -> tuple[object, ...]:
    nodes = [step.node.path for step in fact.chain]
    assert {(step.role, step.label) for step in fact.chain} <= {("refused", "refused")}
    return (fact.place, nodes, fact.op, fact.code)


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (None, ("", [], "", "")),
        ("[W] [TRT] a warning\n", ("", [], "", "")),
        (API, ("", [], "", "API Usage Error")),
        (NODE.format("first"), ("first", ["first"], "Relu", "Internal Error")),
        (NODE.format("first + last"), ("first", ["first", "last"], "", "Internal Error")),
        (API + NODE.format("last"), ("last", ["last"], "Relu", "Internal Error")),
        (NODE.format("last") + NODE.format("first"), ("last", ["last"], "Relu", "Internal Error")),
    ],
)
def test_the_error_of_the_builder(log: str | None, expected: tuple[object, ...]) -> None:
    fact = refused(log)
    assert described(fact) == expected
    assert fact.refusal == Refusal("build", fact.op, fact.code)


def test_the_words_of_the_builder(monkeypatch: pytest.MonkeyPatch) -> None:
    fact = refused(None, shapes=SHAPES)
    assert (fact.says, fact.label) == ("the builder gives no reason", "dry build, TensorRT-RTX 1.7.1, SM 8.9")
    assert (fact.shapes, fact.shapes_chosen) == (("x=1x4..2x4..8x4", "n=3"), True)
    assert not refused(None, shapes=SHAPES[:1]).shapes_chosen
    says = refused(NODE.format("first")).says
    assert says.endswith("Internal Error (Could not find any implementation for node first.)")
    monkeypatch.setattr(builder_refusal, "_SHORT", len(says))
    assert refused(NODE.format("first")).says == says
    monkeypatch.setattr(builder_refusal, "_SHORT", len(says) - 1)
    assert refused(NODE.format("first")).says == f"{says[:-4]}..."


@pytest.mark.parametrize("built", [True, None])
def test_only_a_builder_that_fails_refuses(built: bool | None) -> None:
    assert facts(API, parsed=True, built=built, stage="build").of("builder_refusal") == ()
