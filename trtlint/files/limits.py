"""What the work on one stranger's file may cost at most: processor time and memory.

Every reader has bounds of its own, in bytes, steps or depth, so that what is wrong can be said by name.
These hold where a file stays below each of them and still costs too much: a timer of the process looks
at both costs, and ends the work on that file alone.
"""

from __future__ import annotations

import gc
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from trtlint.files.problem import UnreadableError

SECONDS = 4.5
"""Processor time for a file of up to :data:`ORDINARY` bytes; a model of 10,000 nodes takes about a second."""
MEMORY = 800 << 20
"""Bytes of memory, mapped files apart, that the process may take for such a file."""
ORDINARY = 10 << 20
"""Bytes of a file above which both limits grow with the file."""
_SECONDS_PER_MEBIBYTE = 0.5
_MEMORY_PER_BYTE = 32
_LOOK = 0.05
"""Seconds of processor time between two looks at the costs."""
_AGAIN = 3.0
"""Seconds of processor time until the work is ended once more, where the first time was lost in a destructor.

It takes time to get out of the work: its memory is freed on the way, and must not be interrupted again.
"""


class LimitError(UnreadableError):
    """The work on a file was ended at a limit."""


class _StopError(BaseException):
    """Ends the work from within; no handler of errors may take it for one of its own."""


@contextmanager
def limited(*files: str | os.PathLike[str]) -> Iterator[None]:
    """Hold what is done meanwhile to the limits for some files.

    Within another such block, outside of the main thread, where the program has a profiling timer of
    its own, and on systems without such timers there are no limits but those of the readers.

    Raises:
        LimitError: a limit was reached.
    """
    watch = _Watch(sum(map(_size, files)))
    if not watch.begin():
        yield
        return
    stopped = ""
    try:
        yield
    except _StopError as stop:
        stopped = str(stop)
    finally:
        watch.end()
    # Outside of the handler, so that nothing keeps the frames, and what they hold, alive.
    if stopped:
        gc.collect()
        raise LimitError(stopped)


class _Watch:
    """Looks at the costs again and again, from the signal of a timer."""

    def __init__(self, size: int) -> None:
        beyond = max(0, size - ORDINARY)
        self._seconds = SECONDS + _SECONDS_PER_MEBIBYTE * beyond / (1 << 20)
        self._memory = MEMORY + _MEMORY_PER_BYTE * beyond
        self._active = False

    def begin(self) -> bool:
        """Start the timer; False where there can be none."""
        idle = (signal.SIG_DFL, signal.SIG_IGN)
        if not hasattr(signal, "setitimer") or signal.getsignal(signal.SIGPROF) not in idle:
            return False
        try:
            signal.signal(signal.SIGPROF, self._look)
        except ValueError:  # another thread than the main one
            return False
        self._active = True
        self._deadline = time.process_time() + self._seconds
        self._quiet = 0.0
        self._highest = _memory() + self._memory
        signal.setitimer(signal.ITIMER_PROF, _LOOK, _LOOK)
        return True

    def end(self) -> None:
        """Stop the timer."""
        self._active = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        # Not the default: a signal that is still on its way would end the process.
        signal.signal(signal.SIGPROF, signal.SIG_IGN)

    def _look(self, *_: object) -> None:
        now = time.process_time()
        if not self._active or now < self._quiet:
            return
        if now > self._deadline:
            reason = f"it takes more than {self._seconds:.1f} s of processor time"
        elif _memory() > self._highest:
            reason = f"it takes more than {self._memory >> 20} MiB of memory"
        else:
            return
        self._quiet = now + _AGAIN
        raise _StopError(reason)


def _memory() -> int:
    """Bytes of memory of this process, mapped files apart; 0 where the system does not tell."""
    with suppress(OSError, ValueError, IndexError):
        pages = Path("/proc/self/statm").read_bytes().split()
        return (int(pages[1]) - int(pages[2])) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _size(file: str | os.PathLike[str]) -> int:
    try:
        return Path(file).stat().st_size
    except (OSError, ValueError):
        return 0
