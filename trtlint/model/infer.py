"""Infer types and shapes with ``onnx.shape_inference``, in a separate process.

The C++ library crashes on some malformed models.  For some other models, the library runs or allocates memory
without end (https://github.com/onnx/onnx/issues/6185, https://github.com/onnx/onnx/issues/7298).  So
inference runs in a forked child process with limits.  Without ``os.fork``, inference runs in the calling
process.
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
"""Seconds of wall time for one library call."""
_PROCESSOR = 3
"""Seconds of processor time for the inference of one model.  20,000 nodes take a fraction of a second."""
_MEMORY = 640 << 20
"""Bytes of memory that the inference of a small model may use, not counting the parent process."""
_MEMORY_PER_BYTE = 16
"""Bytes of memory by which the limit grows for each byte of the model, not counting its weights."""
_MOST_MEMORY = 4 << 30
_MOST_ANSWER, _ANSWER_PER_BYTE = 64 << 20, 4
"""Size limit, in bytes, of the child's answer: a fixed number, plus a number for each byte of the request."""
_GIVEN, _FAILED, _REFUSED = range(3)
"""First byte of the child's answer: the library succeeded, failed, or rejected the model."""


class InferenceError(ExperimentError):
    """Error: shape inference failed.  The message is the reason.

    Attributes:
        refused: True if the library rejected the model, for example because a declared type contradicts the
            operators.  False if the library crashed or exceeded a limit.
    """

    def __init__(self, reason: str, *, refused: bool = False) -> None:
        super().__init__(reason)
        self.refused = refused


def infer(data: bytes) -> bytes:
    """Return a serialized model with the inferred types and shapes of its values.

    Raises:
        InferenceError: inference failed.
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
    """Call the ONNX library in a forked child process.  Without ``os.fork``, call it in this process.

    Args:
        work: the function to call.  If it raises an InferenceError, this process raises the same error.
        data: argument of the function.
        processor: limit of processor time, in seconds.
        memory: bytes of memory that the child may use, not counting the memory of the parent.

    Raises:
        InferenceError: the function failed, crashed, or took too long.
    """
    return _isolated(work, data, (processor, memory)) if hasattr(os, "fork") else work(data)


def _infer(data: bytes) -> bytes:
    try:
        inferred: bytes = library.infer_shapes(data, False, False, True)
    except MemoryError:
        raise InferenceError("the ONNX library exceeded the memory limit") from None
    except Exception as error:  # the bindings raise RuntimeError, ValueError and their own classes
        lines = str(error).strip().splitlines()
        raise InferenceError(lines[0] if lines else type(error).__name__, refused=True) from error
    return inferred


def _isolated(work: Callable[[bytes], bytes], data: bytes, limits: tuple[int, int]) -> bytes:
    onnx.defs.has("Identity")  # registers all operators once, for all later children
    processor, memory = limits
    most = _MOST_ANSWER + _ANSWER_PER_BYTE * len(data)
    with Child(lambda writer: _work(work, data, processor, writer), memory) as child:
        try:
            answer = child.read(most + 1, time.monotonic() + SECONDS)
        except TimeoutError:
            raise InferenceError(f"the ONNX library exceeded the limit of {SECONDS:.0f} s") from None
        if len(answer) > most:
            raise InferenceError(f"the result of shape inference exceeded the limit of {most >> 20} MiB")
        child.wait()
    if child.signal:
        if child.signal == "SIGXCPU":
            raise InferenceError(f"the ONNX library exceeded the limit of {processor} s of processor time")
        raise InferenceError(f"the ONNX library crashed ({child.signal})")
    if child.code != 0 or not answer:
        raise InferenceError("the ONNX library crashed")
    if answer[0] != _GIVEN:
        raise InferenceError(answer[1:].decode("utf-8", "replace"), refused=answer[0] == _REFUSED)
    return answer[1:]


def _work(work: Callable[[bytes], bytes], data: bytes, processor: int, writer: int) -> None:
    """Call ``work`` in the child process, and write the result to the pipe ``writer``."""
    limit_time(processor)
    try:
        kind, answer = _GIVEN, work(data)
    except InferenceError as error:
        kind, answer = _REFUSED if error.refused else _FAILED, str(error).encode()
    write_all(writer, bytes([kind]))
    write_all(writer, answer)
