"""Types and shapes by ``onnx.shape_inference``, in a process of its own.

The C++ library crashes on some malformed models and runs or allocates without end on others
(https://github.com/onnx/onnx/issues/6185, https://github.com/onnx/onnx/issues/7298), which a linter
must survive: it works in a forked child, with limits.  Where there is no fork it works in place.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import onnx.defs
import onnx.onnx_cpp2py_export.shape_inference as library

from trtlint.errors import ExperimentError

SECONDS = 20.0
"""Time for one call into the library."""
_PROCESSOR = 3
"""Seconds of processor time for the inference of one model; 20,000 nodes take a fraction of one."""
_MEMORY = 640 << 20
"""Bytes that the inference of a small model may map beyond what the child inherits."""
_MEMORY_PER_BYTE = 16
"""More of them for each byte of a model without its weights."""
_MOST_MEMORY = 4 << 30
_MOST_ANSWER, _ANSWER_PER_BYTE = 64 << 20, 4
"""Bytes of an answer, and more for each byte of what was asked; inferred types are shorter than nodes."""
_CHUNK = 1 << 20


_REFUSED = 2
"""Exit code of a child whose library refused the model."""


class InferenceError(ExperimentError):
    """Inference gave nothing; the text says why.

    ``refused`` says that the library found fault with the model, such as a declared type that
    contradicts the operators, rather than crashed or took too long.
    """

    def __init__(self, reason: str, *, refused: bool = False) -> None:
        super().__init__(reason)
        self.refused = refused


def infer(data: bytes) -> bytes:
    """A serialized model with the types and shapes of its values added, as far as they can be told.

    Raises:
        InferenceError: nothing could be inferred.
    """
    memory = min(_MEMORY + _MEMORY_PER_BYTE * len(data), _MOST_MEMORY)
    return isolated(_infer, data, processor=_PROCESSOR, memory=memory)


def isolated(
    work: Callable[[bytes], bytes],
    data: bytes,
    *,
    processor: int = round(SECONDS),
    memory: int = _MOST_MEMORY,
) -> bytes:
    """What a call into the ONNX library gives, made in a process of its own where there is fork.

    Args:
        work: the call; an InferenceError that it raises is raised here.
        data: what it takes.
        processor: seconds of processor time that it may take.
        memory: bytes that it may map beyond what is mapped here.

    Raises:
        InferenceError: it failed, crashed, or took too long.
    """
    return _isolated(work, data, (processor, memory)) if hasattr(os, "fork") else work(data)


def _infer(data: bytes) -> bytes:
    try:
        inferred: bytes = library.infer_shapes(data, False, False, True)
    except MemoryError:
        raise InferenceError("it needs too much memory") from None
    except Exception as error:  # the bindings raise RuntimeError, ValueError and their own
        lines = str(error).strip().splitlines()
        raise InferenceError(lines[0] if lines else type(error).__name__, refused=True) from error
    return inferred


def _isolated(work: Callable[[bytes], bytes], data: bytes, limits: tuple[int, int]) -> bytes:
    onnx.defs.has("Identity")  # registers all operators, once for every child to come
    from trtlint.process.child import forked

    reader, writer = os.pipe()
    try:
        with forked(lambda: _work(work, data, limits, writer)) as child:
            os.close(writer)
            writer = -1
            answer = _drain(reader, _MOST_ANSWER + _ANSWER_PER_BYTE * len(data))
    finally:
        os.close(reader)
        if writer >= 0:
            os.close(writer)
    status = child.status
    if os.WIFSIGNALED(status):
        if os.WTERMSIG(status) == signal.SIGXCPU:
            raise InferenceError(f"it took more than {limits[0]} s of processor time")
        raise InferenceError(f"the ONNX library crashed ({signal.Signals(os.WTERMSIG(status)).name})")
    code = os.waitstatus_to_exitcode(status)
    if code != 0:
        reason = answer.decode("utf-8", "replace") or "the ONNX library crashed"
        raise InferenceError(reason, refused=code == _REFUSED)
    return answer


def _work(work: Callable[[bytes], bytes], data: bytes, limits: tuple[int, int], writer: int) -> None:
    """What the child does; it never returns."""
    code = 1
    try:
        _limit(*limits)
        silent = os.open(os.devnull, os.O_WRONLY)  # the library prints warnings
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        try:
            answer, code = work(data), 0
        except InferenceError as error:
            answer, code = str(error).encode(), _REFUSED if error.refused else 1
        view = memoryview(answer)
        while view:
            view = view[os.write(writer, view[:_CHUNK]) :]
    except BaseException:  # noqa: BLE001 - nothing of the parent may run here
        code = 1
    finally:
        os._exit(code)


def _limit(processor: int, memory: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError, ValueError):
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (processor, hard))
    with suppress(OSError, ValueError, IndexError):
        mapped = int(Path("/proc/self/statm").read_bytes().split()[0]) * resource.getpagesize()
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (mapped + memory, hard))


def _drain(reader: int, most: int) -> bytes:
    deadline = time.monotonic() + SECONDS
    pieces: list[bytes] = []
    held = 0
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            raise InferenceError(f"it took more than {SECONDS:.0f} s")
        piece = os.read(reader, _CHUNK)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        held += len(piece)
        if held > most:
            raise InferenceError(f"it gives more than {most >> 20} MiB")
