"""Run computations in forked child processes, with limits of processor time and memory.

Native code crashes on some models, or uses too much time or memory.  Python cannot interrupt native code.
But the operating system can end a child process that runs such code. The child inherits all data and starts
in a few milliseconds. On systems without ``os.fork``, computations run in this process.
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
"""Seconds of processor time for one computation."""
_MEMORY = 2 << 30
"""Bytes of memory for one computation, if the size of the model file is unknown."""
_PATIENCE = 4
"""Ratio of the wall time limit to the processor time limit.  On a busy machine, wall time is longer."""
_MOST_ANSWER = 1 << 30
"""Maximum size of an answer, in bytes."""
_CHUNK = 1 << 20
_HEAD = struct.Struct("<BQ")
"""Head of an answer: its kind (``_ANSWER`` or ``_FAILURE``), and its size in bytes."""
_ANSWER, _FAILURE = 0, 1

Work = Callable[[], bytes]


class Child:
    """A forked child that sends answers through a pipe.  The end of the ``with`` block kills the child.

    Args:
        work: the function to run in the child; its argument is the file descriptor for the answers.
        memory: bytes that the child may use in addition to the memory of the parent.

    Attributes:
        pid: process id of the child.
        reader: file descriptor to read the answers from.
        signal: name of the signal that ended the child, such as ``SIGSEGV``; empty if no signal ended it.
        code: exit code; None if a signal ended the child, or if the child still runs.
        processor: seconds of processor time used; 0 until the child ends.
    """

    def __init__(self, work: Callable[[int], object], memory: int) -> None:
        self.signal = ""
        self.code: int | None = None
        self.processor = 0.0
        self.pid = 0
        self._running = False
        self.reader, writer = os.pipe()
        # A signal handler may raise an exception: block signals until parent and child can handle it.
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
    ) -> NoReturn:
        """Run the work in the child process, then exit."""
        code = 1
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            os.close(self.reader)
            silent = os.open(os.devnull, os.O_WRONLY)  # libraries print warnings
            os.dup2(silent, 1)
            os.dup2(silent, 2)
            _limit_memory(memory)
            work(writer)
            code = 0
        finally:
            os._exit(code)  # skip the cleanup handlers of the parent

    def __enter__(self) -> Child:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if self._running:
            with suppress(OSError):  # a signal handler may raise after wait() reaped the child
                os.kill(self.pid, signal.SIGKILL)
                self.wait()
        os.close(self.reader)

    def wait(self) -> None:
        """Wait for the child to end."""
        _, status, usage = os.wait4(self.pid, 0)
        self._running = False
        self.processor = usage.ru_utime + usage.ru_stime
        if os.WIFSIGNALED(status):
            self.signal = signal.Signals(os.WTERMSIG(status)).name
        else:
            self.code = os.waitstatus_to_exitcode(status)

    def read(self, size: int, deadline: float) -> bytes:
        """Read ``size`` bytes of answers.  Return fewer bytes if the child closed the pipe.

        Args:
            size: number of bytes.
            deadline: time limit, on the monotonic clock.

        Raises:
            TimeoutError: the bytes did not arrive before the deadline.
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
    """Fork this process, and run ``child`` in the child process only. Return the id of the child process."""
    pid = -1
    try:
        with warnings.catch_warnings():
            # The child takes only locks that Python recreates after a fork.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            child()
    finally:
        if pid == 0:
            os._exit(1)
    return pid


def limit_time(seconds: float) -> None:
    """Limit the processor time of this process, in seconds. Time used before the call counts, too."""
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
    """Write all bytes to a file descriptor, in chunks."""
    view = memoryview(data)
    while view:
        view = view[os.write(writer, view[:_CHUNK]) :]


class ComputationError(ExperimentError):
    """Error: a computation failed.  The message is the reason."""


def compute(work: Work) -> bytes:
    """Run one computation in a child process.

    Raises:
        ComputationError: the computation failed, crashed, or reached a limit.
    """
    (answer,) = compute_all([work])
    if isinstance(answer, ComputationError):
        raise answer
    return answer


def compute_all(works: Sequence[Work]) -> Iterator[bytes | ComputationError]:
    """Run several computations in a child process, and yield their answers.

    If a computation ends the child, the next computation runs in a new child.

    Args:
        works: the computations.  Each computation gets its own time limit.

    Yields:
        One answer for each computation, in order. If the computation failed, the answer is a
        ComputationError.
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
    """Run computations in one child, and yield their answers.

    If a computation ends the child, the answer of this computation is a ComputationError. The function then
    yields no further answers.
    """
    if not hasattr(os, "fork"):
        yield from map(_answer, works)
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
    return ComputationError(f"the checks of all rewrites together exceeded their share of {allowance.words}")


def _answer(work: Work, memory: int = 0) -> bytes | ComputationError:
    try:
        return work()
    except MemoryError:
        limit = f"the limit of {amount(memory)} of memory" if memory else "the available memory"
        return ComputationError(f"the computation exceeded {limit}")
    except Exception as error:  # noqa: BLE001 - libraries raise anything on bad data
        return ComputationError(f"the computation raised {type(error).__name__}")


def _work(works: Sequence[Work], total: float, allowance: Allowance, writer: int) -> None:
    """Run computations inside the child, and write answers to a file descriptor.

    Args:
        works: the computations.
        total: limit of processor time for all computations together, in seconds.
        allowance: limits of memory and time.
        writer: the file descriptor.
    """
    for work in works:
        used = time.process_time()
        if used > total:
            answer: bytes | ComputationError = _spent(allowance)
        else:
            limit_time(used + min(_SECONDS, max(1.0, total - used)))
            answer = _answer(work, allowance.memory)
        failed = isinstance(answer, ComputationError)
        data = str(answer).encode() if isinstance(answer, ComputationError) else answer
        write_all(writer, _HEAD.pack(_FAILURE if failed else _ANSWER, len(data)))
        write_all(writer, data)


def _read(child: Child) -> bytes | ComputationError | None:
    """Return the answer to one computation, or None if the child ended.

    Raises:
        TimeoutError: the answer does not arrive in time.
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
    """Return why the child ended without an answer.

    ``late`` is True if the time limit passed before an answer arrived.
    """
    if late or child.signal == "SIGXCPU":
        return f"the computation exceeded the limit of {_SECONDS} s"
    return f"the computation crashed ({child.signal})" if child.signal else "the computation failed"
