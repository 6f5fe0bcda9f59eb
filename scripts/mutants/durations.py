"""A plugin for pytest: how long the tests took that passed, by their ids, as JSON.

It also makes coverage's lock safe: a limit of trtlint raises an exception from a signal handler, and one that
is raised inside ``Collector.lock_data`` would leave the lock taken for ever.  Python handles signals only
between its own instructions, so the lock's methods, which are written in C, are called directly
(https://docs.python.org/3/library/signal.html#execution-of-python-signal-handlers).
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from coverage.collector import Collector

_collector: Any = Collector
_collector.lock_data = property(lambda self: self.data_lock.acquire)
_collector.unlock_data = property(lambda self: self.data_lock.release)

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
