"""The shapes in which loggers print a message: prefix, severity and the tool that it gives away.

Sources: trtexec and the samples (https://github.com/NVIDIA/TensorRT/blob/main/samples/common/logging.h),
Polygraphy (https://github.com/NVIDIA/TensorRT/blob/main/tools/Polygraphy/polygraphy/logger/logger.py),
ONNX Runtime (https://github.com/microsoft/onnxruntime/issues/22164), Torch-TensorRT
(https://github.com/pytorch/TensorRT/issues/4061).  Everyone else's loggers are in
:mod:`trtlint.buildfiles.wrapped`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_DATE = rb"\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\]"
_STAMP = rb"\[[^\n]{19}\]"  # at the start of a line any stamp of that length will do
WORD = rb"(?:INTERNAL[_ ]ERROR|CRITICAL|FATAL|ERROR|WARNING|WARN|INFO|VERBOSE|DEBUG)"
"""Severities in words."""

# The first character tells most shapes apart; lines that are program output fail at once.
_BRACKET = re.compile(
    _STAMP + rb" (?:\[(?P<trtexec>[FEWIV])\](?: (?P<library>\[TRT\])|(?= |$))"
    rb"|\[TRT(?P<llm_tool>-LLM)?\] (?:\[RANK \d+\] )?\[(?P<python>[FEWIVD])\])[ ]?"
    rb"|\[(?P<short>[FEWIVXSU!])\](?: (?P<short_library>\[TRT\] ?)|(?= |$))[ ]?"
    rb"|\[TRT\] \[(?P<undated>[FEWIVD])\] ?"
    rb"|\[TensorRT(?:-LLM)?\](?: (?P<legacy>" + WORD + rb"):|\[(?P<llm>" + WORD + rb")\]) ?"
    rb"|\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s+(?P<dated>" + WORD + rb")\] ?"
)
_OTHER = re.compile(
    rb"(?P<torch>" + WORD + rb"):torch_tensorrt[^:]{0,200}:"
    rb"|(?P<torch_cpp>" + WORD + rb"): \[(?:Torch-TensorRT|TRTorch)[^\]]{0,80}\] - "
    rb"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.,]\d+ \[(?P<ort>[VIWEF]):onnxruntime:[^\]]{0,300}\] "
    rb"(?:\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s+(?P<inner>" + WORD + rb")\] )?"
    rb"|(?P<ort_sink>[VIWEF]) onnxruntime: \[[^\]]{0,60}?(?P<sunk>" + WORD + rb")?\] "
    rb"|(?P<glog>[IWEF])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [^\]\n]{1,80}\] "
    rb"|\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d\.\d+: (?P<tf>[IWEF]) \S{1,160}:\d+\] (?:DefaultLogger )?"
    rb"|\d:\d\d:\d\d\.\d+ +\d+ +0x\w+ +(?P<gst>"
    + WORD
    + rb") +\S+ +\S+:\d+:[^\n:]{1,80}:(?:<[^>\n]{1,80}>)? "
    rb"|\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,]?\d*\S{0,6} [^\n]{0,60}?\b(?P<logging>" + WORD + rb")\b[\]: -]+"
)
_EMBEDDED = re.compile(_DATE + rb" \[(?:[FEWIV]\]|TRT\] \[[FEWIV]\])")
_CI_STAMP = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z ")
_TAIL = 300
"""Bytes at the end of a message in which that origin is looked for."""
_ORT_TAIL = re.compile(rb" \[[\w./]*tensorrt_execution_provider[^\]]*\]$")
_GLOG_LIBRARY = (b" logging.cc:", b" tensorrt.cc:", b" tensorrt_backend.cc:")
"""Files of Triton that hand on what TensorRT says:
https://github.com/triton-inference-server/tensorrt_backend/tree/main/src"""

_TOOL = {
    "trtexec": "logger",
    "python": "python",
    "short": "logger",
    "undated": "python",
    "legacy": "python",
    "llm": "tensorrt-llm",
    "dated": "logger",
    "torch": "torch-tensorrt",
    "torch_cpp": "torch-tensorrt",
    "ort": "onnxruntime",
    "ort_sink": "onnxruntime",
    "glog": "logger",
    "tf": "tensorflow",
    "gst": "deepstream",
    "logging": "logger",
}
_SPEAKS = frozenset({"undated", "legacy", "llm", "dated", "torch", "torch_cpp", "python"})
"""Shapes in which only the library and its bindings print."""
_COMMON = frozenset({"glog", "tf", "gst", "logging"})
_LETTER = {
    b"X": "V", b"S": "V", b"U": "V", b"D": "V", b"!": "F",
    b"INTERNAL_ERROR": "F", b"INTERNAL ERROR": "F", b"CRITICAL": "F", b"DEBUG": "V", b"TRACE": "V",
}  # fmt: skip


class Prefix(NamedTuple):
    """What a prefix says.

    Attributes:
        severity: one of V I W E F; empty for a line that has a name in front and no severity.
        tool: what prints so.
        start: where the message begins.
        library: whether the builder itself speaks, None where the shape does not tell.
        common: whether any program may print so, of whatever it likes.
    """

    severity: str
    tool: str
    start: int
    library: bool | None
    common: bool = False


def letter(word: bytes) -> str:
    """The severity that a word or letter stands for: one of V I W E F."""
    upper = word.upper()
    return _LETTER.get(upper) or chr(upper[0])


def parse_prefix(line: bytes) -> Prefix | None:
    """The prefix of a line, or None for a line without one of the usual ones."""
    offset = 0
    if line[:2] == b"20" and (stamp := _CI_STAMP.match(line)):
        offset = stamp.end()
    found = (_BRACKET if line[offset : offset + 1] == b"[" else _OTHER).match(line, offset)
    if not found:
        return None
    shape = found.lastgroup or ""
    library: bool | None = True if shape in _SPEAKS else None
    word = found[shape]
    if shape in ("trtexec", "library"):
        library = shape == "library"
        shape, word = "trtexec", found["trtexec"]
    elif shape == "short_library":
        library, shape, word = True, "short", found["short"]
    elif shape == "inner":
        library, shape, word = True, "ort", found["inner"]
    elif shape == "sunk":
        library, shape, word = True, "ort_sink", found["sunk"]
    elif shape == "glog" and any(name in found[0] for name in _GLOG_LIBRARY):
        library = True
    elif shape == "tf":
        library = b"tf2tensorrt" in found[0]
    return Prefix(letter(word), _TOOL[shape], found.end(), library, not library and shape in _COMMON)


def embedded(line: bytes, start: int) -> int:
    """Where a dated prefix begins inside a line, as two writers leave it; -1 if nowhere from ``start`` on."""
    if line.find(b"] [", start) < 0:
        return -1
    found = _EMBEDDED.search(line, start)
    return found.start() if found else -1


def without_tail(message: bytes) -> bytes:
    """The message without the origin that some sinks of ONNX Runtime append."""
    if not message.endswith(b"]"):
        return message
    return message[:-_TAIL] + _ORT_TAIL.sub(b"", message[-_TAIL:])
