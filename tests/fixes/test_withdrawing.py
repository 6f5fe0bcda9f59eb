"""Tests of rewrites that make a whole model worse: only those are withdrawn."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx
import pytest

from trtlint.case import Case
from trtlint.cli import run
from trtlint.compare.comparison import Pair, available
from trtlint.engine.rulebook import builtin_rules, load_rules
from trtlint.engine.ruleset import RuleSet
from trtlint.fixes import verification
from trtlint.fixes.edit import EditError
from trtlint.fixes.fixing import MOST_CHECKS, FixedModel, fix_file, withdrawing
from trtlint.fixes.outcome import AppliedFix, FixOutcome, Key, RefusedFix
from trtlint.fixes.patch import Patch
from trtlint.fixes.source import read_source
from trtlint.fixes.verification import CheckResult
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


def fixed_with(path: Path, verify: Check | None) -> FixedModel:
    rules = tuple(rule for rule in load_rules([builtin_rules()]) if rule.id in ("ACC115", "ACC116"))
    case = Case(path, (Target(version="11.4"),), RuleSet.of(rules))
    return fix_file(read_source(path), case, verify=verify)


def softplus(proto: onnx.ModelProto) -> set[str]:
    """Return the outputs that a Softplus computes."""
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
    monkeypatch.setattr("trtlint.fixes.fixing.MOST_CHECKS", 1)
    calls.clear()
    found = fixed_with(path, lambda proto, patches: verify(proto, patches) if softplus(proto) else "")
    assert len(calls) == 1
    assert all(
        "withdrawn together with all later rewrites: off" in each.reason for each in found.outcome.refused
    )
    assert not softplus(found.proto)


def test_what_the_checker_refuses_is_withdrawn(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trtlint.fixes.relint import checked as real

    def checked(proto: onnx.ModelProto, source_error: Callable[[], str]) -> tuple[onnx.ModelProto, str]:
        return (proto, "no y2") if "y2" in softplus(proto) else real(proto, source_error)

    monkeypatch.setattr("trtlint.fixes.fixing.checked", checked)
    found = fixed_with(path, None)
    assert softplus(found.proto) == {"y0", "y1"}
    assert [each.reason for each in found.outcome.refused] == [
        "withdrawn: the ONNX checker rejects the rewritten model: no y2"
    ]


@pytest.mark.skipif(not available(), reason="onnxruntime is not installed")
def test_the_command_writes_what_is_left_and_reports_it(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def outputs(pair: Pair) -> CheckResult:
        worse = "y1" in softplus(onnx.load(pair.after))
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


class Rounds:
    """Rewrites in rounds, some of them bad; a rewrite is named by its fix and a number."""

    def __init__(self, rounds: str, bad: str) -> None:
        self.rounds = [each.split() for each in rounds.split("|")]
        self.bad = bad.split()
        self.asked: list[str] = []

    def run(self, withdrawn: Mapping[Key, str]) -> FixOutcome:
        refused = [RefusedFix("R", "error", fix, name, why) for (fix, name), why in sorted(withdrawn.items())]
        kept = [[name for name in names if (name[0], name) not in withdrawn] for names in self.rounds]
        state: Any = SimpleNamespace(proto="model", model=SimpleNamespace(graph=None))
        patches = [tuple(Patch(name, (), ()) for name in names) for names in kept if names]
        applied = [
            AppliedFix(
                "R", "error", each.title[0], "safe", each.title, "", None, (each.title[0], each.title), each
            )
            for group in patches
            for each in group
        ]
        return FixOutcome(state, state, applied, refused, [(state, group) for group in patches])

    def check(self, _: object, patches: tuple[Patch, ...]) -> str:
        self.asked.append(" ".join(each.title for each in patches))
        return next((f"{each.title} is off" for each in patches if each.title in self.bad), "")


def withdrawn_from(rounds: Rounds) -> tuple[list[str], list[tuple[str, str]], list[str]]:
    """Return the places of applied rewrites, of refused rewrites with reasons, and the checks."""
    found = withdrawing(rounds.run, rounds.check)
    refused = [(each.place, each.reason) for each in found.refused]
    return [each.place for each in found.applied], refused, rounds.asked


@pytest.mark.parametrize(
    ("rounds", "bad", "applied", "refused", "asked"),
    [
        ("a1", "", ["a1"], [], ["a1"]),
        ("a1", "a1", [], [("a1", "withdrawn: a1 is off")], ["a1"]),
        ("a1 | b1 | c1", "", ["a1", "b1", "c1"], [], ["a1 b1 c1"]),
        (
            "a1 | b1 | c1",
            "b1",
            ["a1", "c1"],
            [("b1", "withdrawn: b1 is off")],
            ["a1 b1 c1", "a1", "a1 b1", "a1 c1"],
        ),
        (
            "a1 b1 c1 d1",
            "c1",
            ["a1", "b1", "d1"],
            [("c1", "withdrawn: c1 is off")],
            ["a1 b1 c1 d1", "a1 b1", "a1 b1 c1", "a1 b1 d1"],
        ),
        (
            "a1 | b1 c1 | d1",
            "c1 d1",
            ["a1", "b1"],
            [("c1", "withdrawn: c1 is off"), ("d1", "withdrawn: d1 is off")],
            ["a1 b1 c1 d1", "a1", "a1 b1 c1", "a1 b1", "a1 b1 d1", "a1", "a1 b1", "a1 b1"],
        ),
        (
            "a1 a2 | b1 a3",
            "a1 a3",
            ["b1"],
            [
                ("a1", "withdrawn: a1 is off"),
                ("a2", "withdrawn: at another site: a3 is off"),
                ("a3", "withdrawn: at another site: a3 is off"),
            ],
            ["a1 a2 b1 a3", "a1 a2", "a1", "a2 b1 a3", "a2", "a2 b1", "b1"],
        ),
    ],
)
def test_the_bad_rewrite_is_searched_first_by_round_then_in_its_round(
    rounds: str,
    bad: str,
    applied: list[str],
    refused: list[tuple[str, str]],
    asked: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("trtlint.fixes.fixing.apply", lambda *_: "patched")
    assert withdrawn_from(Rounds(rounds, bad)) == (applied, refused, asked)


TOGETHER = "withdrawn together with all later rewrites: c1 is off"


@pytest.mark.parametrize(
    ("most", "applied", "refused", "checks"),
    [
        (0, [], ["a1", "b1", "c1", "d1"], 1),
        (1, [], ["a1", "b1", "c1", "d1"], 1),
        (2, ["a1", "b1"], ["c1", "d1"], 2),
        (3, ["a1", "b1"], ["c1", "d1"], 3),
    ],
)
def test_unchecked_rounds_are_undone_after_the_last_check(
    most: int, applied: list[str], refused: list[str], checks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trtlint.fixes.fixing.MOST_CHECKS", most)
    found, reasons, asked = withdrawn_from(Rounds("a1 | b1 | c1 | d1", "c1"))
    assert (found, reasons, len(asked)) == (applied, [(place, TOGETHER) for place in refused], checks)


@pytest.mark.parametrize(("left", "checks"), [(-0.5, 1), (0.0, 4), (9.0, 4)])
def test_only_one_check_runs_if_no_time_is_left(
    left: float, checks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trtlint.fixes.fixing.current", lambda: SimpleNamespace(left_but=lambda _: left))
    found, _, asked = withdrawn_from(Rounds("a1 | b1 | c1", "b1"))
    assert (found, len(asked)) == ([] if checks == 1 else ["a1", "c1"], checks)


def test_a_patch_that_cannot_be_applied_is_withdrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def apply(proto: object, _: object, patches: tuple[Patch, ...]) -> object:
        if any(each.title == "b1" for each in patches):
            raise EditError("b1 has a cycle")
        return proto

    monkeypatch.setattr("trtlint.fixes.fixing.apply", apply)
    found, refused, asked = withdrawn_from(Rounds("a1 b1 c1 d1", "b1"))
    assert (found, refused) == (["a1", "c1", "d1"], [("b1", "withdrawn: b1 has a cycle")])
    assert asked == ["a1 b1 c1 d1", "a1", "a1 c1 d1"]
