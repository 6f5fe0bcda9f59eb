"""Tests of predicted refusals: parser errors at their nodes confirm them.

The logs are those of the Python logger of TensorRT-RTX 1.7.1, without what it says of the file.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.engine.rules import make_rule
from tests.facts.builds import facts_of_build
from tests.graphs import model_of
from trtlint.dry_build.result import DryBuild, DryBuildResult, ParserMessage
from trtlint.engine.evaluate import evaluate
from trtlint.engine.evidence.dry_build import DryBuildEvidence
from trtlint.engine.finding import Finding
from trtlint.engine.refusals import (
    build_failed,
    errors_in_log,
    errors_of_parser,
    nameless_errors,
    nodes_of,
    success,
    why_failed,
)
from trtlint.engine.rule import Rule, RuleError
from trtlint.engine.rulebook import load_builtin
from trtlint.engine.scope import predicts_refusal
from trtlint.engine.subjects import Subject
from trtlint.facts.base import Step
from trtlint.facts.facts import Facts
from trtlint.facts.of_build.build import BuildFact
from trtlint.facts.of_build.log_message import LogMessage
from trtlint.facts.of_trial.parser_refusal import ParserRefusal
from trtlint.facts.refusal import Refusal
from trtlint.model.graph import Node
from trtlint.target.target import Target

HEAD = '< ir_version: 8, opset_import: ["" : 17, "my.ops" : 1] >'
NONZERO = f"{HEAD} g (bool[16] m) => (int64[1,N] i) {{ [nz] i = NonZero (m) }}"
CUSTOM = f"{HEAD} g (float[1,64] x) => (float[1,64] y) {{ [fancy] y = my.ops.FancyNorm (x) }}"
BRANCH = f"""{HEAD}
g (float[2,3] x, bool c) => (float[A] y)
{{
  [the_if] y = If (c) <
    then_branch = a () => (float p) {{ p = ReduceSum <keepdims = 0> (x) }},
    else_branch = b () => (float[2,3] q) {{ q = Identity (x) }}
  >
}}
"""
DYNAMIC = f"{HEAD} g (float[b,3,8,8] x, float[2,2] w) => (float[b,3,8,8] y) {{ [r] y = Relu (x) }}"
ELU = f"{HEAD} g (float[1,8] h2) => (float[1,8] y) {{ [first] h = Relu (h2) [elu2] y = Elu (h) }}"

STOPPED = """\
[11/22/2026-16:35:20] [TRT] [E] ModelImporter.cpp:140: While parsing node number 0 [{op} -> "{output}"]:
[11/22/2026-16:35:20] [TRT] [E] ModelImporter.cpp:142: --- Begin node ---
Node name: {name}
[11/22/2026-16:35:20] [TRT] [E] ModelImporter.cpp:143: --- End node ---
[11/22/2026-16:35:20] [TRT] [E] ModelImporter.cpp:151: ERROR: {reason}
"""
NO_CREATOR = (
    "Assertion failed: creator && getPluginCreatorVersion(creator) == CreatorVersion::kV3ONE: "
    "NonZero plugin creator version 1 was not found in plugin registry."
)
NONZERO_LOG = STOPPED.format(
    op="NonZero",
    output="i",
    name="nz",
    reason=f"onnxOpImporters.cpp:9100 In function importNonZero:\n[8] {NO_CREATOR}",
)
CUSTOM_LOG = STOPPED.format(
    op="FancyNorm",
    output="y",
    name="fancy",
    reason="onnxOpCheckers.cpp:998 In function checkFallbackPluginImporter:\n"
    '[6] creator && "Plugin not found, are the plugin name, version, and namespace correct?"',
)
BRANCH_LOG = (
    "[11/22/2026-16:35:21] [TRT] [E] IBuilder::buildSerializedNetwork: Error Code 4: API Usage Error "
    "(IConditionalOutputLayer the_if_OutputLayer: Must have inputs with equal ranks when condition is not a "
    "build-time constant. Dimensions are [] and [2,3]. In lowerShapes at "
    "/_src/optimizer/common/nodes/conditionalOutputNode.cpp:144 In analyzeShapes at "
    "/_src/optimizer/shapeof/graphShapeAnalyzer.cpp:2825)\n"
)
NO_PROFILE_LOG = (
    "[11/22/2026-16:35:21] [TRT] [E] IBuilder::buildSerializedNetwork: Error Code 4: API Usage Error "
    "(Network has dynamic or shape inputs, but no optimization profile has been defined. In validate at "
    "/_src/optimizer/api/network.cpp:4023)\n"
)
ELU_LOG = """\
[11/22/2026-16:37:51] [TRT] [V] =============== Computing costs for {ForeignNode[first...elu2]}
[11/22/2026-16:37:51] [TRT] [E] IBuilder::buildSerializedNetwork: Error Code 1: Myelin \
([shape.cpp:175: ~op_constraints_msg_streamer_t]\x20
Error during shape inference of
y : f32[1, 8]{1, 0} = elu(h2, elu2_alpha), name=elu2_elu
Error is:
There are 2 inputs. Expected 1. In compileGraph at /_src/optimizer/myelin/codeGenerator.cpp:2012)
"""
RTX = Target("tensorrt-rtx", "1.7")
RULES = tuple(entry.read() for entry in load_builtin().entries)


def findings(model: str | None, log: str, target: Target = RTX) -> dict[str, Finding]:
    found = evaluate(RULES, facts_of_build(log=log, model=model), target).findings
    return {finding.rule: finding for finding in found if finding.severity != "note"}


def test_the_refusal_that_was_predicted_confirms_the_finding() -> None:
    found = findings(NONZERO, NONZERO_LOG)
    assert list(found) == ["BLD203"]  # and no LOG102 that quotes the same line
    assert (found["BLD203"].standing, found["BLD203"].confidence) == ("confirmed", "confirmed")
    assert "build.log:5: " in found["BLD203"].said[0]


def test_the_parser_of_a_dry_build_confirms_it_too() -> None:
    error = ParserMessage("UNSUPPORTED_NODE", "nz", "NonZero", 0, NO_CREATOR, "importNonZero")
    result = DryBuildResult("1.7.1", parsed=False, stage="parse", errors=(error,))
    facts = Facts(model_of(NONZERO), evidence=[DryBuildEvidence(DryBuild(result))])
    found = {finding.rule: finding for finding in evaluate(RULES, facts, RTX).findings}
    assert "DRY101" not in found
    assert (found["BLD203"].standing, found["BLD203"].severity) == ("confirmed", "error")


def test_a_builder_error_at_the_node_outweighs_a_parser_that_took_it() -> None:
    log = facts_of_build(log=BRANCH_LOG).record
    result = DryBuildResult("1.7.1", parsed=True, built=False, stage="build")
    facts = Facts(model_of(BRANCH), evidence=[DryBuildEvidence(DryBuild(result, log))])
    found = {finding.rule: finding for finding in evaluate(RULES, facts, RTX).findings}
    assert found["BLD216"].standing == "confirmed"
    assert not found.keys() & {"LOG124", "DRY102"}


def test_only_a_success_refutes() -> None:
    assert not findings(NONZERO, "[V] [TRT] Parsing node: nz [NonZero]\n[V] [TRT] Original: 1 layers\n")
    open_ = findings(NONZERO, "[V] [TRT] Parsing node: nz [NonZero]\n")["BLD203"]
    assert open_.standing == "open"


def build_fact(**fields: Any) -> BuildFact:
    """Return a fact about a build with only some known fields."""
    known = {name: None for name in BuildFact.__struct_fields__ if name not in ("node", "chain")}
    return BuildFact(**{**known, "counts": {}, **fields})


ACCEPTED, BUILT = "the parser accepted the whole network", "the engine was built"


@pytest.mark.parametrize(
    ("parsed", "timed", "parse", "build"),
    [
        (None, False, "", ""),
        (True, False, ACCEPTED, ""),
        (False, False, "", ""),
        (None, True, BUILT, BUILT),
        (True, True, ACCEPTED, BUILT),
        (False, True, "", ""),
    ],
)
def test_what_shows_that_a_stage_succeeded(parsed: bool | None, timed: bool, parse: str, build: str) -> None:
    fact = build_fact(parsed=parsed, counts={"engine_time": 1} if timed else {"other": 1})
    for before in ((), (object(),), (build_fact(),)):
        facts: Any = SimpleNamespace(of=lambda kind, facts=(*before, fact): facts if kind == "build" else ())
        assert success(facts, Refusal("parse", "Relu", "")) == parse
        assert success(facts, Refusal("build", "Relu", "")) == build


@pytest.mark.parametrize(
    ("status", "dry", "failed"),
    [("failed", None, True), ("failed", object(), False), ("succeeded", None, False), (None, None, False)],
)
def test_only_a_real_build_fails(status: str | None, dry: object, failed: bool) -> None:
    known = (object(), build_fact(status=status), build_fact())
    facts: Any = SimpleNamespace(dry=dry, of=lambda kind: known if kind == "build" else ())
    assert build_failed(facts) is failed


REFUSED, OTHER = (model_of(ELU).graph.nodes[place] for place in (0, 1))


def message(line: int, name: str = "parser_error", **fields: Any) -> LogMessage:
    """Return a message with the reason of an error."""
    usual: dict[str, Any] = dict.fromkeys(
        field for field in LogMessage.__struct_fields__ if field not in ("node", "chain")
    )
    own = {"name": name, "line": line, "severity": "error", "overcome": False, "first": True}
    own |= {"nodes": (), "groups": {}, "names_nodes": True}
    return LogMessage(**{**usual, **own, **fields})


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (message(1), ("holds parse", "holds build", "parse")),
        (message(1, "plugin_not_found"), ("holds parse", "holds build", "parse")),
        (message(1, overcome=True), ("holds parse", "holds build", "parse")),
        (message(1, "api_error"), ("holds parse", "holds build")),
        (message(1, "api_error", overcome=True), ()),
        (message(1, severity="warning"), ()),
        (message(1, nodes=(REFUSED, OTHER), names_nodes=False), ()),
    ],
)
def test_errors_that_count(known: LogMessage, expected: tuple[str, ...]) -> None:
    facts: Any = SimpleNamespace(node_evidence=SimpleNamespace(messages={REFUSED: (known,)}))

    def counts(stage: Any, *, holds: bool) -> bool:
        refusal = Refusal(stage, "Relu", "") if stage else None
        subject = Subject(REFUSED, "", (), {}, refusal=refusal)
        return errors_in_log(facts, subject, holds=holds) == (known,)

    found = [
        words
        for words, stage, holds in (
            ("holds parse", "parse", True),
            ("holds build", "build", True),
            ("parse", "parse", False),
            ("build", "build", False),
            ("none", None, False),
        )
        if counts(stage, holds=holds)
    ]
    assert tuple(found) == expected


def test_errors_are_in_the_order_of_the_log() -> None:
    first, second, again = message(1), message(2), message(2, "api_error")
    facts: Any = SimpleNamespace(
        node_evidence=SimpleNamespace(messages={REFUSED: (second, again), OTHER: (first,)})
    )
    both = Subject(REFUSED, "", (Step(REFUSED, "refused"), Step(OTHER, "refused")), {})
    assert errors_in_log(facts, both, holds=True) == (first, second)
    one = Subject(REFUSED, "", (Step(REFUSED, "refused"), Step(OTHER, "other")), {})
    assert errors_in_log(facts, one, holds=True) == (second,)
    assert nodes_of(both) == {REFUSED, OTHER}
    assert nodes_of(one) == nodes_of(Subject(REFUSED, "", (), {})) == {REFUSED}
    assert nodes_of(Subject(None, "", (Step(OTHER, "refused"),), {})) == frozenset()


def test_errors_of_the_parser_in_a_dry_build() -> None:
    def error(node: Node | None) -> ParserRefusal:
        return ParserRefusal("label", "Relu", "CODE", "", "", "", node=node)

    own, other, none = error(REFUSED), error(OTHER), error(None)
    facts: Any = SimpleNamespace(
        of=lambda kind: (other, object(), none, own) if kind == "parser_refusal" else ()
    )
    subject = Subject(REFUSED, "", (), {})
    parse, build = Refusal("parse", "Relu", ""), Refusal("build", "Relu", "")
    assert errors_of_parser(facts, subject, parse, holds=True) == (own,)
    assert errors_of_parser(facts, subject, parse, holds=False) == (own,)
    assert errors_of_parser(facts, subject, build, holds=True) == (own,)
    assert errors_of_parser(facts, subject, build, holds=False) == ()
    assert errors_of_parser(facts, Subject(None, "", (), {}), parse, holds=True) == ()


def test_errors_that_name_no_node() -> None:
    known = [message(1), message(2, first=False), message(3, "api_error"), message(4, "type_error")]
    facts: Any = SimpleNamespace(node_evidence=SimpleNamespace(nameless=known))
    assert list(nameless_errors(facts, Refusal("parse", "Relu", ""))) == [known[0], known[3]]
    assert list(nameless_errors(facts, Refusal("build", "Relu", ""))) == []


def test_the_likeliest_cause_of_a_failure() -> None:
    def subject(line: int, **fields: Any) -> Subject:
        usual = {"leads": False, "stops": False, "severity": "error"}
        return Subject(None, "", (), {}, fact=message(line, **{**usual, **fields}))

    leads, stops, plain = subject(1, leads=True), subject(2, stops=True), subject(3)
    bare, overcome, warning = (
        subject(4, severity=None),
        subject(5, overcome=True),
        subject(6, severity="warning"),
    )
    fatal = subject(7, severity="fatal")
    other = Subject(None, "", (), {})
    assert why_failed([other]) is None
    assert why_failed([]) is None
    order = [leads, stops, plain, overcome]
    for place, best in enumerate(order):
        assert why_failed([other, *reversed(order[place:])]) is best
    for one in (bare, fatal, plain):
        assert why_failed([overcome, warning, one]) is one
    assert why_failed([warning, overcome]) is warning
    assert why_failed([overcome, warning]) is overcome


def test_a_rule_about_refusals_can_name_no_refutation(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="refutes them when the parser or builder succeeds"):
        make_rule(tmp_path, find="rejection", verdict="{refute: [{log: [parser_error]}]}")


def test_an_error_of_an_island_says_nothing_of_one_node() -> None:
    both = f"{HEAD} g (bool[16] m) => (int64[N,1] i) {{ [nz] j = NonZero (m) [t] i = Transpose (j) }}"
    log = (
        "[V] [TRT] Parsing node: nz [NonZero]\n"
        "[E] [TRT] IBuilder::buildSerializedNetwork: Error Code 10: Internal Error (Could not find any "
        "implementation for node {ForeignNode[nz...t]}.)\n"
    )
    assert findings(both, log)["BLD203"].standing == "open"


def test_an_error_of_the_builder_decides_no_open_question() -> None:
    """BLD215 depends on the GPU; an error about shapes does not decide it."""
    gemm = f"{HEAD} g (float[b,4] x, float[8,2] w) => (float[b,2] y) {{ [gemm] y = Gemm (x, w) }}"
    log = (
        "[E] [TRT] IBuilder::buildSerializedNetwork: Error Code 4: API Usage Error "
        "(IMatrixMultiplyLayer gemm: gemm: attempt to multiply two matrices with mismatching dimensions "
        "In processCheck at /_src/optimizer/shapeof/graphShapeAnalyzer.cpp:1066)\n"
    )
    assert "BLD215" not in findings(gemm, log)


def test_a_log_without_its_model_and_with_it_gives_an_error() -> None:
    alone, with_model = findings(None, CUSTOM_LOG), findings(CUSTOM, CUSTOM_LOG)
    assert {rule: finding.severity for rule, finding in alone.items()} == {"LOG103": "error"}
    assert {rule: finding.severity for rule, finding in with_model.items()} == {"BLD202": "error"}
    assert with_model["BLD202"].confidence == "confirmed"


def test_a_plugin_that_nobody_declared_stays_a_warning_without_a_failed_build() -> None:
    assert findings(CUSTOM, "[V] [TRT] Parsing node: fancy [FancyNorm]\n")["BLD202"].severity == "warning"


def test_the_error_of_a_layer_of_the_parser_is_one_of_its_node() -> None:
    found = findings(BRANCH, BRANCH_LOG)
    assert list(found) == ["BLD216"]
    assert found["BLD216"].confidence == "confirmed"
    assert "the_if_OutputLayer" in found["BLD216"].said[0]


@pytest.fixture
def silent(tmp_path: Path) -> Rule:
    """Return the fallback rule with a condition that no message meets."""
    front = {"name": "build-failed", "find": "log_message", "severity": "error", "default": "true"}
    return make_rule(tmp_path, **front, where="line < 0", message="'{name}'")


@pytest.mark.parametrize("log", [NONZERO_LOG, CUSTOM_LOG, BRANCH_LOG, NO_PROFILE_LOG, ELU_LOG])
def test_a_failed_build_is_an_error_whatever_the_rules_say(silent: Rule, log: str) -> None:
    (found,) = evaluate([silent], facts_of_build(log=log), Target()).findings
    assert (found.severity, found.confidence) == ("error", "confirmed")


def test_the_last_resort_names_the_line_that_says_best_why(silent: Rule) -> None:
    (found,) = evaluate([silent], facts_of_build(log=CUSTOM_LOG), Target()).findings
    assert found.message == "plugin_not_found"  # it names the operator and the reason


def test_a_build_that_went_on_needs_no_last_resort(silent: Rule) -> None:
    passed = f"{BRANCH_LOG}[V] Engine generation completed in 2.1 seconds.\n"
    assert not evaluate([silent], facts_of_build(log=passed), Target()).findings


def test_the_last_resort_is_a_rule() -> None:
    assert [rule.id for rule in RULES if rule.default] == ["LOG124"]


def test_a_missing_profile_names_the_inputs_of_the_model() -> None:
    found = findings(DYNAMIC, NO_PROFILE_LOG)["LOG115"]
    assert found.message == "no optimization profile for x[b,3,8,8]"
    assert "--minShapes=x:1x3x8x8 --optShapes=x:1x3x8x8 --maxShapes=x:1x3x8x8" in found.advice[0]
    assert "does not name the input" in findings(None, NO_PROFILE_LOG)["LOG115"].message


def test_the_lines_behind_the_first_give_operator_and_reason() -> None:
    found = findings(ELU, ELU_LOG)["LOG124"]
    assert found.message == (
        "no engine was created at Elu: Error during shape inference of y : f32[1, 8]{1, 0} = "
        "elu(h2, elu2_alpha), name=elu2_elu Error is: There are 2 inputs. Expected 1"
    )
    assert [site.node for site in found.sites] == ["elu2"]
    assert "There are 2 inputs. Expected 1" in found.said[0]


def test_no_rule_about_refusals_has_a_refutation() -> None:
    about = [rule for rule in RULES if predicts_refusal(rule.find)]
    assert about
    assert not [rule.id for rule in about if rule.verdict.refute]
