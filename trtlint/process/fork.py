"""Computations on strangers' data in a forked child, with limits of processor time and memory.

A call into numpy does not look at signals: it allocates and computes as much as an operator of a model
says.  In a child the system ends it.  The child inherits all that the computation reads, and costs a few
milliseconds.  Where there is no fork it works in place.
"""

from __future__ import annotations

import math
import os
import select
import signal
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
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
    from trtlint.process.child import forked as in_child

    reader, writer = os.pipe()
    done, late = 0, False
    try:
        with in_child(lambda: _work(works, total, allowance, reader, writer)) as child:
            os.close(writer)
            writer = -1
            try:
                while done < len(works) and (answer := _read(reader)) is not None:
                    done += 1
                    yield answer
            except TimeoutError:
                late = True
    finally:
        os.close(reader)
        if writer >= 0:
            os.close(writer)
    allowance.charge(child.seconds)
    if done < len(works):
        yield ComputationError(_reason(child.status, late=late))


def _spent(allowance: Allowance) -> ComputationError:
    return ComputationError(f"all rewrites together exceeded their share of {allowance.words}")


def _answered(work: Work) -> bytes | ComputationError:
    try:
        return work()
    except MemoryError:
        return ComputationError("computing it takes more memory than there is")
    except Exception as error:  # noqa: BLE001 - whatever a library raises for a stranger's data
        return ComputationError(f"it cannot be computed ({type(error).__name__})")


def _work(works: Sequence[Work], total: float, allowance: Allowance, reader: int, writer: int) -> NoReturn:
    """Make the computations, and end the process."""
    code = 1
    try:
        os.close(reader)
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        _limit_memory(allowance.memory)
        for work in works:
            used = time.process_time()
            if used > total:
                answer: bytes | ComputationError = _spent(allowance)
            else:
                _limit_time(used + min(_SECONDS, max(1.0, total - used)))
                try:
                    answer = work()
                except MemoryError:
                    words = f"computing it exceeded the limit of {amount(allowance.memory)} of memory"
                    answer = ComputationError(words)
                except Exception as error:  # noqa: BLE001 - whatever a library raises for a stranger's data
                    answer = ComputationError(f"it cannot be computed ({type(error).__name__})")
            failed = isinstance(answer, ComputationError)
            data = str(answer).encode() if isinstance(answer, ComputationError) else answer
            _write(writer, _HEAD.pack(_FAILURE if failed else _ANSWER, len(data)))
            _write(writer, data)
        code = 0
    finally:
        os._exit(code)  # nothing of the parent may run here


def _write(writer: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(writer, view[:_CHUNK]) :]


def _limit_memory(memory: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError, ValueError, IndexError):
        mapped = int(Path("/proc/self/statm").read_bytes().split()[0]) * resource.getpagesize()
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (mapped + memory, hard))


def _limit_time(seconds: float) -> None:
    import resource

    with suppress(OSError, ValueError):
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), hard))


def _read(reader: int) -> bytes | ComputationError | None:
    """One answer; None where the child ended.

    Raises:
        TimeoutError: it takes too long.
    """
    deadline = time.monotonic() + _PATIENCE * _SECONDS
    head = _read_exactly(reader, _HEAD.size, deadline)
    if len(head) < _HEAD.size:
        return None
    kind, size = _HEAD.unpack(head)
    if size > _MOST_ANSWER:
        return None
    data = _read_exactly(reader, size, deadline)
    if len(data) < size:
        return None
    return ComputationError(data.decode("utf-8", "replace")) if kind == _FAILURE else data


def _read_exactly(reader: int, size: int, deadline: float) -> bytes:
    """So many bytes; fewer where the child ended."""
    pieces: list[bytes] = []
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    while size:
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            raise TimeoutError
        piece = os.read(reader, min(size, _CHUNK))
        if not piece:
            break
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _reason(status: int, *, late: bool) -> str:
    """Why a child ended before its answer."""
    if late or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU):
        return f"computing it exceeded the limit of {_SECONDS} s"
    if os.WIFSIGNALED(status):
        return f"computing it crashed ({signal.Signals(os.WTERMSIG(status)).name})"
    return "computing it failed"
