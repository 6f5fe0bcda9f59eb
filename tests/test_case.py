"""One model with its targets, its rules, its policy and its evidence."""

from __future__ import annotations

import json
import pickle
from io import BytesIO
from pathlib import Path

import onnx
import pytest

from tests.engine.rules import make_rule
from trtlint.buildfiles.log import read_log
from trtlint.buildfiles.record import FileRead, together
from trtlint.case import Case
from trtlint.engine.evidence.build import BuildEvidence
from trtlint.engine.rulebook import load_builtin
from trtlint.engine.ruleset import OtherRulesError, RuleSet
from trtlint.model.errors import ModelError
from trtlint.model.load import load
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
    return BuildEvidence(together([FileRead("build.log", read_log(BytesIO(text.encode())))]))


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
