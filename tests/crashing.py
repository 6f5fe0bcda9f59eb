"""Pool workers that crash on some files. :func:`begin` sets up each process."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

from trtlint.case import Case
from trtlint.engine.finding import ModelReport
from trtlint.runs.pools import Pool

_evaluated = Case.evaluated


def evaluated(case: Case) -> tuple[ModelReport, ...]:
    """Lint a file, or crash in the way that its name specifies."""
    path = case.path
    if path.stem == "killed":
        time.sleep(0.2)  # let the others of the pool begin
        os._exit(9)
    if path.stem == "bug":
        raise ZeroDivisionError("of mine")
    if path.stem == "memory":
        raise MemoryError
    if path.stem == "slow":
        time.sleep(0.5)
    return _evaluated(case)


def begin() -> None:
    """Set up one process of the pool."""
    Case.evaluated = evaluated  # type: ignore[method-assign, assignment]


@contextmanager
def pools(most: int) -> Iterator[Pool]:
    """Yield process pools like those of ``-j`` for tests with crashing files."""
    executor = ProcessPoolExecutor(most, multiprocessing.get_context("spawn"), initializer=begin)
    try:
        yield Pool(executor, most)
    finally:
        executor.shutdown()
