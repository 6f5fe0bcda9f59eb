"""A plugin for pytest: how long the tests took that passed, by their ids, as JSON."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

_TOOK: Counter[str] = Counter()
_BAD: set[str] = set()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add what a part of a test took."""
    _TOOK[report.nodeid] += report.duration  # type: ignore[assignment]
    if report.outcome != "passed":
        _BAD.add(report.nodeid)


def pytest_sessionfinish() -> None:
    """Write all of them, in the process that has all."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        passed = {test: round(seconds, 3) for test, seconds in _TOOK.items() if test not in _BAD}
        Path(os.environ["MUTANTS_DURATIONS"]).write_text(json.dumps(passed), encoding="utf-8")
