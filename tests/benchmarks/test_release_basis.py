"""Tests of the evidence for the release range of a refusal condition."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.release_basis import Held, Support, annotated, is_measured, supports
from benchmarks.release_verdicts import RELEASES
from trtlint.facts.blocks.conditions import PATH, entries

FROM_10_6 = frozenset(RELEASES[RELEASES.index("10.6") :])


def counted(*releases: str) -> Counter[str]:
    return Counter(releases)


@pytest.mark.parametrize(
    ("releases", "refused", "others", "measured"),
    [
        (FROM_10_6, ("10.6", "10.10"), ("10.5",), True),
        (FROM_10_6, ("10.6", "10.10"), (), False),  # nothing says that 10.5 takes it
        (FROM_10_6, ("10.10",), ("10.5",), False),  # nothing says that 10.6 refuses it already
        (frozenset(RELEASES), ("8.6", "10.10"), (), True),
        (frozenset(RELEASES), ("8.6",), (), False),
        (frozenset(), (), ("8.6",), False),
        (frozenset({"8.6"}), ("8.6",), ("10.0",), True),
    ],
)
def test_a_range_is_measured_where_verdicts_tell_its_edges(
    releases: frozenset[str], refused: tuple[str, ...], others: tuple[str, ...], measured: bool
) -> None:
    assert is_measured(releases, Support(counted(*refused), counted(*others))) is measured


def test_only_models_with_one_reason_support_a_range() -> None:
    held = {
        "alone": [Held(7, "Relu", frozenset({"10.6"}))],
        "two": [Held(7, "Relu", frozenset({"10.6"})), Held(None, "Relu", frozenset({"10.6"}))],
        "another operator": [Held(7, "Relu", frozenset({"10.6"}))],
        "network": [Held(8, "Relu", frozenset({"10.6"}))],
    }
    truth = {
        "10.5": {"alone": {"verdict": "taken"}},
        "10.6": {
            "alone": {"verdict": "refused", "op": "Relu"},
            "two": {"verdict": "refused", "op": "Relu"},
            "another operator": {"verdict": "refused", "op": "Conv"},
            "network": {"verdict": "network"},
        },
    }
    found = supports(truth, held)
    assert found[7].refused == {"10.6": 1}
    assert found[7].others == {"10.5": 1}
    assert found[8].refused == {"10.6": -1}


def test_the_table_keeps_its_form_when_it_is_written() -> None:
    text = PATH.read_text(encoding="utf-8")
    assert annotated(text, {entry.line: entry.condition.known for entry in entries()}) == text
