"""Tests of the findings of one model for several targets: merging, naming and comparison."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from trtlint.engine.finding import Finding, ModelReport, Severity
from trtlint.engine.targets import Change, changes, labels, merge, seen_for, span


def finding(
    rule: str, print_: str = "p", severity: Severity = "error", advice: Sequence[str] = (), text: str = ""
) -> Finding:
    return Finding(
        rule=rule,
        name=rule.lower(),
        severity=severity,
        confidence="high",
        evidence_level="measured",
        message=text,
        sites=(),
        applies="",
        advice=tuple(advice),
        references=(),
        fingerprint=print_,
    )


def test_findings_of_one_target_keep_their_order_but_rules_are_adjacent() -> None:
    found = [
        finding("B", "1", "note"),
        finding("A", "1", "error"),
        finding("B", "2", "error"),
        finding("A", "0", "warning"),
    ]
    assert [(each.finding, each.targets) for each in merge([found])] == [
        (found[0], (0,)),
        (found[2], (0,)),
        (found[1], (0,)),
        (found[3], (0,)),
    ]


def test_findings_of_several_targets_are_one_with_the_highest_severity_and_all_advice() -> None:
    found = [
        [finding("C", "1", "note", text="first"), finding("B", "1", "warning", ["x"], "b")],
        [
            finding("A", "1", "error", text="a"),
            finding("B", "1", "warning", ["x", "y"]),
            finding("B", "2", "note", text="b2"),
        ],
        [finding("D", "1", "warning"), finding("B", "1", "error", ["y", "z"]), finding("C", "1", "note")],
    ]
    assert [(each.finding, each.targets) for each in merge(found)] == [
        (finding("B", "1", "error", ["x", "y", "z"], "b"), (0, 1, 2)),
        (finding("B", "2", "note", (), "b2"), (1,)),
        (finding("A", "1", "error", (), "a"), (1,)),
        (finding("D", "1", "warning"), (2,)),
        (finding("C", "1", "note", (), "first"), (0, 2)),
    ]
    twice = [finding("A"), finding("A")]
    assert [each.targets for each in merge([twice, twice])] == [(0, 1)]
    assert merge([[], []]) == []


def test_a_rule_is_where_its_gravest_finding_is() -> None:
    grave: dict[str, tuple[Severity, ...]] = {
        "A": ("note", "warning"),
        "B": ("warning",),
        "C": ("note", "error"),
    }
    found = [
        finding(rule, str(number), each) for rule, all_ in grave.items() for number, each in enumerate(all_)
    ]
    assert [each.finding.rule for each in merge([found, []])] == ["C", "C", "A", "A", "B"]
    assert [each.finding.rule for each in merge([found])] == ["A", "A", "B", "C", "C"]


@pytest.mark.parametrize(
    ("targets", "names", "text"),
    [
        (["TensorRT 10.7"], ["TensorRT 10.7"], "TensorRT 10.7"),
        (["TensorRT 10.7"] * 2, ["TensorRT 10.7"] * 2, "TensorRT 10.7"),
        (["TensorRT 10.7", "TensorRT 10.8"], ["10.7", "10.8"], "TensorRT 10.7 to 10.8"),
        (
            ["TensorRT 10.7, SM 8.9, FP16", "TensorRT 10.8, SM 8.9, FP16"],
            ["10.7", "10.8"],
            "TensorRT 10.7 to 10.8, SM 8.9, FP16",
        ),
        (
            ["TensorRT 10.7, SM 8.9", "TensorRT 10.8, SM 8.9", "TensorRT 10.9, SM 8.9"],
            ["10.7", "10.8", "10.9"],
            "TensorRT 10.7 to 10.9, SM 8.9",
        ),
        (["TensorRT 10.7, SM 8.9", "TensorRT 10.7, SM 9.0"], ["8.9", "9.0"], "TensorRT 10.7, SM 8.9 to 9.0"),
        (
            ["TensorRT 10.7", "TensorRT-RTX 1.4"],
            ["TensorRT 10.7", "TensorRT-RTX 1.4"],
            "2 targets",
        ),
        (
            ["TensorRT 10.7, SM 8.9", "TensorRT 10.8, SM 9.0", "TensorRT 10.8, SM 9.0"],
            ["10.7, SM 8.9", "10.8, SM 9.0", "10.8, SM 9.0"],
            "3 targets",
        ),
        (["TensorRT 10.7", "TensorRT 10.7 FP16"], ["10.7", "10.7 FP16"], "2 targets"),
        (["a", "b"], ["a", "b"], "a to b"),
        (["x", "x y"], ["x", "x y"], "2 targets"),
    ],
)
def test_targets_in_words(targets: list[str], names: list[str], text: str) -> None:
    assert labels(targets) == names
    assert span(targets) == text


@pytest.mark.parametrize(
    ("seen", "text"),
    [
        ([0, 1, 2, 3, 4], "all 5 targets, v0 to v4"),
        ([0], "v0 (gone from v1)"),
        ([4], "v4"),
        ([3, 4], "from v3 on"),
        ([1, 2], "v1 to v2 (gone from v3)"),
        ([0, 2, 3], "v0 (gone from v1), v2 to v3 (gone from v4)"),
        ([0, 2, 4], "v0 (gone from v1), v2 (gone from v3), v4"),
        ([0, 1, 3, 4], "v0 to v1 (gone from v2), from v3 on"),
    ],
)
def test_the_targets_of_a_finding_in_words(seen: list[int], text: str) -> None:
    assert seen_for(seen, [f"v{number}" for number in range(5)]) == text


def test_products_have_no_order() -> None:
    assert seen_for([0, 1], ["TensorRT 10", "RTX 1", "RTX 2"]) == "TensorRT 10, RTX 1"
    assert seen_for([0, 2], ["10", "RTX 1", "RTX 2"]) == "10, RTX 2"


def test_changes_from_one_target_to_the_next() -> None:
    a, b, c = finding("A"), finding("B", severity="note"), finding("C")
    found: list[tuple[Finding, ...]] = [
        (a, finding("A", "2"), b),
        (b, finding("B", "2", "warning")),
        (finding("B", severity="error"), finding("B", "2")),
        (c, a),
    ]
    models = [ModelReport("m", f"TensorRT 10.{i}", findings) for i, findings in enumerate(found)]
    assert changes(models) == [
        Change("10.0", "10.1", ("error[A] a",), ("warning[B] b",)),
        Change("10.2", "10.3", ("error[B] b",), ("error[C] c", "error[A] a")),
    ]
    assert changes(models[:1]) == []
