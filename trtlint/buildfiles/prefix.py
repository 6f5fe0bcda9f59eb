"""The shapes in which loggers print a message: prefix, severity and the tool that it gives away.

Sources: trtexec and the samples (https://github.com/NVIDIA/TensorRT/blob/main/samples/common/logging.h),
Polygraphy (https://github.com/NVIDIA/TensorRT/blob/main/tools/Polygraphy/polygraphy/logger/logger.py),
ONNX Runtime (https://github.com/microsoft/onnxruntime/issues/22164), Torch-TensorRT
(https://github.com/pytorch/TensorRT/issues/4061).
"""

from __future__ import annotations

import re
from typing import NamedTuple

_DATE = rb"\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\]"
_STAMP = rb"\[[^\n]{19}\]"  # at the start of a line any stamp of that length will do
_WORD = rb"(?:INTERNAL_ERROR|CRITICAL|FATAL|ERROR|WARNING|WARN|INFO|VERBOSE|DEBUG)"

# The first character tells most shapes apart; lines that are program output fail at once.
_BRACKET = re.compile(
    _STAMP + rb" (?:\[(?P<trtexec>[FEWIV])\](?: (?P<library>\[TRT\])|(?= |$))"
    rb"|\[TRT(?:-LLM)?\] (?:\[RANK \d+\] )?\[(?P<python>[FEWIVD])\])[ ]?"
    rb"|\[(?P<short>[FEWIVXSU!])\](?: |$)"
    rb"|\[TensorRT(?:-LLM)?\](?: (?P<legacy>" + _WORD + rb"):|\[(?P<llm>" + _WORD + rb")\]) ?"
    rb"|\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s+(?P<dated>" + _WORD + rb")\] ?"
)
_OTHER = re.compile(
    rb"(?P<torch>" + _WORD + rb"):torch_tensorrt[^:]{0,200}:"
    rb"|(?P<torch_cpp>" + _WORD + rb"): \[Torch-TensorRT[^\]]{0,80}\] - "
    rb"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.,]\d+ \[(?P<ort>[VIWEF]):onnxruntime:[^\]]{0,300}\] "
    rb"(?:\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s+" + _WORD + rb"\] )?"
    rb"|(?P<ort_sink>[VIWEF]) onnxruntime: \[[^\]]{0,60}\] "
    rb"|(?P<glog>[IWEF])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [^\]\n]{1,80}\] "
    rb"|\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,]?\d*\S{0,6} [^\n]{0,60}?\b(?P<logging>" + _WORD + rb")\b[\]: -]+"
)
_EMBEDDED = re.compile(_DATE + rb" \[(?:[FEWIV]\]|TRT\] \[[FEWIV]\])")
_CI_STAMP = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z ")
_ORT_TAIL = re.compile(rb" \[[\w./]*tensorrt_execution_provider[^\]]*\]$")

_TOOL = {
    "trtexec": "logger",
    "python": "python",
    "short": "logger",
    "legacy": "python",
    "llm": "tensorrt-llm",
    "dated": "logger",
    "torch": "torch-tensorrt",
    "torch_cpp": "torch-tensorrt",
    "ort": "onnxruntime",
    "ort_sink": "onnxruntime",
    "glog": "logger",
    "logging": "logger",
}
_LETTER = {b"X": "V", b"S": "V", b"U": "V", b"D": "V", b"!": "F", b"INTERNAL_ERROR": "F", b"CRITICAL": "F"}


class Prefix(NamedTuple):
    """What a prefix says: ``severity`` one of V I W E F, the ``tool`` that prints so, where the message
    begins, and whether the builder itself speaks (``None`` where the shape does not tell)."""

    severity: str
    tool: str
    start: int
    library: bool | None


def parse_prefix(line: bytes) -> Prefix | None:
    """The prefix of a line, or None for a line without one."""
    offset = 0
    if line[:2] == b"20" and (stamp := _CI_STAMP.match(line)):
        offset = stamp.end()
    found = (_BRACKET if line[offset : offset + 1] == b"[" else _OTHER).match(line, offset)
    if not found:
        return None
    shape = found.lastgroup or ""
    library = None
    if shape in ("trtexec", "library"):
        library = shape == "library"
        shape = "trtexec"
    elif shape == "python" and line.startswith(b"[TRT] ", offset + 22):
        library = True
    word: bytes = found[shape]
    return Prefix(_LETTER.get(word) or chr(word[0]), _TOOL[shape], found.end(), library)


def embedded(line: bytes, start: int) -> int:
    """Where a dated prefix begins inside a line, as two writers leave it; -1 if nowhere from ``start`` on."""
    if line.find(b"] [", start) < 0:
        return -1
    found = _EMBEDDED.search(line, start)
    return found.start() if found else -1


def without_tail(message: bytes) -> bytes:
    """The message without the origin that some sinks of ONNX Runtime append."""
    return _ORT_TAIL.sub(b"", message) if message.endswith(b"]") else message
