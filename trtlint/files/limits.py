"""What the work on one stranger's file may cost at most: processor time and memory.

Every reader has bounds of its own, in bytes, steps or depth, so that what is wrong can be said by name.
These hold where a file stays below each of them and still costs too much: a timer of the process looks
at both costs, and ends the work on that file alone.
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
"""Processor time for a file of up to :data:`ORDINARY` bytes; a model of 10,000 nodes takes about a second."""
MEMORY = 800 << 20
"""Bytes of memory, mapped files apart, that the process may take for such a file."""
ORDINARY = 10 << 20
"""Bytes of a file above which both limits grow with the file."""
_SECONDS_PER_MEBIBYTE = 0.5
_MEMORY_PER_BYTE = 32
FOR_THE_WHOLE, FOR_THE_END = 0.4, 0.1
"""Shares of an allowance: for the whole model when single rewrites are proven, and for writing it."""
_EXCEEDED = "work on this file exceeded the limit of"
_REMEDY = "which grows with the size of the file; simplify or split the file, or report it if it is ordinary"
_LOOK = 0.05
"""Seconds of processor time between two looks at the costs."""
_AGAIN = 3.0
"""Seconds of processor time until the work is ended once more, where the first time was lost in a destructor.

It takes time to get out of the work: its memory is freed on the way, and must not be interrupted again.
"""


class Allowance:
    """Time and memory for the work on one file, the processes that it starts included.

    Args:
        seconds: processor time.
        memory: bytes of memory of each process, mapped files apart.

    Attributes:
        seconds: as above.
        memory: as above.
    """

    def __init__(self, seconds: float, memory: int) -> None:
        self.seconds = seconds
        self.memory = memory
        self._began = time.process_time()
        self._charged = 0.0

    def charge(self, seconds: float) -> None:
        """Count time of another process."""
        self._charged += seconds

    @property
    def left(self) -> float:
        """Seconds that are left; negative where more was taken."""
        return self.seconds - self._charged - (time.process_time() - self._began)

    def left_but(self, share: float) -> float:
        """Seconds that are left if a share of all is kept for later work."""
        return self.left - share * self.seconds

    @property
    def words(self) -> str:
        """The limit of time in words."""
        return f"the limit of {self.seconds:.0f} s of processor time"


_current: ContextVar[Allowance | None] = ContextVar("_current", default=None)


def current() -> Allowance | None:
    """The allowance that the work is under; None where it has only the usual limits of a file."""
    return _current.get()


def amount(memory: int) -> str:
    """Bytes of memory in words.

    >>> amount(2 << 30), amount(2600 << 20), amount(800 << 20)
    ('2 GB', '2.5 GB', '800 MB')
    """
    return f"{memory / (1 << 30):.2g} GB" if memory >= 1 << 30 else f"{memory >> 20} MB"


class LimitError(UnreadableError):
    """The work on a file was ended at a limit."""


class _StopError(BaseException):
    """Ends the work from within; no handler of errors may take it for one of its own."""

    def __init__(self, watch: _Watch, reason: str) -> None:
        super().__init__(reason)
        self.watch = watch
        self.reason = reason


@contextmanager
def limited(*files: str | os.PathLike[str], allowance: Allowance | None = None) -> Iterator[None]:
    """Hold what is done meanwhile to the limits for some files.

    Within another such block that has no allowance, outside of the main thread, where the program has a
    profiling timer of its own, and on systems without such timers there are no limits but those of the
    readers.

    Args:
        files: the files.
        allowance: what the work may take, where that is not the usual for such files; the processes that it
            starts find it with :func:`current`.

    Raises:
        LimitError: a limit was reached.
    """
    token = None if allowance is None else _current.set(allowance)
    try:
        watch = _Watch(allowance or _usual(sum(map(_size, files))), widens=allowance is not None)
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
    # Outside of the handler, so that nothing keeps the frames, and what they hold, alive.
    if stopped:
        gc.collect()
        raise LimitError(stopped)


def _usual(size: int) -> Allowance:
    return grown(SECONDS, MEMORY, size)


def grown(seconds: float, memory: int, size: int) -> Allowance:
    """An allowance that grows with the bytes of a file beyond those of an ordinary one.

    Args:
        seconds: processor time for an ordinary file.
        memory: bytes of memory for an ordinary file.
        size: bytes of the file.
    """
    beyond = max(0, size - ORDINARY)
    return Allowance(seconds + _SECONDS_PER_MEBIBYTE * beyond / (1 << 20), memory + _MEMORY_PER_BYTE * beyond)


class _Watch:
    """Looks at the costs again and again, from the signal of a timer.

    Args:
        allowance: the limits.
        widens: whether blocks within this one have their own limits besides.
    """

    _active: ClassVar[_Watch | None] = None
    """The innermost one."""

    def __init__(self, allowance: Allowance, *, widens: bool) -> None:
        self._allowance = allowance
        self._widens = widens
        self._outer: _Watch | None = None
        self._highest = 0
        self._quiet = 0.0

    def begin(self) -> bool:
        """Start the timer; False where there can be none."""
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
        """Stop the timer."""
        _Watch._active = self._outer
        if self._outer is None:
            signal.setitimer(signal.ITIMER_PROF, 0)
            # Not the default: a signal that is still on its way would end the process.
            signal.signal(signal.SIGPROF, signal.SIG_IGN)

    def look(self) -> None:
        """End the work where it costs too much.

        Raises:
            _StopError: it does.
        """
        now, allowance, reason = time.process_time(), self._allowance, ""
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
    """Bytes of memory of a process, mapped files apart; 0 where the system does not tell."""
    with suppress(OSError, ValueError, IndexError):
        pages = Path(f"/proc/{pid}/statm").read_bytes().split()
        return (int(pages[1]) - int(pages[2])) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _size(file: str | os.PathLike[str]) -> int:
    try:
        return Path(file).stat().st_size
    except (OSError, ValueError):
        return 0
