"""Tests of subject precedence, and of advice for a target."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import onnx.parser
import pytest

import trtlint
from trtlint.engine.applying import advice_for, best_reading, common_versions, condition
from trtlint.engine.subjects import Subject
from trtlint.target.target import Target
from trtlint.target.truth import Truth, Unknown

OPEN, OTHER, NEVER = Unknown(frozenset({"--gpu"})), Unknown(frozenset({"--fp16"})), Unknown()


class Where:
    """A condition with the subject's own answer."""

    def truth(self, names: Mapping[str, Any]) -> Truth:
        """Return the answer."""
        found: Truth = names["answer"]
        return found


def subject(*answers: Truth) -> Subject:
    """Return a subject with several readings."""
    first, *others = (Subject(None, "", (), {"answer": answer}) for answer in answers)
    return Subject(None, "", (), first.values, tuple(others))


def rule(**settings: Any) -> Any:
    """Return a rule."""
    return SimpleNamespace(**{"where": Where(), "applies": {"tensorrt": ">=10.0"}, "advice": (), **settings})


TARGET = Target()


@pytest.mark.parametrize(
    ("answers", "chosen", "expected"),
    [
        ((True,), 0, True),
        ((False, True), 1, True),
        ((OPEN, True), 1, True),
        ((True, OPEN), 0, True),
        ((False, False), 0, False),
        ((False, OPEN), 1, OPEN),
        ((OPEN, OTHER), 0, OPEN),
        ((OPEN, False), 0, OPEN),
        ((NEVER,), 0, False),
        ((NEVER, OPEN), 1, OPEN),
        ((False, NEVER), 0, False),
    ],
)
def test_the_first_reading_that_may_hold_counts(
    answers: tuple[Truth, ...], chosen: int, expected: Truth
) -> None:
    those = subject(*answers)
    reading, truth = best_reading(rule(), those, TARGET, True)
    assert reading is (those, *those.others)[chosen]
    assert truth is expected


def test_a_version_that_is_not_known_makes_nothing_conditional() -> None:
    assert TARGET.version is None
    assert condition(rule(), {"answer": True}, TARGET, OPEN) is True
    assert condition(rule(where=None), {}, TARGET, OPEN) is True
    assert condition(rule(), {"answer": True}, TARGET, False) is False
    assert condition(rule(where=None), {}, TARGET, False) is False


def test_versions_that_rule_and_fact_share() -> None:
    def common(own: str, fact: dict[str, str] | None) -> str | None:
        about = Subject(None, "", (), {}, applies=fact)  # type: ignore[arg-type]
        return common_versions(rule(applies={"tensorrt": own}), about, TARGET)

    assert common(">=10.0", None) == ">=10.0"
    assert common(">=10.0", {"tensorrt": "<10.5"}) == ">=10.0,<10.5"
    assert common("", {"tensorrt": "<10.5"}) == "<10.5"
    assert common(">=10.0", {"tensorrt-rtx": "<10.5"}) is None
    assert common(">=10.5", {"tensorrt": "<10.5"}) is None


def test_advice_begins_with_the_versions_that_it_is_for() -> None:
    def begins(version: str | None, *ranges: str | None) -> list[str]:
        advice = [SimpleNamespace(applies=None if each is None else {"tensorrt": each}) for each in ranges]
        return [prefix for prefix, _ in advice_for(rule(advice=advice), Target(version=version))]

    assert begins("10.7", None, ">=10.5", "<10.5") == ["", ""]
    assert begins(None, None, ">=10.5") == ["", "TensorRT 10.5 and newer: "]
    assert begins(None, ">=9.0", ">=10.0") == ["", ""]


@pytest.mark.parametrize(
    ("opset", "version", "words"),
    [
        (18, "8.6", "TensorRT up to 8.6"),
        (20, "8.6", "TensorRT up to 9.3"),
        (20, "9.0", "TensorRT up to 9.3"),
        (23, "10.7", "TensorRT up to 10.10"),
    ],
)
def test_a_property_of_the_release_gives_a_range(opset: int, version: str, words: str) -> None:
    text = f'< ir_version: 8, opset_import: ["" : {opset}] > g (float[2] x) => (float[2] y) {{ y = Neg (x) }}'
    report = trtlint.lint(onnx.parser.parse_model(text), trt=version, select=["PORT114"])
    (finding,) = (finding for model in report.models for finding in model.findings)
    assert finding.applies == words
