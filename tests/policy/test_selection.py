"""Which rules ``--select`` and ``--ignore`` leave."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from trtlint.policy.selection import SelectionError, choose


@dataclass(frozen=True)
class Rule:
    id: str
    name: str


RULES = [Rule("ACC101", "fp16-norm"), Rule("ACC102", "split-scale"), Rule("PERF101", "runtime-weights")]


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
    ],
)
def test_most_specific_selector_decides(select: list[str], ignore: list[str], left: str) -> None:
    assert " ".join(rule.id for rule in choose(RULES, select, ignore)) == left


@pytest.mark.parametrize("selector", ["XYZ", "ACC103", "split-scales", "ACC101x"])
def test_selector_that_covers_nothing(selector: str) -> None:
    with pytest.raises(SelectionError, match=selector):
        choose(RULES, [selector])
    with pytest.raises(SelectionError, match=selector):
        choose(RULES, [], [selector])


def test_nearest_is_named() -> None:
    with pytest.raises(SelectionError, match=r"did you mean split-scale\?"):
        choose(RULES, ["split-scal3"])
