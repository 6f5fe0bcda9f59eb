"""Rewrites that make a whole model worse: each is withdrawn alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

from trtlint.cli import run
from trtlint.compare.comparison import available
from trtlint.engine.evaluate import Evaluation
from trtlint.engine.finding import ModelReport
from trtlint.engine.rulebook import builtin_rules, load_rules
from trtlint.facts.facts import Facts
from trtlint.fixes import verification
from trtlint.fixes.fixing import Fixed, fix_file
from trtlint.fixes.patch import Patch
from trtlint.fixes.source import read_source
from trtlint.fixes.verification import CheckResult
from trtlint.fixes.withdrawing import MOST_CHECKS
from trtlint.model.load import Model
from trtlint.target.target import Target

MODEL = """< ir_version: 8, opset_import: ["" : 13] >
g (float16[4,8] x0, float16[4,8] x1, float16[4,8] x2, float16[4,8] z)
=> (float16[4,8] y0, float16[4,8] y1, float16[4,8] y2, float16[4,1] l)
< float16 one = {15360} >
{ e0 = Exp (x0)  a0 = Add (e0, one)  y0 = Log (a0)
  e1 = Exp (x1)  a1 = Add (e1, one)  y1 = Log (a1)
  e2 = Exp (x2)  a2 = Add (e2, one)  y2 = Log (a2)
  e = Exp (z)  axes = Constant <value_ints = [1]> ()  s = ReduceSum (e, axes)  l = Log (s) }"""
"""Three places for fuse-softplus, one for shift-logsumexp; 15360 are the bits of 1."""

Check = Callable[[onnx.ModelProto, tuple[Patch, ...]], str]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), file)
    return file


def fixed_with(path: Path, verify: Check | None) -> Fixed:
    rules = tuple(rule for rule in load_rules([builtin_rules()]) if rule.id in ("ACC115", "ACC116"))

    def judge(model: Model) -> tuple[Facts, tuple[ModelReport, ...]]:
        evaluation = Evaluation(Facts(model))
        return evaluation.facts, (evaluation.report(rules, Target(version="11.4")),)

    return fix_file(read_source(path), judge, verify=verify)


def softplus(proto: onnx.ModelProto) -> set[str]:
    """The outputs that a Softplus computes."""
    return {node.output[0] for node in proto.graph.node if node.op_type == "Softplus"}


@pytest.mark.slow
def test_one_rewrite_is_withdrawn_and_the_others_stay(path: Path) -> None:
    seen: list[onnx.ModelProto] = []

    def verify(proto: onnx.ModelProto, _: tuple[Patch, ...]) -> str:
        seen.append(proto)
        return "y1 is off" if "y1" in softplus(proto) else ""

    whole, found = fixed_with(path, None), fixed_with(path, verify)
    assert len(whole.outcome.applied) == 4
    assert softplus(found.proto) == {"y0", "y2"}
    assert sorted(each.fix for each in found.outcome.applied) == [
        "fuse-softplus",
        "fuse-softplus",
        "shift-logsumexp",
    ]
    (refused,) = found.outcome.refused
    assert (refused.fix, refused.reason) == ("fuse-softplus", "withdrawn: y1 is off")
    assert not found.fault
    assert seen[-1] is found.outcome.after.proto
    assert len(seen) <= MOST_CHECKS


def test_what_is_worse_at_two_places_is_withdrawn_at_all(path: Path) -> None:
    found = fixed_with(path, lambda proto, _: "off" if {"y0", "y2"} & softplus(proto) else "")
    assert [each.fix for each in found.outcome.applied] == ["shift-logsumexp"]
    assert {each.reason for each in found.outcome.refused} == {
        "withdrawn: off",
        "withdrawn: at another site: off",
    }


@pytest.mark.slow
def test_the_checks_are_bounded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def verify(proto: onnx.ModelProto, _: tuple[Patch, ...]) -> str:
        calls.append(proto)
        return "off" if proto.graph.node else ""

    found = fixed_with(path, verify)
    assert not found.outcome.applied
    assert len(calls) <= MOST_CHECKS
    monkeypatch.setattr("trtlint.fixes.withdrawing.withdrawing.__defaults__", (1,))
    calls.clear()
    found = fixed_with(path, lambda proto, patches: verify(proto, patches) if softplus(proto) else "")
    assert len(calls) == 1
    assert all(
        "withdrawn together with all rewrites after it: off" in each.reason for each in found.outcome.refused
    )
    assert not softplus(found.proto)


def test_what_the_checker_refuses_is_withdrawn(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trtlint.fixes import relint

    real = relint.checked

    def checked(proto: onnx.ModelProto, before: onnx.ModelProto) -> tuple[onnx.ModelProto, str]:
        return (proto, "no y2") if "y2" in softplus(proto) else real(proto, before)

    monkeypatch.setattr(relint, "checked", checked)
    found = fixed_with(path, None)
    assert softplus(found.proto) == {"y0", "y1"}
    assert [each.reason for each in found.outcome.refused] == [
        "withdrawn: the ONNX checker rejects the rewritten model: no y2"
    ]


@pytest.mark.skipif(not available(), reason="onnxruntime is not installed")
def test_the_command_writes_what_is_left_and_reports_it(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def outputs(_: Path, after: Path, *__: object, **___: object) -> CheckResult:
        worse = "y1" in softplus(onnx.load(after))
        return CheckResult("outputs", not worse, "y1 is off" if worse else "8 sets", {})

    monkeypatch.setattr(verification, "outputs", outputs)
    words = ["fix", str(path), "--trt", "11.4", "--isolated", "--verify", "--format", "json"]
    assert run(words) == 0  # what is left is a warning
    (model,) = json.loads(capsys.readouterr().out)["models"]
    assert {each["fix"] for each in model["applied"]} >= {"fuse-softplus", "shift-logsumexp"}
    reasons = [each["reason"] for each in model["refused"]]
    assert "withdrawn: with this rewrite, a check of the whole model fails (outputs: y1 is off)" in reasons
    assert [each["good"] for each in model["verified"]] == [True]
    assert softplus(onnx.load(path.with_name("model.fixed.onnx"))) == {"y0", "y2"}
