"""Tests of new findings caused by a rewrite."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from trtlint.engine.finding import SEVERITIES
from trtlint.fixes.relint import harm_of

ERROR, WARNING, NOTE = range(3)


def finding(rule: str, *places: str, severity: int = ERROR) -> Any:
    """Return a finding at some places."""
    sites = [SimpleNamespace(node=place) for place in places]
    return SimpleNamespace(rule=rule, severity=SEVERITIES[severity], sites=sites, message=f"{rule} holds")


def linted(*reports: list[Any], nodes: tuple[Any, ...] = ()) -> Any:
    """Return the lint results of a model for some targets."""
    model = SimpleNamespace(graph=SimpleNamespace(nodes=nodes))
    return SimpleNamespace(reports=[SimpleNamespace(findings=each) for each in reports], model=model)


def node(path: str, content: bytes, *, dtype: str | None = "f32") -> Any:
    """Return an operator that reads one value."""
    value = SimpleNamespace(dtype=dtype, shape=(1,))
    proto = SimpleNamespace(SerializeToString=lambda: content)
    return SimpleNamespace(path=path, proto=proto, inputs=[value, None])


@pytest.mark.parametrize(
    ("before", "after", "mildest", "harm"),
    [
        ([], [], NOTE, ""),
        ([finding("A", "x")], [finding("A", "x")], NOTE, ""),
        ([finding("A", "x")], [finding("A", "y")], NOTE, ""),
        (
            [finding("A", "x")],
            [finding("A", "x", "y")],
            NOTE,
            "withdrawn because the rewrite causes the finding A: A holds",
        ),
        (
            [finding("B", "x")],
            [finding("B", "x"), finding("A", "x")],
            NOTE,
            "withdrawn because the rewrite causes the finding A: A holds",
        ),
        (
            [],
            [finding("A", "x", severity=WARNING)],
            WARNING,
            "withdrawn because the rewrite causes the finding A: A holds",
        ),
        ([], [finding("A", "x", severity=NOTE)], WARNING, ""),
    ],
)
def test_a_finding_that_is_new(before: list[Any], after: list[Any], mildest: int, harm: str) -> None:
    assert harm_of(linted(before), linted(after), mildest) == harm


def test_findings_count_by_target() -> None:
    before = linted([finding("A", "x")], [])
    after = linted([], [finding("A", "x")])
    assert harm_of(before, after, NOTE) == "withdrawn because the rewrite causes the finding A: A holds"


@pytest.mark.parametrize(
    ("dtype", "content", "harm"),
    [
        (None, b"same", ""),
        ("f32", b"same", "withdrawn because the rewrite causes the finding A: A holds"),
        (None, b"other", "withdrawn because the rewrite causes the finding A: A holds"),
    ],
)
def test_what_is_seen_now_alone_was_there_before(dtype: str | None, content: bytes, harm: str) -> None:
    before = linted([], nodes=(node("x", b"same", dtype=dtype),))
    after = linted([finding("A", "x")], nodes=(node("x", content),))
    assert harm_of(before, after, NOTE) == harm
