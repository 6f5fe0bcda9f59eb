"""Tests of findings reused for targets that are equivalent for a rule."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.engine.rules import make_rule
from tests.graphs import facts_of, model_of
from trtlint.engine.evaluate import Evaluation, _RuleSearch, evaluate
from trtlint.engine.rulebook import load_builtin
from trtlint.engine.sameness import TargetKeys
from trtlint.facts.facts import Facts
from trtlint.knowledge.releases import PRODUCTS, minors
from trtlint.target.target import Target

MODEL = """
< ir_version: 10, opset_import: ["" : 23, "my" : 1] >
g (float[1,4,16,64] x, float16[1,4,16,64] h, bool[16] m) => (float[1,4,16,64] y, int64[1,N] i)
< float[64,64] w = {}, float two = {2} >
{
  a = Attention (x, x, x)
  r = MatMul (a, w)
  p = Pow (r, two)
  q = my.Fancy (p)
  n = Neg (h)
  i = NonZero (m)
  y = Gelu (q)
}
"""


def every_target() -> list[Target]:
    lines = [(product, line) for product in PRODUCTS for line in (*minors(product), None)]
    plain = [Target(product=product, version=line) for product, line in lines]
    return [
        *plain,
        Target(version="10.8", gpu="T4"),
        Target(version="10.8", asked=frozenset({"fp16"})),
        Target(version="10.8", asked=frozenset({"strongly-typed"})),
        Target(version="10.8", plugins=frozenset({"Fancy"})),
        Target(version="10.8", plugins=frozenset()),
    ]


@pytest.mark.slow
def test_what_is_kept_is_what_each_target_gives_alone() -> None:
    rules = load_builtin()
    model = model_of(MODEL)
    shared = Evaluation(Facts(model))
    seen = set()
    for target in every_target():
        report = shared.report(rules, target)
        assert report == evaluate(rules, Facts(model), target), target.words
        seen.add(tuple(finding.message for finding in report.findings))
    assert len(seen) > 5


@pytest.mark.parametrize(
    ("where", "same"),
    [
        ('op == "Neg"', True),
        ('op == "Neg" and target.release < (10, 9)', True),
        ('op == "Neg" and target.release < (10, 8)', False),
        ('op == "Neg" and target.release == (10, 7)', False),
        ('op == "Neg" and target.release in ((10, 7), (10, 9))', False),
        ('op == "Neg" and target.strongly_typed', True),
        ('op == "Neg" and target.release < (10, 9) and target.gpu != "T4"', True),
        ('op == "Neg" and target.release < (10, 9) and target.release > (9, 3)', True),
    ],
)
def test_what_a_rule_sees_of_two_releases(tmp_path: Path, where: str, same: bool) -> None:
    rule = make_rule(tmp_path, find="node", where=where)
    facets = TargetKeys()
    one, other = (facets.of(rule, Target(version=version), True, ()) for version in ("10.7", "10.8"))
    assert (one == other) is same


def test_a_rule_that_yields_is_evaluated_once_for_equal_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = "g (float[2] x) => (float[2] y) { a = Neg (x) y = Abs (a) }"
    first = make_rule(tmp_path, id="TST001", where='op == "Neg" and target.release < (10, 9)')
    second = make_rule(tmp_path, id="TST002", where='op in ("Neg", "Abs")', yields="[TST001]")
    evaluated: list[str] = []
    findings = _RuleSearch.findings
    monkeypatch.setattr(
        _RuleSearch, "findings", lambda search: (evaluated.append(search.rule.id), findings(search))[1]
    )
    shared = Evaluation(facts_of(f'< ir_version: 8, opset_import: ["" : 17] > {graph}'))
    targets = [Target(version=version) for version in ("10.5", "10.6", "10.7", "10.10", "10.11")]
    places = [
        {(f.rule, site.op) for f in shared.report([first, second], target).findings for site in f.sites}
        for target in targets
    ]
    assert places[0] == places[1] == places[2] == {("TST001", "Neg"), ("TST002", "Abs")}
    assert places[3] == places[4] == {("TST002", "Neg"), ("TST002", "Abs")}
    assert sorted(evaluated) == ["TST001", "TST001", "TST002", "TST002"]


def test_releases_on_both_sides_of_another_differ(tmp_path: Path) -> None:
    rule = make_rule(tmp_path, find="node", where='op == "Neg" and target.release > (10, 8)')
    facets = TargetKeys()
    seen = {
        version: facets.of(rule, Target(version=version), True, ()) for version in ("10.6", "10.7", "10.9")
    }
    assert seen["10.6"] == seen["10.7"]
    assert seen["10.7"] != seen["10.9"]


def test_versions_of_facts_are_seen() -> None:
    rules = load_builtin()
    facts = facts_of(MODEL)
    ids = {
        version: {f.rule for f in evaluate(rules, facts, Target(version=version)).findings}
        for version in ("9.3", "10.0", "10.14")
    }
    assert "BLD201" in ids["9.3"] & ids["10.0"]
    assert "BLD201" not in ids["10.14"]
    assert "BLD213" in ids["10.14"]


SEEN = "target.release < (10, 8)"


@pytest.mark.parametrize(
    "front",
    [
        {"where": SEEN},
        {"message": f"'a {{op if {SEEN} else 1}}'"},
        {"advice": f"[{{do: 'change {{op if {SEEN} else 1}}'}}]"},
        {"advice": f"[{{do: change it}}, {{do: leave it, where: '{SEEN}'}}]"},
        {"severity_when": f"[{{where: '{SEEN}', severity: note}}]"},
        {"unfixable": f"[{{where: '{SEEN}', because: it is new}}]"},
    ],
    ids=lambda front: next(iter(front)),
)
def test_every_expression_of_a_rule_is_seen(tmp_path: Path, front: dict[str, str]) -> None:
    rule = make_rule(tmp_path, find="node", **front)
    facets = TargetKeys()
    keys = {
        version: facets.of(rule, Target(version=version), True, ())
        for version in ("10.6", "10.7", "10.9", "10.10")
    }
    assert keys["10.6"] == keys["10.7"] != keys["10.9"] == keys["10.10"]


def test_what_else_a_key_has(tmp_path: Path) -> None:
    plain = make_rule(tmp_path, find="node", where='op == "Neg"')
    ranged = make_rule(
        tmp_path, id="TST002", find="node", advice='[{tensorrt: ">=10.8", do: "x"}, {do: "y"}]'
    )
    keys = TargetKeys()
    old, new = Target(version="10.7"), Target(version="10.8")
    assert keys.of(plain, old, True, ()) == keys.of(plain, new, True, ())
    assert keys.of(ranged, old, True, ()) != keys.of(ranged, new, True, ())
    assert keys.of(ranged, new, True, ()) == keys.of(ranged, Target(version="10.9"), True, ())
    others = [
        keys.of(ranged, old, True, ()),
        keys.of(plain, old, False, ()),
        keys.of(plain, Target(), True, ()),
        keys.of(plain, Target(product="tensorrt-rtx", version="1.5"), True, ()),
    ]
    assert len({keys.of(plain, old, True, ()), *others}) == 5


def test_the_versions_of_subjects_are_seen(tmp_path: Path) -> None:
    rule = make_rule(tmp_path, find="node", where='op == "Neg"')
    keys = TargetKeys()
    subjects: list[Any] = [
        SimpleNamespace(applies=None),
        SimpleNamespace(applies={"tensorrt": "<10.8"}),
        SimpleNamespace(applies={"tensorrt-rtx": "<1.5"}),
    ]
    found = {
        version: keys.of(rule, Target(version=version), True, subjects)
        for version in ("10.6", "10.7", "10.8")
    }
    assert found["10.6"] == found["10.7"] != found["10.8"]
