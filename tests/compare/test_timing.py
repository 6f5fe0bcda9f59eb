"""Tests of run times of two models, with a fake clock."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from trtlint.compare import _running


@pytest.mark.parametrize(
    ("one", "other", "pairs"),
    [
        (0.0625, 0.0625, 15),
        (0.125, 0.25, 5),
        (0.25, 0.25, 3),
        (0.5, 0.0, 3),
        (0.25, 0.3125, 0),
        (0.0, 0.5625, 0),
    ],
)
def test_models_run_in_turns_while_there_is_time(
    monkeypatch: pytest.MonkeyPatch, one: float, other: float, pairs: int
) -> None:
    """A slow pair is not repeated, and all pairs together take about two seconds."""
    now, turns = [7.0], []

    def run(name: str, seconds: float) -> None:
        turns.append(name)
        now[0] += seconds

    monkeypatch.setattr(_running, "_LONGEST", 0.5)
    monkeypatch.setattr(_running, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    found = _running.timed(lambda: run("one", one), lambda: run("other", other))
    assert found == ([one] * pairs, [other] * pairs)
    assert turns == ["one", "other"] * (pairs + 1)
