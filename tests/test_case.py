"""Tests of cases: one model with its targets, rules, policy and evidence."""

from __future__ import annotations

import gc
import json
import pickle
import sys
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import onnx
import pytest
from msgspec import Struct
from msgspec.structs import replace

from tests.engine.rules import make_rule
from trtlint.buildcommand import BuildCommand
from trtlint.buildfiles.log import read_log
from trtlint.buildfiles.record import FileContents, together
from trtlint.case import Case, facts_of
from trtlint.engine.evidence.base import Evidence, Question
from trtlint.engine.evidence.build import BuildEvidence
from trtlint.engine.finding import ModelReport
from trtlint.engine.rulebook import load_builtin
from trtlint.engine.ruleset import OtherRulesError, RuleSet
from trtlint.facts import kinds
from trtlint.facts.base import Fact
from trtlint.facts.kinds import Ground
from trtlint.files.problem import Problem
from trtlint.model.errors import ModelError
from trtlint.model.load import load
from trtlint.remote.addresses import parse
from trtlint.target.target import Target

ATTENTION = """
< ir_version: 8, opset_import: ["" : 17] >
g (float16[1,4,128,64] q, float16[1,4,64,128] k, float16[1,4,128,64] v) => (float16[1,4,128,64] y)
< float16 s = {14336} >
{ [sq] a = Mul (q, s) [sk] b = Mul (k, s) [qk] z = MatMul (a, b) [sm] p = Softmax (z) [pv] y = MatMul (p, v) }
"""
TARGETS = (Target(version="10.7"), Target(version="10.8"))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "attention.onnx"
    onnx.save(onnx.parser.parse_model(ATTENTION), path)
    return path


@pytest.fixture
def case(model: Path) -> Case:
    return Case(model, TARGETS, RuleSet(load_builtin().entries))


def log(text: str) -> BuildEvidence:
    return BuildEvidence(together([FileContents("build.log", read_log(BytesIO(text.encode())))]))


def test_it_reports_each_target_and_evaluates_one(case: Case) -> None:
    reports = case.report()
    assert [report.target for report in reports] == ["TensorRT 10.7", "TensorRT 10.8"]
    assert [["ACC102" in {f.rule for f in report.findings}] for report in reports] == [[True], [False]]
    assert case.evaluate() == case.evaluated()[0]
    assert case.evaluate(TARGETS[1]) == case.evaluated()[1]


def test_it_goes_to_another_process_and_finds_the_same(case: Case) -> None:
    sent = pickle.loads(pickle.dumps(case))
    assert sent.evaluated() == case.evaluated()


def test_other_rule_files_are_not_used(case: Case, tmp_path: Path) -> None:
    rule = make_rule(tmp_path, where='op == "Softmax"')
    data = pickle.dumps(RuleSet.of([rule]))
    assert [entry.id for entry in pickle.loads(data)] == [rule.id]
    data = pickle.dumps(RuleSet.of([rule]))
    rule.path.write_text(rule.path.read_text(encoding="utf-8") + "\nMore.\n", encoding="utf-8")
    from trtlint.engine import ruleset

    ruleset._found_again.cache_clear()
    with pytest.raises(OtherRulesError, match="rule files changed"):
        list(pickle.loads(data))


def test_the_build_completes_the_targets_once(case: Case) -> None:
    built = log("[I] [TRT] [MemUsageChange]\n[I] TensorRT version: 10.7.0\n[I] Precision: FP32+FP16\n")
    known = Case(case.path, (Target(), Target(version="10.7")), case.rules, evidence=(built,))
    assert [target.version for target in known.built_for] == ["10.7.0", "10.7"]
    assert {"build", "model"} == known.grounds
    assert known.build_files == ("build.log",)


def test_rules_that_have_nothing_to_look_at_do_not_run(case: Case) -> None:
    kinds = {entry.find for entry in case.applicable}
    assert "attention" in kinds
    assert kinds.isdisjoint({"log_message", "tensor_range", "weights", "flag"})


def test_another_form_of_the_model_has_no_build(case: Case) -> None:
    built = Case(case.path, (Target(),), case.rules, evidence=(log("[I] TensorRT version: 10.7.0\n"),))
    other = built.with_model(load(case.path))
    assert other.evidence == ()
    assert other.built_for == built.built_for
    assert other.facts().model.path == case.path


def test_the_policy_is_of_the_model_itself_too(case: Case, model: Path) -> None:
    proto = onnx.load(model)
    accepted = json.dumps([{"rule": "ACC102", "reason": "measured: no loss"}])
    proto.metadata_props.add(key="trtlint.suppress", value=accepted)
    onnx.save(proto, model)
    assert [finding.rule for finding in case.report()[0].suppressed] == ["ACC102"]
    assert case.evaluated()[0].suppressed == ()


def test_what_is_wrong_with_a_file_is_in_its_reports(tmp_path: Path) -> None:
    (tmp_path / "broken.onnx").write_bytes(b"\x08\x08")
    case = Case(tmp_path / "broken.onnx", TARGETS, RuleSet())
    assert [len(report.errors) for report in case.report()] == [1, 1]
    with pytest.raises(ModelError):
        case.facts()


class Plain(Evidence, Struct, frozen=True):
    """Named evidence for some TensorRT versions."""

    name: str
    versions: tuple[str, ...] = ("10.7", "10.8")
    stays: bool = False
    judges: bool = True
    listed: tuple[str, ...] = ()

    kind = "plain"
    grounds = frozenset({"build"})

    @property
    def data(self) -> object:
        return self.name if self.name != "number" else 7

    @property
    def files(self) -> tuple[str, ...]:
        return self.listed

    @property
    def notes(self) -> tuple[str, ...]:
        return (f"note of {self.name}",)

    @property
    def of_any_form(self) -> Evidence | None:
        return self if self.stays else None

    def form(self, path: str) -> str:
        return f"form of {path}"

    def bears_on(self, target: Target) -> bool:
        return target.version in self.versions

    def judge(self, question: Question) -> None:
        return None


class Pending(Struct, frozen=True):
    """A pending experiment."""

    name: str
    here: bool = True

    @property
    def grounds(self) -> frozenset[Ground]:
        return frozenset({"trial"})

    def gather(self, model: Path, targets: tuple[Target, ...]) -> tuple[Evidence, ...]:
        return tuple(Plain(f"{self.name} {model.name} {target.version}") for target in targets)

    def elsewhere(self) -> Pending:
        return replace(self, here=False)


def test_data_of_evidence(case: Case) -> None:
    own = replace(case, evidence=(Pending("p"), Plain("number"), Plain("a"), Plain("b")))
    assert (own.data(str), own.data(int), own.data(float), case.data(str)) == ("a", 7, None, None)


def test_grounds_of_a_case(case: Case) -> None:
    evidence = (Plain("a"), Pending("p"))
    assert case.grounds == {"model"}
    assert replace(case, weights=True).grounds == {"model", "weights"}
    assert replace(case, weights=True, alone=True).grounds == set()
    assert replace(case, evidence=evidence).grounds == {"model", "build", "trial"}
    assert replace(case, alone=True, evidence=evidence[1:]).grounds == {"trial"}
    command = BuildCommand("trtexec", ())
    assert replace(case, command=command).grounds == {"model", "command"}


class Sound(Fact, frozen=True):
    """A fact from a source that trtlint does not have."""

    kind = "sound"


class Recording(Plain, frozen=True):
    """Evidence that provides a new source of facts."""

    grounds = frozenset({"recording"})  # type: ignore[arg-type]  # no source of trtlint


def test_facts_from_a_new_source(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    homes = {**kinds._homes(), "sound": "recording"}
    module = SimpleNamespace(find=lambda facts: [Sound()] if facts.data(str) == "a" else [])
    monkeypatch.setattr(kinds, "_homes", lambda: homes)
    monkeypatch.setitem(sys.modules, "trtlint.facts.of_recording.sound", module)
    for alone in (False, True):
        own = replace(case, evidence=(Recording("a"),), alone=alone)
        facts = own.facts()
        assert own.grounds == facts.grounds == ({"recording"} if alone else {"model", "recording"})
        assert facts.of("sound") == (Sound(),)
        assert facts.has("sound")
    assert case.facts().of("sound") == ()


def test_the_address_of_a_model(case: Case) -> None:
    address = parse("hf://owner/name/m.onnx")
    assert (case.address, replace(case, source=address).address) == (None, address)
    assert replace(case, source=load(case.path)).address is None


def test_experiments_run_in_their_order(case: Case) -> None:
    plain = replace(case, evidence=(Plain("a"), Plain("b")))
    assert plain.gathered() is plain
    pending = replace(case, evidence=(Plain("a"), Pending("p"), Plain("b")))
    name = case.path.name
    assert pending.gathered().evidence == (
        Plain("a"), Plain(f"p {name} 10.7"), Plain(f"p {name} 10.8"), Plain("b"),
    )  # fmt: skip
    assert pending.without_experiments().evidence == (Plain("a"), Plain("b"))


def test_a_rewritten_model_keeps_some_evidence(case: Case) -> None:
    evidence = (Plain("a"), Plain("b", stays=True), Pending("p"))
    own = replace(case, evidence=evidence, problems=(Problem("x", "y"),))
    model = load(case.path)
    assert own.with_model(model) == replace(case, source=model, evidence=(Plain("b", stays=True),))


def test_a_case_for_another_folder(case: Case) -> None:
    own = replace(case, path=Path("a/m.onnx"), evidence=(Plain("a"), Pending("p")))
    found = own.at(Path("/work"))
    assert found == replace(own, path=Path("/work/a/m.onnx"), evidence=(Plain("a"), Pending("p", here=False)))


def test_build_files_of_all_evidence(case: Case) -> None:
    evidence = (Plain("a", listed=("a", "b")), Pending("p"), Plain("b"), Plain("c", listed=("c",)))
    assert replace(case, evidence=evidence).build_files == ("a", "b", "c")


def test_notes_of_the_evidence_for_a_target(case: Case) -> None:
    evidence = (Plain("a", ("10.8",)), Plain("b"), Plain("c", ("10.7",), judges=False))
    first, second = replace(case, evidence=evidence).evaluated()
    assert first.notes == ("note of b", "note of c")
    assert second.notes == ("note of a", "note of b")


def test_targets_with_the_same_evidence_share_their_facts(case: Case) -> None:
    def shared(*evidence: Evidence) -> bool:
        opened = replace(case, evidence=evidence).open()
        return opened.facts(TARGETS[0]) is opened.facts(TARGETS[1])

    assert shared()
    assert shared(Plain("a"))
    assert not shared(Plain("a", ("10.8",)))
    assert shared(Plain("a", ("10.8",), judges=False))
    opened = replace(case, evidence=(Plain("a", ("10.8",)),)).open()
    assert opened.facts() is opened.facts(TARGETS[0])


def test_the_form_of_a_file_without_a_model(case: Case) -> None:
    def form(*evidence: Evidence) -> str:
        return replace(case, alone=True, evidence=evidence).evaluate().form

    assert case.evaluate().form == "model"
    assert form(Plain("a"), Plain("b", listed=("b.log", "c.log"))) == "form of b.log"
    assert form(Plain("a")) == "build"


def test_a_case_without_model_and_evidence(case: Case) -> None:
    problem = Problem("build.log", "cannot be read")
    alone = replace(case, alone=True, problems=(problem,))
    assert alone.load() is None
    assert alone.evaluated() == tuple(
        ModelReport(str(case.path), target.words, errors=(problem,), form="file") for target in TARGETS
    )
    missing = replace(case, path=Path("none.onnx"), problems=(problem,))
    first, second = missing.evaluated()
    assert (first.form, len(first.errors), first.errors[1]) == ("model", 2, problem)
    assert first.errors[0].path == "none.onnx"
    assert second.errors == first.errors


def test_a_problem_beside_a_model(case: Case) -> None:
    problem = Problem("build.log", "cannot be read")
    assert replace(case, problems=(problem,)).evaluate().errors == (problem,)


@pytest.mark.parametrize("enabled", [True, False])
def test_the_garbage_collector_rests_while_a_model_is_linted(
    enabled: bool, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    before = gc.isenabled()
    monkeypatch.setattr(Case, "load", lambda _: seen.append(gc.isenabled()))
    (gc.enable if enabled else gc.disable)()
    try:
        case.evaluated()
        assert (seen, gc.isenabled()) == ([False], enabled)
    finally:
        (gc.enable if before else gc.disable)()


def test_facts_of_a_model_read_the_weights_on_request(case: Case) -> None:
    model = case.load()
    assert [facts_of(model).reads_weights, facts_of(model, weights=True).reads_weights] == [False, True]
    cases = (case, replace(case, weights=True))
    assert [each.open().facts().reads_weights for each in cases] == [False, True]
