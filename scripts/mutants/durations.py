"""A pytest plugin that writes the durations of passed tests, by test id, as JSON.

The plugin also makes coverage's lock safe. A limit of trtlint raises an exception from a signal handler. If
this happens inside ``Collector.lock_data``, the lock stays taken. Python runs signal handlers only between
bytecode instructions, so the plugin calls the methods of the lock directly; these are written in C
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
    """Add the duration of one phase of a test."""
    _TOOK[report.nodeid] += report.duration  # type: ignore[assignment]
    if report.outcome != "passed":
        _BAD.add(report.nodeid)


def pytest_sessionfinish() -> None:
    """Write all durations, in the main process of pytest-xdist."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        passed = {test: round(seconds, 3) for test, seconds in _TOOK.items() if test not in _BAD}
        Path(os.environ["MUTANTS_DURATIONS"]).write_text(json.dumps(passed), encoding="utf-8")
