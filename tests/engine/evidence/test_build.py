"""Tests of a build as evidence for findings about its graph."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest

from tests.engine.rules import make_rule
from tests.graphs import model_of
from trtlint.buildfiles.layers import LayerInfo, layers_from_json
from trtlint.buildfiles.log import read_log
from trtlint.buildfiles.profile import Profile, profile_from_json
from trtlint.buildfiles.record import FileContents, together
from trtlint.engine.evaluate import evaluate
from trtlint.engine.evidence.build import BuildEvidence
from trtlint.engine.finding import Finding, ModelReport
from trtlint.engine.rule import Rule, RuleError
from trtlint.facts.facts import Facts
from trtlint.target.target import Target

MODEL = """
< ir_version: 8, opset_import: ["" : 17] >
g (float16[8,8] x) => (float16[8,8] y)
{
  [a] va = Relu (x)
  [b] vb = Relu (va)
  [c] y = Sigmoid (vb)
}
"""
RELU = 'op == "Relu"'


def layer(name: str, dtype: str = "Half", **more: object) -> dict[str, object]:
    tensor = {"Name": f"{name}_out", "Dimensions": [8, 8], "Format/Datatype": dtype}
    return {"Name": name, "LayerType": "PointWise", "Inputs": [tensor], "Outputs": [tensor], **more}


def layers(*found: dict[str, object]) -> LayerInfo:
    return layers_from_json({"Layers": list(found), "Bindings": []})


def times(**shares: float) -> Profile:
    entries = [
        {"name": name, "timeMs": ms * 10, "averageMs": ms, "percentage": ms * 10}
        for name, ms in shares.items()
    ]
    return profile_from_json([{"count": 10}, *entries])


def report(rules: list[Rule], *parts: str | LayerInfo | Profile, target: Target | None = None) -> ModelReport:
    files = []
    for part in parts:
        if isinstance(part, str):
            files.append(FileContents("build.log", read_log(BytesIO(part.encode()))))
        else:
            files.append(FileContents("layers.json" if isinstance(part, LayerInfo) else "profile.json", part))
    build = [BuildEvidence(together(files))] if files else []
    return evaluate(rules, Facts(model_of(MODEL), evidence=build), target or Target(version="10.7"))


def findings(rule: Rule, *parts: str | LayerInfo | Profile) -> list[Finding]:
    return list(report([rule], *parts).findings)


def standings(found: list[Finding]) -> dict[str, tuple[str, ...]]:
    return {finding.standing: tuple(site.node for site in finding.sites) for finding in found}


class TestLog:
    @pytest.fixture
    def rule(self, tmp_path: Path) -> Rule:
        return make_rule(tmp_path, where=RELU, verdict="{confirm: [{log: [norm_fp16]}]}", evidence="inferred")

    def test_a_message_confirms_the_places_that_it_names(self, rule: Rule) -> None:
        found = findings(rule, "[W] Detected layernorm nodes in FP16: b, c\n")
        assert standings(found) == {"open": ("a",), "confirmed": ("b",)}
        (confirmed,) = (finding for finding in found if finding.standing == "confirmed")
        assert confirmed.confidence == "confirmed"
        assert confirmed.severity == "warning"
        assert confirmed.said[0] == "build.log:1: Detected layernorm nodes in FP16: b, c"

    def test_names_that_came_before_the_message_count(self, rule: Rule) -> None:
        log = "[V] Found b to be part of layer norm pattern.\n[W] Detected layernorm nodes in FP16.\n"
        assert standings(findings(rule, log)) == {"open": ("a",), "confirmed": ("b",)}

    def test_a_message_without_names_confirms_nothing_and_says_so(self, rule: Rule) -> None:
        (found,) = findings(rule, "[W] Detected layernorm nodes in FP16.\n")
        assert (found.standing, found.confidence) == ("open", "medium")
        assert found.said[0] == (
            "build.log:1: Detected layernorm nodes in FP16. (the log does not name the nodes of this message)"
        )

    def test_a_log_without_the_message_says_nothing(self, rule: Rule) -> None:
        (found,) = findings(rule, "[V] Found b to be part of layer norm pattern.\n")
        assert (found.standing, found.confidence) == ("open", "medium")

    def test_without_a_build_there_is_no_evidence(self, rule: Rule) -> None:
        (found,) = findings(rule)
        assert (found.standing, found.ms, found.share) == ("open", None, None)

    def test_what_a_finding_cites_is_not_told_again(self, rule: Rule, tmp_path: Path) -> None:
        log = "[W] Detected layernorm nodes in FP16: b\n[W] Unused Input: q\n"
        messages = make_rule(
            tmp_path, id="TST002", name="messages", find="log_message", message="'{text}'", where=None
        )
        found = report([messages, rule], log).findings
        assert [(f.rule, f.sites[0].node) for f in found] == [
            ("TST001", "a"),
            ("TST001", "b"),
            ("TST002", "build.log:2"),
        ]
        assert found[-1].said == ("build.log:2: Unused Input: q",)

    def test_what_the_build_shows_is_no_longer_conditional(self, tmp_path: Path) -> None:
        rule = make_rule(tmp_path, where=f"{RELU} and target.fp16", verdict="{confirm: [{log: [norm_fp16]}]}")
        found = report([rule], "[W] Detected layernorm nodes in FP16: b\n")
        assert [site.node for finding in found.findings for site in finding.sites] == ["b"]
        assert [finding.depends for finding in found.conditional] == [("--fp16",)]


class TestLayers:
    @pytest.mark.parametrize(
        ("verdict", "expected"),
        [
            ("{refute: [{layer: 'precision == \"f32\"'}]}", {"refuted": ("a",), "open": ("b",)}),
            ("{confirm: [{layer: 'precision == \"f16\"'}]}", {"confirmed": ("b",), "open": ("a",)}),
            (
                "{confirm: [{layer: 'precision == \"f16\"'}], refute: [{layer: 'precision == \"f32\"'}]}",
                {"confirmed": ("b",), "refuted": ("a",)},
            ),
            (
                "{confirm: [{layer: 'family == \"pointwise\"'}], refute: [{layer: 'precision == \"f32\"'}]}",
                {"confirmed": ("a", "b")},
            ),
            ("{confirm: [{build: 'has_layers'}]}", {"confirmed": ("a", "b")}),
            ("{confirm: [{build: 'has_profile'}]}", {"open": ("a", "b")}),
            ("{confirm: [{layer: 'dynamic_filter'}]}", {"open": ("a", "b")}),
        ],
    )
    def test_one_layer_is_enough(
        self, tmp_path: Path, verdict: str, expected: dict[str, tuple[str, ...]]
    ) -> None:
        rule = make_rule(tmp_path, where=RELU, verdict=verdict)
        assert standings(findings(rule, layers(layer("a", "Float"), layer("b")))) == expected

    @pytest.mark.parametrize(
        ("second", "standing"), [("Float", "refuted"), ("Half", "open"), ("nothing known", "refuted")]
    )
    def test_layers_must_not_contradict(self, tmp_path: Path, second: str, standing: str) -> None:
        rule = make_rule(tmp_path, where=RELU, verdict="{refute: [{layers: 'precision == \"f32\"'}]}")
        found = findings(rule, layers(layer("a", "Float"), layer("a + b", second)))
        assert standings(found)[standing][0] == "a"

    def test_a_refuted_finding_is_a_note_with_the_reason(self, tmp_path: Path) -> None:
        rule = make_rule(
            tmp_path,
            where=RELU,
            severity="error",
            verdict="{refute: [{layer: 'precision == \"f32\"', because: 'runs in {precision}'}]}",
        )
        open_, refuted = findings(rule, layers(layer("a", "Float"), layer("b")))
        assert (open_.severity, refuted.severity) == ("error", "note")
        assert refuted.said[0] == "layer a (f32): runs in f32"

    def test_long_names_are_cut(self, tmp_path: Path) -> None:
        rule = make_rule(tmp_path, where=RELU, verdict="{confirm: [{layer: 'precision == \"f16\"'}]}")
        name = "PWN(a, b) + " + "x" * 500
        (found,) = findings(rule, layers(layer(name)))
        assert found.said[0].startswith("layer PWN(a, b) + xxx")
        assert len(found.said[0]) < 180


class TestTimes:
    def test_what_takes_longest_comes_first(self, tmp_path: Path) -> None:
        grave = make_rule(tmp_path, where='op == "Relu"', severity="error")
        slow = make_rule(tmp_path, id="TST002", name="slow", where='op == "Sigmoid"', severity="note")
        parts = layers(layer("a"), layer("b"), layer("c")), times(a=1.0, b=1.0, c=8.0)
        first, second = report([grave, slow], *parts).findings
        assert (first.rule, first.ms, first.share) == ("TST002", 8.0, pytest.approx(0.8))
        assert first.said[0] == "layer c: 80 % of 10 ms"
        assert (second.rule, second.ms, second.share) == ("TST001", 2.0, pytest.approx(0.2))
        assert second.said[0] == "2 layers take 20 % of 10 ms; the slowest layer is a"

    def test_without_times_the_gravest_comes_first(self, tmp_path: Path) -> None:
        mild = make_rule(tmp_path, where='op == "Relu"', severity="note")
        grave = make_rule(tmp_path, id="TST002", name="grave", where='op == "Sigmoid"', severity="error")
        assert [f.rule for f in report([mild, grave], layers(layer("a"))).findings] == ["TST002", "TST001"]

    def test_a_layer_that_takes_no_time_has_no_share(self, tmp_path: Path) -> None:
        rule = make_rule(tmp_path, where='op == "Relu"')
        parts = layers(layer("a"), layer("b"), layer("c"))
        (found,) = findings(rule, *(parts, times(a=0.0, b=0.0, c=5.0)))
        assert (found.ms, found.share, found.said) == (
            0.0,
            0.0,
            ("2 layers take 0 ms; the slowest layer is a",),
        )
        (found,) = findings(rule, *(parts, times(a=0.0, b=5.0, c=5.0)))
        assert (found.ms, found.share) == (5.0, 0.5)
        assert found.said == ("2 layers take 50 % of 10 ms; the slowest layer is b",)
        (found,) = findings(rule, *(parts, times(c=5.0)))
        assert (found.ms, found.share, found.said) == (None, None, ())

    def test_a_layer_that_computes_several_places_counts_once(self, tmp_path: Path) -> None:
        rule = make_rule(tmp_path, where='op == "Relu"')
        (found,) = findings(
            rule, layers(layer("PWN(a, b)"), layer("c")), times(**{"PWN(a, b)": 4.0, "c": 6.0})
        )
        assert (found.ms, found.share) == (4.0, pytest.approx(0.4))


class TestRules:
    @pytest.mark.parametrize(
        ("verdict", "message"),
        [
            (
                "{confirm: [{log: [norm_fp61]}]}",
                "verdict log: unknown 'norm_fp61'; did you mean 'norm_fp16'?",
            ),
            ("{confirm: [{layer: 'precison == 1'}]}", "precison"),
            (
                "{confirm: [{layer: attention, log: [norm_fp16]}]}",
                "an entry of verdict must have exactly one of the keys",
            ),
            ("{confirm: [{because: no}]}", "an entry of verdict must have exactly one of the keys"),
            ("{confirms: []}", "unknown key 'confirms'; did you mean 'confirm'?"),
            ("{confirm: [{layer: attention, because: '{nome}'}]}", "nome"),
            ("{refute: {layer: attention}}", "verdict refute must be a list"),
        ],
    )
    def test_mistakes_are_found_when_the_rule_is_loaded(
        self, tmp_path: Path, verdict: str, message: str
    ) -> None:
        with pytest.raises(RuleError) as caught:
            make_rule(tmp_path, verdict=verdict)
        assert message in caught.value.message
        assert caught.value.line == 11

    def test_rules_about_builds_need_no_model(self, tmp_path: Path) -> None:
        about_graph = make_rule(tmp_path, find="model", message="a model")
        about_build = make_rule(
            tmp_path, id="TST002", name="b", find="build", where="has_log", message="'{tool} {model.opset}'"
        )
        build = together([FileContents("build.log", read_log(BytesIO(b"[W] Unused Input: q\n")))])
        found = evaluate(
            [about_graph, about_build], Facts(None, evidence=[BuildEvidence(build)]), Target(version="10.7")
        )
        assert [(f.rule, f.message, f.confidence) for f in found.findings] == [
            ("TST002", "logger ?", "confirmed")
        ]
        assert found.path == "build.log"
