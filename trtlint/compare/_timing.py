"""The time that a model and its rewritten form take, measured in turn in one process."""

from __future__ import annotations

import time
from collections.abc import Callable

_PAIRS = 15
"""Pairs of runs at most."""
_SECONDS = 2.0
"""Seconds that all pairs take at most."""
_LONGEST = 0.4
"""Seconds of a pair from which on it is not repeated."""


def timed(before: Callable[[], object], after: Callable[[], object]) -> tuple[list[float], list[float]]:
    """Run two models in turn, and give the seconds of each run; none where one pair takes too long.

    Both run under the same load of the machine so.  The first pair only warms up.
    """
    began = time.perf_counter()
    times: tuple[list[float], list[float]] = [], []
    if sum(_pair(before, after)) > _LONGEST:
        return times
    while len(times[0]) < _PAIRS and time.perf_counter() - began < _SECONDS:
        for found, seconds in zip(times, _pair(before, after), strict=True):
            found.append(seconds)
    return times


def _pair(before: Callable[[], object], after: Callable[[], object]) -> tuple[float, float]:
    marks = [time.perf_counter()]
    for run in (before, after):
        run()
        marks.append(time.perf_counter())
    return marks[1] - marks[0], marks[2] - marks[1]
