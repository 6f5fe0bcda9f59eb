"""Tests of a dry build as evidence: full for its own product, limited for other products."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.engine.rules import make_rule
from tests.facts.builds import facts_of_build
from tests.graphs import model_of
from trtlint.dry_build.agreement import Agreement, AmbiguousTensor, ComputationFailure, TensorDifference
from trtlint.dry_build.result import DryBuild, DryBuildResult, ParserMessage, UsedShape
from trtlint.engine.evaluate import evaluate
from trtlint.engine.evidence.dry_build import DryBuildEvidence, _passed_words, confidence_for
from trtlint.engine.finding import Finding
from trtlint.engine.rulebook import load_builtin
from trtlint.facts.facts import Facts
from trtlint.facts.of_build.log_message import LogMessage
from trtlint.target.target import Target

REFUSED = """
< ir_version: 8, opset_import: ["" : 17] >
refused (float[4] x) => (float[4] y)
{ [one] y = Unique(x) }
"""
PLAIN = """
< ir_version: 8, opset_import: ["" : 17] >
plain (float[4] x) => (float[4] y)
{ [one] y = Relu(x) }
"""
BUILT = DryBuildResult("1.7.1", parsed=True, built=True, stage="build")
PARSER_SAYS_NO = DryBuildResult(
    "1.7.1",
    parsed=False,
    stage="parse",
    errors=(ParserMessage("UNSUPPORTED_NODE", "one", "Unique", 0, "Assertion failed: no", "checkUnique"),),
)
RULES = tuple(entry.read() for entry in load_builtin().entries)
RTX = Target("tensorrt-rtx", "1.7")


def findings(text: str, result: DryBuildResult, target: Target) -> dict[str, Finding]:
    facts = Facts(model_of(text), evidence=[DryBuildEvidence(DryBuild(result))])
    return {finding.rule: finding for finding in evaluate(RULES, facts, target).findings}


@pytest.mark.parametrize(
    ("version", "stage", "target", "sure"),
    [
        ("1.7.1", "parse", Target("tensorrt-rtx", "1.7"), "confirmed"),
        ("1.7.1", "build", Target("tensorrt-rtx", "1.7"), "confirmed"),
        ("1.7.1", "build", Target("tensorrt-rtx"), "confirmed"),
        ("1.7.1", "build", Target("tensorrt-rtx", "1.7", sm=120), "low"),
        ("1.7.1", "parse", Target("tensorrt-rtx", "1.7", sm=120), "confirmed"),
        ("1.7.1", "parse", Target("tensorrt-rtx", "1.4"), "medium"),
        ("1.4.0", "parse", Target("tensorrt", "10.16"), "high"),
        ("1.5.0", "parse", Target("tensorrt", "11.0"), "high"),
        ("1.4.0", "parse", Target("tensorrt", "10.7"), "medium"),
        ("1.4.0", "parse", Target("tensorrt"), "medium"),
        ("1.4.0", "build", Target("tensorrt", "10.16"), "low"),
    ],
)
def test_how_much_it_says(version: str, stage: str, target: Target, sure: str) -> None:
    assert confidence_for(DryBuildResult(version), "parse" if stage == "parse" else "build", target) == sure


def test_a_parse_that_succeeds_refutes_what_was_to_be_refused() -> None:
    finding = findings(REFUSED, BUILT, RTX)["BLD201"]
    assert (finding.standing, finding.severity) == ("refuted", "note")
    assert finding.said[0] == "dry build, TensorRT-RTX 1.7.1, SM 8.9: the parser accepts the model"


def test_of_another_product_it_refutes_nothing() -> None:
    finding = findings(REFUSED, BUILT, Target("tensorrt", "10.7"))["BLD201"]
    assert (finding.standing, finding.confidence) == ("open", "high")


def test_the_same_parser_makes_a_finding_less_sure() -> None:
    result = DryBuildResult("1.4.0", parsed=True, built=True, stage="build")
    finding = findings(REFUSED, result, Target("tensorrt", "10.16"))["BLD201"]
    assert (finding.standing, finding.confidence) == ("open", "medium")
    assert finding.said == ("dry build, TensorRT-RTX 1.4.0, SM 8.9: the parser accepts the model",)


def test_what_a_rule_knows_is_told_once_and_confirmed() -> None:
    found = findings(REFUSED, PARSER_SAYS_NO, RTX)
    assert found["BLD201"].standing == found["BLD201"].confidence == "confirmed"
    assert found["BLD201"].said == ("dry build, TensorRT-RTX 1.7.1, SM 8.9: UNSUPPORTED_NODE: no",)
    assert "DRY101" not in found


def test_another_products_parser_is_evidence_that_confirms_nothing() -> None:
    finding = findings(REFUSED, PARSER_SAYS_NO, Target("tensorrt", "10.7"))["BLD201"]
    assert (finding.standing, finding.confidence) == ("open", "high")
    assert finding.said == ("dry build, TensorRT-RTX 1.7.1, SM 8.9: UNSUPPORTED_NODE: no",)


def test_what_no_rule_knows_is_told_with_the_confidence_that_it_has() -> None:
    for target, sure in ((RTX, "confirmed"), (Target("tensorrt", "10.16"), "medium")):
        finding = findings(PLAIN, PARSER_SAYS_NO, target)["DRY101"]
        assert (finding.confidence, finding.standing) == (sure, "open")
        assert finding.refusal is not None
        assert (finding.refusal.stage, finding.refusal.code) == ("parse", "UNSUPPORTED_NODE")
        assert finding.sites[0].node == "one"


def test_a_builder_without_a_reason_is_a_finding() -> None:
    result = DryBuildResult("1.7.1", parsed=True, built=False, stage="build")
    assert findings(PLAIN, result, RTX)["DRY102"].confidence == "confirmed"
    assert findings(PLAIN, result, Target("tensorrt", "10.7"))["DRY102"].confidence == "low"


def test_a_builder_that_refuses_shapes_chosen_here_is_no_proof() -> None:
    shape = UsedShape("x", (1, 8), (1, 8), (1, 8), chosen=True, values=False)
    result = DryBuildResult("1.7.1", parsed=True, built=False, stage="build", shapes=(shape,))
    assert findings(PLAIN, result, RTX)["DRY102"].confidence == "medium"


def test_a_crash_says_little_of_another_product() -> None:
    result = DryBuildResult("1.7.1", parsed=True, cause="crashed", signal="SIGSEGV", stage="build")
    assert findings(PLAIN, result, RTX)["DRY103"].severity == "error"
    assert findings(PLAIN, result, Target("tensorrt", "10.7"))["DRY103"].confidence == "low"


FIXED = UsedShape("x", (1, 8), (2, 8), (4, 8), chosen=False, values=False)
CHOSEN = UsedShape("x", (1, 8), (1, 8), (1, 8), chosen=True, values=False)
RESULTS = {
    "built": BUILT,
    "parsed": DryBuildResult("1.7.1", level="parse", parsed=True, stage="parse"),
    "refused": PARSER_SAYS_NO,
    "unbuilt": DryBuildResult("1.7.1", parsed=True, built=False, stage="build", shapes=(FIXED,)),
    "chosen": DryBuildResult("1.7.1", parsed=True, built=False, stage="build", shapes=(FIXED, CHOSEN)),
    "same parser": DryBuildResult("1.4.0", parsed=True, built=True, stage="build"),
    "same parser refused": DryBuildResult("1.4.0", parsed=False, stage="parse", errors=PARSER_SAYS_NO.errors),
}
ACCEPTED, NO = "the parser accepts the model", "UNSUPPORTED_NODE: no"
RTX4, TRT, TRT16 = Target("tensorrt-rtx", "1.4"), Target("tensorrt", "10.7"), Target("tensorrt", "10.16")
SM120 = Target("tensorrt-rtx", "1.7", sm=120)


@pytest.mark.parametrize(
    ("result", "target", "expected", "experiment"),
    [
        ("built", RTX, ("refuted", "high", ACCEPTED), None),
        ("built", SM120, ("refuted", "high", ACCEPTED), None),
        ("built", RTX4, ("open", "high", ""), None),
        ("built", TRT, ("open", "high", ""), None),
        ("built", TRT16, ("open", "high", ""), None),
        ("parsed", RTX, ("refuted", "high", ACCEPTED), None),
        ("parsed", TRT16, ("open", "high", ""), None),
        ("refused", RTX, ("confirmed", "confirmed", NO), "confirmed"),
        ("refused", SM120, ("confirmed", "confirmed", NO), "confirmed"),
        ("refused", RTX4, ("open", "high", NO), "medium"),
        ("refused", TRT, ("open", "high", NO), "medium"),
        ("refused", TRT16, ("open", "high", NO), "medium"),
        ("unbuilt", RTX, ("refuted", "high", ACCEPTED), "confirmed"),
        ("unbuilt", SM120, ("refuted", "high", ACCEPTED), "low"),
        ("unbuilt", RTX4, ("open", "high", ""), "low"),
        ("unbuilt", TRT, ("open", "high", ""), "low"),
        ("chosen", RTX, ("refuted", "high", ACCEPTED), "medium"),
        ("chosen", TRT, ("open", "high", ""), "low"),
        ("same parser", RTX4, ("refuted", "high", ACCEPTED), None),
        ("same parser", TRT16, ("open", "medium", ACCEPTED), None),
        ("same parser", TRT, ("open", "high", ""), None),
        ("same parser refused", RTX4, ("confirmed", "confirmed", NO), "confirmed"),
        ("same parser refused", TRT16, ("open", "high", NO), "high"),
        ("same parser refused", TRT, ("open", "high", NO), "medium"),
    ],
)
def test_what_a_result_shows_for_a_target(
    result: str, target: Target, expected: tuple[str, str, str], experiment: str | None
) -> None:
    """The model has one operator, a predicted refusal and a finding about the dry build."""
    run = RESULTS[result]
    finding = findings(REFUSED, run, target)["BLD201"]
    standing, confidence, words = expected
    said = (f"{run.label}: {words}",) if words else ()
    assert (finding.standing, finding.confidence, finding.said) == (standing, confidence, said)
    own = [each for rule, each in findings(PLAIN, run, target).items() if rule.startswith("DRY")]
    assert [(each.confidence, each.standing, each.said) for each in own] == (
        [] if experiment is None else [(experiment, "open", (run.label,))]
    )


def test_what_succeeded_in_words() -> None:
    built = DryBuildResult("1.7.1", parsed=True, built=True, stage="build", shapes=(FIXED, CHOSEN))
    assert _passed_words(built, "parse") == f"{built.label}: {ACCEPTED}"
    assert _passed_words(built, "build") == (
        f"{built.label}: the builder builds the model ({FIXED.words}, {CHOSEN.words})"
    )
    assert _passed_words(BUILT, "build") == f"{BUILT.label}: the builder builds the model"


def test_the_targets_and_kinds_of_facts_that_it_is_for() -> None:
    evidence = DryBuildEvidence(DryBuild(BUILT), notes=("ran",))
    some = DryBuildEvidence(None, frozenset({RTX}), ("could not run",))
    assert (evidence.notes, evidence.data) == (("ran",), DryBuild(BUILT))
    assert (some.notes, some.data, some.summary) == (("could not run",), None, None)
    assert [each.bears_on(target) for each in (evidence, some) for target in (RTX, TRT)] == [
        True,
        True,
        True,
        False,
    ]
    own = {"dry_build", "parser_refusal", "builder_refusal", "log_message", "build", "engine", "layer"}
    assert {kind for kind in (*own, "node", "rejection") if evidence.states(kind)} == own
    for kind in ("build", "engine", "layer", "placement"):
        held = [evidence.holds_for(kind, target) for target in (RTX, RTX4, SM120, TRT)]
        assert held == [True, False, False, False]
        assert some.holds_for(kind, TRT)
    for kind in ("log_message", "dry_build", "node"):
        assert evidence.holds_for(kind, TRT)


LOG = "[E] [TRT] Error Code 10: Internal Error (Could not find any implementation for node one.)\n"


@pytest.mark.parametrize(
    ("version", "stage", "target", "expected"),
    [
        ("1.7.1", "parse", RTX, ("confirmed", "confirmed")),
        ("1.7.1", "parse", RTX4, ("open", "medium")),
        ("1.7.1", "parse", TRT, ("open", "medium")),
        ("1.4.0", "parse", TRT16, ("open", "high")),
        ("1.4.0", "build", TRT16, ("open", "medium")),
        ("1.7.1", "build", RTX, ("confirmed", "confirmed")),
        ("1.7.1", "build", SM120, ("open", "medium")),
        ("1.7.1", "build", RTX4, ("open", "medium")),
        ("1.7.1", "build", TRT, ("open", "medium")),
    ],
)
def test_a_message_of_a_dry_build_that_a_rule_is_about(
    version: str, stage: str, target: Target, expected: tuple[str, str], tmp_path: Path
) -> None:
    """Parser messages support findings for other products; builder messages are only quoted."""
    rule = make_rule(
        tmp_path, where='op == "Relu"', verdict="{confirm: [{log: [no_implementation]}]}", evidence="inferred"
    )
    passed = stage == "build"
    result = DryBuildResult(version, parsed=passed, built=False if passed else None, stage="build")
    record = facts_of_build(log=LOG).record
    facts = Facts(model_of(PLAIN), evidence=[DryBuildEvidence(DryBuild(result, record))])
    (finding,) = evaluate([rule], facts, target).findings
    assert (finding.standing, finding.confidence) == expected
    assert len(finding.said) == 1
    assert finding.said[0].startswith("build.log:1: ")


def test_errors_of_a_log_are_reported_by_the_rule_about_the_parser() -> None:
    def message(at: str, severity: str) -> LogMessage:
        usual: dict[str, Any] = {
            field: None for field in LogMessage.__struct_fields__ if field not in ("node", "chain")
        }
        return LogMessage(**{**usual, "at": at, "severity": severity})

    messages = [
        message(f"log:{line}", severity)
        for line, severity in enumerate(("error", "warning", "fatal", "info", "error"), 1)
    ]
    facts: Any = SimpleNamespace(of=lambda kind: [object(), *messages] if kind == "log_message" else [])
    parser, other = (next(rule for rule in RULES if rule.id == id_) for id_ in ("DRY101", "DRY102"))
    for result, rule, reported in (
        (PARSER_SAYS_NO, parser, ["log:1", "log:3", "log:5"]),
        (PARSER_SAYS_NO, other, []),
        (BUILT, parser, []),
        (DryBuildResult("1.7.1"), parser, []),
        (None, parser, []),
    ):
        evidence = DryBuildEvidence(None if result is None else DryBuild(result))
        assert list(evidence.reported_by(rule, facts)) == reported


def document(result: DryBuildResult) -> dict[str, Any]:
    """Return the dry-build part of a JSON report."""
    summary = DryBuildEvidence(DryBuild(result)).summary
    assert summary is not None
    return dict(summary.data)


EMPTY = {
    "version": "1.7.1",
    "level": "build",
    "sm": 89,
    "asked_sm": None,
    "stage": "load",
    "cause": "done",
    "signal": "",
    "parsed": None,
    "built": None,
    "errors": [],
    "shapes": [],
    "zeros": [],
    "seconds": 0.0,
    "peak": None,
    "last_lines": [],
}
NOT_COMPARED = {
    "release": "1.7.1",
    "outcome": "not-compared",
    "reason": "",
    "tensors": 0,
    "compared": 0,
    "share": 0.0,
    "unnamed": 0,
    "uncomputed": 0,
    "reasons": [],
    "sets": 0,
    "inputs": "made",
    "differences": [],
    "unclear": [],
    "deviations": [],
    "widened": False,
    "seconds": 0.0,
    "onnxruntime_seconds": 0.0,
    "peak": None,
}
SAID: dict[str, Any] = {
    "level": "parse",
    "sm": 120,
    "asked_sm": 75,
    "stage": "build",
    "cause": "crashed",
    "signal": "SIGSEGV",
    "parsed": True,
    "built": False,
    "peak": 7,
}
COUNTED: dict[str, Any] = {
    "reason": "why",
    "tensors": 9,
    "compared": 6,
    "unnamed": 2,
    "uncomputed": 1,
    "sets": 3,
    "inputs": "probe",
    "widened": True,
    "peak": 8,
}


def test_the_document_of_a_dry_build() -> None:
    assert document(DryBuildResult("1.7.1")) == EMPTY
    assert document(DryBuildResult("1.7.1", network=Agreement("1.7.1"))) == {
        **EMPTY,
        "comparison": NOT_COMPARED,
    }
    difference = TensorDifference("n", "Add", "t", "l", "SUM", "1", "2", (0, 3), 1.5, 2, 8, "random")
    network = Agreement(
        "1.7.1",
        **COUNTED,
        reasons=(ComputationFailure("no kernel", 1),),
        differences=(difference,),
        unclear=(AmbiguousTensor("u", "Mod"),),
        deviations=("rounding",),
        seconds=1.23456,
        onnxruntime_seconds=0.123456,
    )
    result = DryBuildResult(
        "1.7.1",
        **SAID,
        errors=PARSER_SAYS_NO.errors,
        shapes=(UsedShape("x", (1,), (2,), (3,), chosen=True, values=False),),
        zeros=("w.bin",),
        seconds=1.23456,
        last_lines=("the end",),
        network=network,
    )
    assert document(result) == {
        **EMPTY,
        **SAID,
        "errors": [
            {
                "code": "UNSUPPORTED_NODE",
                "node": "one",
                "op": "Unique",
                "index": 0,
                "text": "Assertion failed: no",
                "function": "checkUnique",
            }
        ],
        "shapes": [{"name": "x", "min": [1], "opt": [2], "max": [3], "chosen": True, "values": False}],
        "zeros": ["w.bin"],
        "seconds": 1.235,
        "last_lines": ["the end"],
        "comparison": {
            **NOT_COMPARED,
            **COUNTED,
            "outcome": "differs",
            "share": 0.6667,
            "reasons": [{"reason": "no kernel", "tensors": 1}],
            "differences": [
                {
                    "node": "n",
                    "op": "Add",
                    "tensor": "t",
                    "layer": "l",
                    "layer_kind": "SUM",
                    "expected": "1",
                    "got": "2",
                    "place": [0, 3],
                    "worst": 1.5,
                    "differing": 2,
                    "elements": 8,
                    "inputs": "random",
                    "others": [],
                    "oracles": "both",
                }
            ],
            "unclear": [{"tensor": "u", "op": "Mod"}],
            "deviations": ["rounding"],
            "seconds": 1.235,
            "onnxruntime_seconds": 0.1235,
        },
    }
