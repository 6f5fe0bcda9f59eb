"""Forked children with limits of processor time and memory, and computations in them.

Native code does not look at signals: it allocates and computes as much as a stranger's model says, and
crashes on some.  In a child the system ends it.  The child inherits all that it reads, and costs a few
milliseconds.  Where there is no fork, computations run in place.
"""

from __future__ import annotations

import math
import os
import select
import signal
import struct
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from trtlint.errors import ExperimentError
from trtlint.files.limits import FOR_THE_WHOLE, Allowance, amount, current

_SECONDS = 10
"""Processor time for one computation."""
_MEMORY = 2 << 30
"""Bytes of memory for one computation, where nothing says how large the file is."""
_PATIENCE = 4
"""How many times as long as its processor time a computation may take on a machine that is busy."""
_MOST_ANSWER = 1 << 30
"""Bytes of one answer."""
_CHUNK = 1 << 20
_HEAD = struct.Struct("<BQ")
_ANSWER, _FAILURE = 0, 1

Work = Callable[[], bytes]


class Child:
    """A forked child that answers through a pipe; it ends with the block, if not before.

    Args:
        work: what it does; gets the descriptor that it writes its answers to.
        memory: bytes that it may map beyond what is mapped here.

    Attributes:
        pid: its process.
        reader: the descriptor of its answers.
        signal: the name of the signal that ended it, such as ``SIGSEGV``; empty for none.
        code: its exit code, None where a signal ended it or it has not ended.
        processor: seconds of processor time that it took, 0 before its end.
    """

    def __init__(self, work: Callable[[int], object], memory: int) -> None:
        self.signal = ""
        self.code: int | None = None
        self.processor = 0.0
        self.pid = 0
        self._running = False
        self.reader, writer = os.pipe()
        # Signals wait until both sides are ready for an exception that a handler raises.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            self.pid = _fork(lambda: self._begin(work, memory, writer, before))
            self._running = True
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        finally:
            os.close(writer)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _begin(
        self, work: Callable[[int], object], memory: int, writer: int, mask: set[int | signal.Signals]
    ) -> None:
        """Do what the child does; it never returns."""
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.close(self.reader)
        _live(work, memory, writer)

    def __enter__(self) -> Child:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if self._running:
            with suppress(OSError):  # a signal's handler may raise after the child was waited for
                os.kill(self.pid, signal.SIGKILL)
                self.wait()
        os.close(self.reader)

    def wait(self) -> None:
        """Wait for its end."""
        _, status, usage = os.wait4(self.pid, 0)
        self._running = False
        self.processor = usage.ru_utime + usage.ru_stime
        if os.WIFSIGNALED(status):
            self.signal = signal.Signals(os.WTERMSIG(status)).name
        else:
            self.code = os.waitstatus_to_exitcode(status)

    def read(self, size: int, deadline: float) -> bytes:
        """Read so many bytes of its answers; fewer where it closed the pipe.

        Args:
            size: the bytes.
            deadline: when they must be there, on the monotonic clock.

        Raises:
            TimeoutError: it takes longer.
        """
        pieces: list[bytes] = []
        poll = select.poll()
        poll.register(self.reader, select.POLLIN)
        while size:
            if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                raise TimeoutError
            piece = os.read(self.reader, min(size, _CHUNK))
            if not piece:
                break
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)


def _fork(child: Callable[[], object]) -> int:
    """Fork; return the process of the child, in which nothing but its work runs, whatever is raised."""
    pid = -1
    try:
        with warnings.catch_warnings():
            # Python makes the locks anew that other threads hold; the child takes no others.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            child()
    finally:
        if pid == 0:
            os._exit(1)
    return pid


def _live(work: Callable[[int], object], memory: int, writer: int) -> NoReturn:
    """Work in the child, and end it."""
    code = 1
    try:
        silent = os.open(os.devnull, os.O_WRONLY)  # libraries print warnings
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        _limit_memory(memory)
        work(writer)
        code = 0
    finally:
        os._exit(code)  # nothing of the parent may run here


def limit_time(seconds: float) -> None:
    """Let this process take so many seconds of processor time in all, from its beginning."""
    import resource

    with suppress(OSError, ValueError):
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), hard))


def _limit_memory(memory: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError, ValueError, IndexError):
        mapped = int(Path("/proc/self/statm").read_bytes().split()[0]) * resource.getpagesize()
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (mapped + memory, hard))


def write_all(writer: int, data: bytes) -> None:
    """Write bytes to a descriptor, however large they are."""
    view = memoryview(data)
    while view:
        view = view[os.write(writer, view[:_CHUNK]) :]


class ComputationError(ExperimentError):
    """A computation that gave nothing; the text says why: ``computing it exceeded the limit of 2 GB``."""


def compute(work: Work) -> bytes:
    """Make one computation.

    Raises:
        ComputationError: it failed, crashed, or reached a limit.
    """
    (answer,) = compute_all([work])
    if isinstance(answer, ComputationError):
        raise answer
    return answer


def compute_all(works: Sequence[Work]) -> Iterator[bytes | ComputationError]:
    """Make several computations, in one child as long as none ends it; each has the limits to itself.

    Args:
        works: the computations.  An exception that one raises is its answer, as a ComputationError.

    Yields:
        The answer of each, in their order.
    """
    allowance = current() or Allowance(float("inf"), _MEMORY)
    left = list(works)
    while left:
        done = 0
        for answer in _answers(left, allowance):
            done += 1
            yield answer
        del left[:done]


def _answers(works: Sequence[Work], allowance: Allowance) -> Iterator[bytes | ComputationError]:
    """The answers up to and including that of the first computation that ended its child."""
    if not hasattr(os, "fork"):
        yield from map(_answered, works)
        return
    total = allowance.left_but(FOR_THE_WHOLE) if current() else float("inf")
    if total <= 0:
        yield from [_spent(allowance)] * len(works)
        return
    done, late = 0, False
    child = Child(lambda writer: _work(works, total, allowance, writer), allowance.memory)
    try:
        with child:
            while done < len(works) and (answer := _read(child)) is not None:
                done += 1
                yield answer
    except TimeoutError:
        late = True
    finally:
        allowance.charge(child.processor)
    if done < len(works):
        yield ComputationError(_reason(child, late=late))


def _spent(allowance: Allowance) -> ComputationError:
    return ComputationError(f"all rewrites together exceeded their share of {allowance.words}")


def _answered(work: Work, memory: int = 0) -> bytes | ComputationError:
    try:
        return work()
    except MemoryError:
        limit = f"the limit of {amount(memory)} of memory" if memory else "the memory there is"
        return ComputationError(f"computing it exceeded {limit}")
    except Exception as error:  # noqa: BLE001 - whatever a library raises for a stranger's data
        return ComputationError(f"it cannot be computed ({type(error).__name__})")


def _work(works: Sequence[Work], total: float, allowance: Allowance, writer: int) -> None:
    """Make the computations in the child."""
    for work in works:
        used = time.process_time()
        if used > total:
            answer: bytes | ComputationError = _spent(allowance)
        else:
            limit_time(used + min(_SECONDS, max(1.0, total - used)))
            answer = _answered(work, allowance.memory)
        failed = isinstance(answer, ComputationError)
        data = str(answer).encode() if isinstance(answer, ComputationError) else answer
        write_all(writer, _HEAD.pack(_FAILURE if failed else _ANSWER, len(data)))
        write_all(writer, data)


def _read(child: Child) -> bytes | ComputationError | None:
    """One answer; None where the child ended.

    Raises:
        TimeoutError: it takes too long.
    """
    deadline = time.monotonic() + _PATIENCE * _SECONDS
    head = child.read(_HEAD.size, deadline)
    if len(head) < _HEAD.size:
        return None
    kind, size = _HEAD.unpack(head)
    if size > _MOST_ANSWER:
        return None
    data = child.read(size, deadline)
    if len(data) < size:
        return None
    return ComputationError(data.decode("utf-8", "replace")) if kind == _FAILURE else data


def _reason(child: Child, *, late: bool) -> str:
    """Why a child ended before its answer."""
    if late or child.signal == "SIGXCPU":
        return f"computing it exceeded the limit of {_SECONDS} s"
    return f"computing it crashed ({child.signal})" if child.signal else "computing it failed"
