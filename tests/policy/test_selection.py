"""Tests of the rules that ``--select`` and ``--ignore`` keep."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from trtlint.errors import SettingError
from trtlint.policy.selection import RuleLayer, RuleName, choose, most_specific, outdated, split

RULES = [
    RuleName("ACC101", "fp16-norm", "accuracy"),
    RuleName("ACC102", "split-scale", "accuracy"),
    RuleName("PERF101", "runtime-weights", "performance"),
]
NEW = RuleName("MEM101", "attention-memory", "memory", "preview")
OLD = RuleName("PERF102", "old-habit", "performance", "deprecated")


def layer(select: Sequence[str], ignore: Sequence[str] = ()) -> RuleLayer:
    return RuleLayer(tuple(split(select)), ignore=tuple(split(ignore)))


@pytest.mark.parametrize(
    ("select", "ignore", "left"),
    [
        ([], [], "ACC101 ACC102 PERF101"),
        (["ALL"], [], "ACC101 ACC102 PERF101"),
        (["ACC"], [], "ACC101 ACC102"),
        (["acc1"], [], "ACC101 ACC102"),
        (["ACC101,PERF"], [], "ACC101 PERF101"),
        (["ACC101", "PERF"], [], "ACC101 PERF101"),
        (["split-scale"], [], "ACC102"),
        ([], ["ACC"], "PERF101"),
        (["ACC"], ["ACC101"], "ACC102"),
        (["ACC101"], ["ACC"], "ACC101"),
        (["split-scale"], ["ACC"], "ACC102"),
        (["ACC"], ["ACC"], ""),
        (["ALL"], ["ACC", "PERF101"], ""),
        (["accuracy"], [], "ACC101 ACC102"),
        (["Accuracy"], ["ACC101"], "ACC102"),
        (["accuracy"], ["ACC"], ""),
        (["ACC"], ["accuracy"], "ACC101 ACC102"),
        ([], ["performance"], "ACC101 ACC102"),
    ],
)
def test_most_specific_selector_decides(select: list[str], ignore: list[str], left: str) -> None:
    assert " ".join(rule.id for rule in choose(RULES, [layer(select, ignore)])) == left


@pytest.mark.parametrize("selector", ["XYZ", "ACC103", "split-scales", "ACC101x"])
def test_selector_that_covers_nothing(selector: str) -> None:
    with pytest.raises(SettingError, match=selector):
        choose(RULES, [layer([selector])])
    with pytest.raises(SettingError, match=selector):
        choose(RULES, [layer([], [selector])])


def test_nearest_is_named() -> None:
    with pytest.raises(SettingError, match=r"did you mean split-scale\?"):
        choose(RULES, [layer(["split-scal3"])])


@pytest.mark.parametrize(
    ("select", "ignore", "preview", "left"),
    [
        ([], [], False, "ACC101 ACC102 PERF101 PERF102"),
        ([], [], True, "ACC101 ACC102 PERF101 MEM101 PERF102"),
        (["MEM"], [], False, ""),
        (["memory"], [], False, ""),
        (["ALL"], [], False, "ACC101 ACC102 PERF101 PERF102"),
        (["MEM"], [], True, "MEM101"),
        (["MEM101"], [], False, "MEM101"),
        (["attention-memory"], [], False, "MEM101"),
        (["MEM101"], ["attention-memory"], True, ""),
    ],
)
def test_previews_run_where_they_are_wanted_or_named(
    select: list[str], ignore: list[str], preview: bool, left: str
) -> None:
    chosen = choose([*RULES, NEW, OLD], [layer(select, ignore)], preview=preview)
    assert " ".join(rule.id for rule in chosen) == left


def test_who_names_a_deprecated_rule_is_told() -> None:
    (sentence,) = outdated(["old-habit", "ALL", "ACC101"], [*RULES, OLD])
    assert sentence == "old-habit is deprecated and will be removed; see `trtlint rule PERF102`"


def test_three_similar_words_are_named() -> None:
    rules = [RuleName(f"ACC10{number}", f"rule-{number}") for number in range(1, 5)]
    with pytest.raises(SettingError, match=r"did you mean ACC10\d, ACC10\d, ACC10\d\?"):
        choose(rules, [layer(["ACC1O"])])


def test_an_inner_layer_that_ignores_brings_nothing_back() -> None:
    layers = [RuleLayer(select=("ACC101", "PERF")), RuleLayer(ignore=("PERF",))]
    assert [rule.id for rule in choose(RULES, layers)] == ["ACC101"]


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        (["PERF", "BLD"], None),
        (["ALL"], "ALL"),
        (["ACC101", "ACC", "PERF"], "ACC101"),
        (["fp16-norm", "ACC101"], "ACC101"),
        (["ACC101", "fp16-norm"], "fp16-norm"),
        (["accuracy", "ALL"], "accuracy"),
    ],
)
def test_the_last_of_the_most_specific_selectors(selectors: list[str], expected: str | None) -> None:
    assert most_specific(selectors, RULES[0]) == expected
