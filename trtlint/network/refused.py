"""Convert exceptions of ONNX Runtime and of ONNX's reference evaluator to texts.

The exceptions of these libraries have no common base class.
"""

from __future__ import annotations

from trtlint.errors import ExperimentError

_NO_MEMORY = ("bad_alloc", "bad allocation", "failed to allocate memory", "cannot allocate memory")
"""Texts in ONNX Runtime's messages about too little memory.
https://github.com/microsoft/onnxruntime/blob/main/onnxruntime/core/framework/bfc_arena.cc
"""


class RuntimeRefusedError(ExperimentError):
    """Error: ONNX Runtime rejects a model or its inputs.  The message comes from ONNX Runtime."""


def reason_of(error: Exception) -> str:
    """Return the text of an exception on one line.

    Raises:
        MemoryError: the exception reports too little memory.
    """
    if isinstance(error, MemoryError):
        raise error
    text = " ".join(str(error).split()) or type(error).__name__
    if any(words in text.lower() for words in _NO_MEMORY):
        raise MemoryError(text) from error
    return text
