"""A forked child of which nothing is left behind, and that never runs what is its parent's."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from trtlint.lean import dataclass


@dataclass(slots=True)
class Child:
    """A forked process.

    Attributes:
        pid: its id.
        status: how it ended, as `os.wait` gives it; 0 until it has ended.
        seconds: processor time that it took; 0 until it has ended.
    """

    pid: int
    status: int = 0
    seconds: float = 0.0


def start(work: Callable[[], object]) -> int:
    """Fork a child that does some work and exits; return its id.

    Signals wait until both sides are ready for an exception of their handlers: in the child nothing but
    the work runs, whatever is raised.

    Args:
        work: ends the process by `os._exit`; if it returns or raises, the exit code is 1.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        return _start(work, before)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start(work: Callable[[], object], mask: Iterable[int]) -> int:
    pid = -1
    try:
        with warnings.catch_warnings():
            # Locks that other threads hold and the child needs are made anew behind a fork.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            work()
    finally:
        if pid == 0:
            os._exit(1)
    return pid


@contextmanager
def forked(work: Callable[[], object]) -> Iterator[Child]:
    """Fork a child for the time of a block; it is ended and waited for at the end of the block.

    Args:
        work: as :func:`start` takes it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    child: Child | None = None
    try:
        child = Child(_start(work, before))
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        yield child
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            if child is not None:
                _end(child)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end(child: Child) -> None:
    with suppress(OSError):
        os.kill(child.pid, signal.SIGKILL)
    _, child.status, usage = os.wait4(child.pid, 0)
    child.seconds = usage.ru_utime + usage.ru_stime
