"""Limit the processor time and memory for the work on one untrusted file.

Every reader has limits in bytes, steps or depth, so that the error message can name the cause. This module
stops the work on files that no reader rejects, but that still cost too much time or memory. A timer
checks time and memory, and stops only the work on the current file.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import ClassVar

from trtlint.files.problem import UnreadableError

SECONDS = 4.5
"""Seconds of processor time for a file of up to :data:`ORDINARY` bytes.

A model of 10,000 nodes takes about one second.
"""
MEMORY = 800 << 20
"""Bytes of memory for a file of up to :data:`ORDINARY` bytes, without mapped files."""
ORDINARY = 10 << 20
"""File size in bytes.  For a larger file, the limits of time and memory grow with the file size."""
_SECONDS_PER_MEBIBYTE = 0.5
_MEMORY_PER_BYTE = 32
_SECONDS_PER_WEIGHT_MEBIBYTE = 0.01
"""Seconds of processor time for each MiB of external weights that are read once, in parts."""
FOR_THE_WHOLE, FOR_THE_END = 0.4, 0.1
"""Reserved shares of the time limit of a file.

The first share is reserved for the comparison of the whole model: comparisons of single rewrites must not
use it.  The second share is reserved for writing the model: the comparison of the whole model must not use
it.
"""
_EXCEEDED = "reading and checking this file exceeded the limit of"
_REMEDY = (
    "which grows with the file size; simplify or split the file. If the file is ordinary, "
    "report a trtlint bug"
)
_LOOK = 0.05
"""Seconds of processor time between two checks."""
_AGAIN = 3.0
"""Seconds of processor time between two attempts to stop the work.

A destructor can swallow the first exception. The second attempt waits, because it must not interrupt the
release of memory.
"""


class Allowance:
    """Limits of time and memory for the work on one file, including the processes that this work starts.

    Only the thread that creates the object counts: other threads of the program are not part of the work.

    Attributes:
        seconds: processor time.
        memory: bytes of memory of each process, without mapped files.
    """

    def __init__(self, seconds: float, memory: int) -> None:
        self.seconds = seconds
        self.memory = memory
        self._began = time.thread_time()
        self._charged = 0.0

    def charge(self, seconds: float) -> None:
        """Add processor time that another process used for this work."""
        self._charged += seconds

    def extend(self, seconds: float) -> None:
        """Raise the limit of processor time."""
        self.seconds += seconds

    @property
    def left(self) -> float:
        """The processor time left, in seconds.  It is negative if the limit is exceeded."""
        return self.seconds - self._charged - (time.thread_time() - self._began)

    def left_but(self, share: float) -> float:
        """Return the seconds that are left, minus the fraction ``share`` of the whole time limit."""
        return self.left - share * self.seconds

    @property
    def words(self) -> str:
        """The limit of processor time, in words."""
        return f"the limit of {self.seconds:.0f} s of processor time"


_current: ContextVar[Allowance | None] = ContextVar("_current", default=None)


def current() -> Allowance | None:
    """Return the limits of the current work, or None if only the default limits apply."""
    return _current.get()


def amount(memory: int) -> str:
    """Format a number of bytes as text.

    >>> amount(2 << 30), amount(2600 << 20), amount(800 << 20)
    ('2 GB', '2.5 GB', '800 MB')
    """
    return f"{memory / (1 << 30):.2g} GB" if memory >= 1 << 30 else f"{memory >> 20} MB"


class LimitError(UnreadableError):
    """Error: the work on a file exceeded a limit of time or memory."""


class _StopError(BaseException):
    """Raised in a ``with`` block to stop its work, because the block exceeded a limit.

    This is a BaseException, so that no ``except Exception`` catches it.
    """

    def __init__(self, watch: _Watch, reason: str) -> None:
        super().__init__(reason)
        self.watch = watch
        self.reason = reason


@contextmanager
def limit_work(*files: str | os.PathLike[str], allowance: Allowance | None = None) -> Iterator[None]:
    """Limit the processor time and memory of a ``with`` block that works on files.

    The block gets no limits of its own in four cases:

    - It is inside another ``limit_work`` block, and the outer block was called without ``allowance``.
    - It runs outside the main thread.
    - The program already uses the profiling timer.
    - The system has no profiling timer.

    In these cases, the limits of the outer block (if any) and each file reader's own limits still apply.

    Args:
        files: files whose total size sets the default limits.
        allowance: limits to use instead of the default.  Code that starts child processes reads these limits
            from :func:`current`.

    Raises:
        LimitError: a limit was reached.
    """
    token = None if allowance is None else _current.set(allowance)
    try:
        limits = allowance or scale_allowance(SECONDS, MEMORY, sum(map(size_of, files)))
        watch = _Watch(limits, widens=allowance is not None)
        if not watch.begin():
            yield
            return
        stopped = ""
        try:
            yield
        except _StopError as stop:
            if stop.watch is not watch:
                raise
            stopped = stop.reason
        finally:
            watch.end()
    finally:
        if token is not None:
            _current.reset(token)
    # Raise outside the handler.  Inside it, the traceback would keep the frames and their objects alive.
    if stopped:
        gc.collect()
        raise LimitError(stopped)


def scale_allowance(seconds: float, memory: int, size: int) -> Allowance:
    """Return the limits for a file.  Above :data:`ORDINARY` bytes, they grow with the file size.

    Args:
        seconds: processor time for a file of up to :data:`ORDINARY` bytes.
        memory: bytes of memory for a file of up to :data:`ORDINARY` bytes.
        size: bytes of the file.
    """
    beyond = max(0, size - ORDINARY)
    return Allowance(seconds + _SECONDS_PER_MEBIBYTE * beyond / (1 << 20), memory + _MEMORY_PER_BYTE * beyond)


def extend_for_weights(path: str | os.PathLike[str]) -> None:
    """Raise the limit of the current work by the time to read a file of external weights once.

    The size of the model file does not include these weights.
    """
    watch = _Watch._active
    while watch is not None:
        watch._allowance.extend(_SECONDS_PER_WEIGHT_MEBIBYTE * size_of(path) / (1 << 20))
        watch = watch._outer


class _Watch:
    """Checks the time and memory of a ``with`` block.  The signal handler of a timer makes the checks.

    Args:
        allowance: the limits.
        widens: whether a ``with`` block inside this block may set its own limits.
    """

    _active: ClassVar[_Watch | None] = None
    """The innermost active watch."""

    def __init__(self, allowance: Allowance, *, widens: bool) -> None:
        self._allowance = allowance
        self._widens = widens
        self._outer: _Watch | None = None
        self._highest = 0
        self._quiet = 0.0

    def begin(self) -> bool:
        """Start the timer.  Return False if no timer is possible."""
        outer = _Watch._active
        idle = (signal.SIG_DFL, signal.SIG_IGN)
        if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
            return False
        if outer is not None and not outer._widens:
            return False
        if outer is None and signal.getsignal(signal.SIGPROF) not in idle:
            return False
        self._outer = outer
        self._highest = memory_of() + self._allowance.memory
        _Watch._active = self
        if outer is None:
            signal.signal(signal.SIGPROF, _look)
            signal.setitimer(signal.ITIMER_PROF, _LOOK, _LOOK)
        return True

    def end(self) -> None:
        """Stop the timer. If there is an outer block, continue with its limits."""
        _Watch._active = self._outer
        if self._outer is None:
            signal.setitimer(signal.ITIMER_PROF, 0)
            # Do not restore the default handler: with it, a pending signal would end the process.
            signal.signal(signal.SIGPROF, signal.SIG_IGN)

    def look(self) -> None:
        """Check time and memory, and stop the work if it exceeds a limit.

        Raises:
            _StopError: a limit was exceeded.
        """
        now, allowance, reason = time.thread_time(), self._allowance, ""
        if now < self._quiet:
            return
        if allowance.left < 0:
            reason = f"{allowance.seconds:.1f} s of processor time"
        elif memory_of() > self._highest:
            reason = f"{allowance.memory >> 20} MiB of memory"
        if reason:
            self._quiet = now + _AGAIN
            raise _StopError(self, f"{_EXCEEDED} {reason}, {_REMEDY}")
        if self._outer is not None:
            self._outer.look()


def _look(*_: object) -> None:
    if _Watch._active is not None:
        _Watch._active.look()


def memory_of(pid: int | str = "self") -> int:
    """Return the memory of a process in bytes, without mapped files; 0 if unknown."""
    with suppress(OSError, ValueError, IndexError):
        pages = Path(f"/proc/{pid}/statm").read_bytes().split()
        return (int(pages[1]) - int(pages[2])) * os.sysconf("SC_PAGE_SIZE")
    return 0


def size_of(file: str | os.PathLike[str]) -> int:
    """Return the size of a file in bytes; 0 if the size cannot be read."""
    try:
        return Path(file).stat().st_size
    except (OSError, ValueError):
        return 0
