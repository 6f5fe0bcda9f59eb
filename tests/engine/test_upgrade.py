"""Tests of the upgrade report for handmade findings."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from tests.graphs import model_of
from trtlint.engine.finding import SEVERITIES, Finding, IncompleteSearch, ModelReport, Row, Severity, Site
from trtlint.engine.upgrade import (
    ReleaseAssessment,
    SafestRelease,
    Upgrade,
    UpgradeFinding,
    UpgradeStep,
    targets,
    upgrade,
)
from trtlint.facts.facts import Facts
from trtlint.facts.refusal import Refusal
from trtlint.target.target import Target

MODEL = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[4] x, int64[N] ids) => (float[4] y) { y = Relu (x) }
"""
RULES: tuple[Any, ...] = (
    SimpleNamespace(id="G1", concerns="graph", yields=frozenset()),
    SimpleNamespace(id="G2", concerns="graph", yields=frozenset({"G1", "G9"})),
    SimpleNamespace(id="C1", concerns="command", yields=frozenset()),
)
COUNTLESS: dict[Severity, int] = dict.fromkeys(SEVERITIES, 0)


def site(node: str, *rows: str) -> Site:
    return Site(node, "Relu", None, None, tuple(Row(row, "Relu") for row in rows), "")


def finding(
    rule: str,
    severity: Severity = "error",
    *sites: Site,
    confidence: Any = "high",
    advice: Sequence[str] = (),
) -> Finding:
    return Finding(
        rule=rule,
        name=rule.lower(),
        severity=severity,
        confidence=confidence,
        evidence_level="measured",
        message="",
        sites=sites,
        applies="",
        advice=tuple(advice),
        references=(),
        fingerprint=f"{rule}-print",
    )


def moved(*found: Sequence[Finding], base: Target | None = None, **last: Any) -> Upgrade:
    """Return the upgrade report for releases from 10.6 on; ``last`` changes the last report."""
    way = targets(base or Target(), "10.6", f"10.{5 + len(found)}")
    reports = [ModelReport("m", f"target {i}", tuple(each)) for i, each in enumerate(found)]
    reports[-1] = replace(reports[-1], **last)
    return upgrade(Facts(model_of(MODEL)), way, reports, RULES)


def test_what_is_known_of_the_model_and_each_release() -> None:
    refusal = Refusal("parse", "Relu", "")
    refused = replace(finding("G1", "error", site("a"), site("b")), refusal=refusal)
    maybe = replace(finding("G2", "warning", site("c")), refusal=refusal)
    unsure = finding("G1", "error", confidence="low")
    command = finding("C1")
    found = moved([refused, maybe], [replace(unsure, fingerprint="u"), command], [], base=Target(gpu="L4"))
    assert (found.product, found.setting, found.command) == ("tensorrt", "SM 8.9 (L4)", "")
    assert found.inputs == ("x f32[4]", "ids i64[N]")
    assert found.outputs == ("y f32[4]",)
    assert [(each.finding.rule, each.concern, each.lines, each.already) for each in found.findings] == [
        ("G1", "graph", (0,), False),
        ("G1", "graph", (1,), False),
        ("C1", "command", (1,), False),
        ("G2", "graph", (0,), False),
    ]
    assert found.lines == (
        ReleaseAssessment(
            "10.6", "10.6.0", "target 0", True, {"error": 1, "warning": 1, "note": 0}, (0, 3), 2
        ),
        ReleaseAssessment("10.7", "10.7.0", "target 1", True, COUNTLESS, (1, 2), 0),
        ReleaseAssessment("10.8", "10.8.0", "target 2", True, COUNTLESS, (), 0),
    )
    assert found.steps == (
        UpgradeStep("10.6", "10.7", (0, 3), (1, 2)),
        UpgradeStep("10.7", "10.8", (1, 2), ()),
    )
    assert found.safest == SafestRelease(2, (1, 2), (), (0, 3))


def test_what_the_first_and_the_last_release_add_to_the_safest() -> None:
    both = finding("G1", "error")
    first, last = (
        [
            both,
            replace(finding("G2", "warning"), fingerprint=f"{name} warning"),
            replace(finding("G2", "note"), fingerprint=f"{name} note"),
            replace(finding("G2", "error", confidence="low"), fingerprint=f"{name} unsure"),
            replace(finding("C1", "error"), fingerprint=f"{name} command"),
        ]
        for name in ("first", "last")
    )
    found = moved(first, [both], [both, replace(both, fingerprint="second")], last)
    assert found.safest is not None
    assert (found.safest.line, found.safest.equals) == (1, (1,))
    added = [
        [found.findings[number].finding.fingerprint for number in numbers]
        for numbers in (found.safest.first_adds, found.safest.last_adds)
    ]
    assert added == [["first warning"], ["last warning"]]
    assert [each.already for each in found.findings if each.finding == both] == [True]


@pytest.mark.parametrize(
    ("errors", "warnings", "safest", "equals"),
    [
        ((0, 0, 0), (0, 0, 0), 2, (0, 1, 2)),
        ((1, 0, 0), (0, 1, 0), 2, (2,)),
        ((1, 0, 1), (0, 2, 0), 1, (1,)),
        ((1, 2, 1), (1, 0, 1), 2, (0, 2)),
        ((0, 1, 1), (3, 0, 0), 0, (0,)),
    ],
)
def test_errors_count_before_warnings(
    errors: Sequence[int], warnings: Sequence[int], safest: int, equals: tuple[int, ...]
) -> None:
    found = moved(
        *(
            [
                *(replace(finding("G1", "error"), fingerprint=f"e{n}") for n in range(some)),
                *(replace(finding("G2", "warning"), fingerprint=f"w{n}") for n in range(others)),
            ]
            for some, others in zip(errors, warnings, strict=True)
        )
    )
    assert found.safest is not None
    assert (found.safest.line, found.safest.equals) == (safest, equals)


@pytest.mark.parametrize(
    ("seen", "hiding", "hidden"),
    [
        (site("a"), site("a"), True),
        (site("a", "r"), site("b", "r"), True),
        (site("a"), site("b", "a"), True),
        (site("a", "b"), site("b"), True),
        (site("a", "r"), site("b", "s"), False),
    ],
)
def test_a_finding_that_another_hides_is_neither_gone_nor_new(seen: Site, hiding: Site, hidden: bool) -> None:
    found = moved(
        [finding("G2", "error", seen)], [finding("G1", "error", hiding)], [finding("G2", "error", seen)]
    )
    yielding, other = (
        next(i for i, each in enumerate(found.findings) if each.finding.rule == rule) for rule in ("G2", "G1")
    )
    assert found.steps == (
        UpgradeStep("10.6", "10.7", () if hidden else (yielding,), (other,)),
        UpgradeStep("10.7", "10.8", (other,), () if hidden else (yielding,)),
    )


@pytest.mark.parametrize(
    ("lines", "already"), [((0,), False), ((0, 1), True), ((1, 2), False), ((0, 2), True), ((2,), False)]
)
def test_what_the_first_and_a_later_release_have_is_there_already(
    lines: tuple[int, ...], already: bool
) -> None:
    (listed,) = moved(*([finding("G1")] * (i in lines) for i in range(4))).findings
    assert (listed.lines, listed.already) == (lines, already)


def test_what_becomes_or_was_unknown() -> None:
    known = finding("G1")
    found = moved([known], [known], [], conditional=(known,))
    assert [each.fixed for each in found.steps] == [(), ()]
    assert found.conditional == (known,)
    way = targets(Target(), "10.6", "10.8")
    reports = [
        ModelReport("m", "a", (known,), (known,), notes=("first",)),
        ModelReport("m", "b", notes=("second",)),
        ModelReport("m", "c"),
    ]
    found = upgrade(Facts(model_of(MODEL)), way, reports, RULES)
    assert [each.fixed for each in found.steps] == [(0,), ()]
    assert found.notes == ("first",)


def test_searches_that_did_not_finish_count_for_the_last_release() -> None:
    severities: dict[str, Severity] = {"G1": "error", "G2": "note", "C1": "warning"}
    unsearched = tuple(IncompleteSearch(rule, "", severity) for rule, severity in severities.items())
    assert moved([], [], [], unsearched=unsearched).unsearched == {"error", "note"}
    way = targets(Target(), "10.6", "10.8")
    for index in (0, 1):
        reports = [ModelReport("m", "", unsearched=unsearched if i == index else ()) for i in range(len(way))]
        assert upgrade(Facts(model_of(MODEL)), way, reports, RULES).unsearched == frozenset()


def test_each_advice_has_its_releases() -> None:
    found = moved(
        [finding("G1", advice=["x"]), finding("G2", advice=["x"])],
        [finding("G1", advice=["y", "x"])],
        [],
        [finding("G1", advice=["y"])],
    )
    assert {each.finding.rule: each.advice for each in found.findings} == {
        "G1": (("x", (0, 1)), ("y", (1, 3))),
        "G2": (("x", (0,)),),
    }


def test_options_name_the_newest_release_of_each_finding() -> None:
    found = moved([finding("G1")], [finding("G1"), finding("G2")], [], [finding("G2")])
    named = found.with_options(("--fp16",))
    assert {each.finding.rule: each.finding.options for each in named.findings} == {
        "G1": ("--trt", "10.7", "--fp16"),
        "G2": ("--trt", "10.9", "--fp16"),
    }
    assert named.options == ("--fp16",)
    rtx = replace(found, product="tensorrt-rtx")
    assert rtx.version_options(0) == ("--rtx", "10.6")
    assert all(isinstance(each, UpgradeFinding) for each in named.findings)


@pytest.mark.parametrize(
    ("first", "last", "versions"),
    [
        ("10.12", "10.14", ["10.12.0", "10.13.3", "10.14.1"]),
        ("10.13.2", "10.14", ["10.13.2", "10.14.1"]),
        ("10.12", "10.13.2", ["10.12.0", "10.13.2"]),
        ("10.12.0", "10.13.0", ["10.12.0", "10.13.0"]),
        ("10.11", "10.13.2", ["10.11.0", "10.12.0", "10.13.2"]),
    ],
)
def test_an_end_with_three_numbers_stands_for_itself(first: str, last: str, versions: list[str]) -> None:
    found = targets(Target(previous="8.6"), first, last)
    assert [each.version for each in found] == versions
    assert [each.previous for each in found] == [None, *[versions[0]] * (len(versions) - 1)]
