"""Types and shapes by ``onnx.shape_inference``, in a process of its own.

The C++ library crashes on some malformed models and runs or allocates without end on others
(https://github.com/onnx/onnx/issues/6185, https://github.com/onnx/onnx/issues/7298), which a linter
must survive: it works in a forked child, with limits.  Where there is no fork it works in place.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import onnx.defs
import onnx.onnx_cpp2py_export.shape_inference as library

from trtlint.errors import ExperimentError
from trtlint.process.fork import Child, limit_time, write_all

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
_GIVEN, _FAILED, _REFUSED = range(3)
"""First byte of an answer: the library gave bytes, failed, or refused the model."""


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
    processor, memory = limits
    most = _MOST_ANSWER + _ANSWER_PER_BYTE * len(data)
    with Child(lambda writer: _work(work, data, processor, writer), memory) as child:
        try:
            answer = child.read(most + 1, time.monotonic() + SECONDS)
        except TimeoutError:
            raise InferenceError(f"it took more than {SECONDS:.0f} s") from None
        if len(answer) > most:
            raise InferenceError(f"it gives more than {most >> 20} MiB")
        child.wait()
    if child.signal:
        if child.signal == "SIGXCPU":
            raise InferenceError(f"it took more than {processor} s of processor time")
        raise InferenceError(f"the ONNX library crashed ({child.signal})")
    if child.code != 0 or not answer:
        raise InferenceError("the ONNX library crashed")
    if answer[0] != _GIVEN:
        raise InferenceError(answer[1:].decode("utf-8", "replace"), refused=answer[0] == _REFUSED)
    return answer[1:]


def _work(work: Callable[[bytes], bytes], data: bytes, processor: int, writer: int) -> None:
    """Call the library in the child."""
    limit_time(processor)
    try:
        kind, answer = _GIVEN, work(data)
    except InferenceError as error:
        kind, answer = _REFUSED if error.refused else _FAILED, str(error).encode()
    write_all(writer, bytes([kind]))
    write_all(writer, answer)
