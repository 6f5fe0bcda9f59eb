"""Measure the run times of an original and a rewritten model in one process."""

from __future__ import annotations

import time
from collections.abc import Callable

_PAIRS = 15
"""Maximum number of pairs of runs."""
_SECONDS = 2.0
"""Time limit for all pairs in seconds."""
_LONGEST = 0.4
"""Time limit in seconds for the first pair of runs. If this pair takes longer, no pairs follow."""


def timed(before: Callable[[], object], after: Callable[[], object]) -> tuple[list[float], list[float]]:
    """Run two models alternately. For each model, return a list with the seconds of each run.

    The models alternate, so that other programs slow both models down equally. The first run of each model is
    a warm-up. If the warm-up takes too long, both lists are empty.
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
