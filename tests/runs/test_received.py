"""Tests that the cache keeps reports from other machines."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from trtlint.runs import cache, fleet


@pytest.mark.parametrize(
    ("remote", "store", "kept"), [(True, "s", 1), (True, None, 0), (False, "s", 0), (False, None, 0)]
)
def test_reports_of_other_machines_are_kept(
    remote: bool, store: str | None, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setattr(cache, "keep", lambda *given: calls.append(given))
    owner = next(each for each in vars(fleet).values() if hasattr(each, "_received"))
    job, outcome = SimpleNamespace(store=store, case=SimpleNamespace(path="p")), SimpleNamespace(reports=())
    assert owner._received(SimpleNamespace(remote=remote), job, outcome) is outcome
    assert len(calls) == kept
