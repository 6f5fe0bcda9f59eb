"""Parse prefixes of log lines, such as ``[I] [TRT]``: the severity, and the tool that prints this prefix.

Sources: trtexec and the samples (https://github.com/NVIDIA/TensorRT/blob/main/samples/common/logging.h),
Polygraphy (https://github.com/NVIDIA/TensorRT/blob/main/tools/Polygraphy/polygraphy/logger/logger.py), ONNX
Runtime (https://github.com/microsoft/onnxruntime/issues/22164), Torch-TensorRT
(https://github.com/pytorch/TensorRT/issues/4061).  :mod:`trtlint.buildfiles.wrapped` handles the loggers of
other programs.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_DATE = rb"\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\]"
_STAMP = rb"\[[^\n]{19}\]"  # at the start of a line, any stamp of this length
WORD = rb"(?:INTERNAL[_ ]ERROR|CRITICAL|FATAL|ERROR|WARNING|WARN|INFO|VERBOSE|DEBUG)"
"""Pattern of a severity that is printed as a word."""

# The first character identifies most forms, so the match fails at once for program output.
_BRACKET = re.compile(
    _STAMP + rb" (?:\[(?P<trtexec>[FEWIV])\](?: (?P<library>\[TRT\])|(?= |$))"
    rb"|\[TRT(?:-LLM)?\] (?:\[RANK \d+\] )?\[(?P<python>[FEWIVD])\])[ ]?"
    rb"|\[(?P<short>[FEWIVXSU!])\](?: (?P<short_library>\[TRT\] ?)|(?= |$))[ ]?"
    rb"|\[TRT(?:-LLM)?\] \[(?P<undated>[FEWIVD])\] ?"
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
"""The search for a source location covers this number of bytes at the end of a message."""
_ORT_TAIL = re.compile(rb" \[[\w./]*tensorrt_execution_provider[^\]]*\]$")
_GLOG_LIBRARY = (b" logging.cc:", b" tensorrt.cc:", b" tensorrt_backend.cc:")
"""Triton files that forward TensorRT's messages:
https://github.com/triton-inference-server/tensorrt_backend/tree/main/src"""

_SHAPES: dict[str | None, tuple[str, str, bool | None, bool]] = {
    "library": ("trtexec", "logger", True, False),
    "trtexec": ("trtexec", "logger", False, False),
    "python": ("python", "python", True, False),
    "short": ("short", "logger", None, False),
    "short_library": ("short", "logger", True, False),
    "undated": ("undated", "python", True, False),
    "legacy": ("legacy", "python", True, False),
    "llm": ("llm", "tensorrt-llm", True, False),
    "dated": ("dated", "logger", True, False),
    "torch": ("torch", "torch-tensorrt", True, False),
    "torch_cpp": ("torch_cpp", "torch-tensorrt", True, False),
    "ort": ("ort", "onnxruntime", None, False),
    "inner": ("inner", "onnxruntime", True, False),
    "ort_sink": ("ort_sink", "onnxruntime", None, False),
    "sunk": ("sunk", "onnxruntime", True, False),
    "glog": ("glog", "logger", None, True),
    "tf": ("tf", "tensorflow", None, True),
    "gst": ("gst", "deepstream", None, True),
    "logging": ("logging", "logger", None, True),
}
"""Properties of each form of prefix. The key is the last group of the regular expression that matched.

An entry has four parts:

- the name of the group that captures the severity
- the tool
- True if the TensorRT library printed the line, False if the tool did, None if unknown
- True if any program may print this form
"""
_LETTERS = {letter: chr(letter[0]) for letter in (b"F", b"E", b"W", b"I", b"V")}
_LETTER = {
    b"X": "V", b"S": "V", b"U": "V", b"D": "V", b"!": "F",
    b"INTERNAL_ERROR": "F", b"INTERNAL ERROR": "F", b"CRITICAL": "F", b"DEBUG": "V", b"TRACE": "V",
}  # fmt: skip


class Prefix(NamedTuple):
    """A parsed prefix.

    Attributes:
        severity: one of V I W E F; empty for a line with a name but no severity.
        tool: the tool that prints this form.
        start: index of the message in the line.
        library: True if the TensorRT library printed the line, False if the tool did; None if unknown.
        common: True if programs that do not use TensorRT also print this form.
    """

    severity: str
    tool: str
    start: int
    library: bool | None
    common: bool = False


def letter(word: bytes) -> str:
    """Convert a word or letter for a severity, such as ``WARNING``, to one of V I W E F."""
    upper = word.upper()
    return _LETTER.get(upper) or chr(upper[0])


def parse_prefix(line: bytes) -> Prefix | None:
    """Return the log prefix of a line, or None if the line has no usual prefix."""
    offset = 0
    if line[:2] == b"20" and (stamp := _CI_STAMP.match(line)):
        offset = stamp.end()
    found = (_BRACKET if line[offset : offset + 1] == b"[" else _OTHER).match(line, offset)
    if not found:
        return None
    group, tool, library, common = _SHAPES[found.lastgroup]
    if common and (any(name in found[0] for name in _GLOG_LIBRARY) or b"tf2tensorrt" in found[0]):
        library, common = True, False
        tool = "triton" if group == "glog" else tool
    word = found[group]
    if word == b"!" and tool == "logger":
        tool = "polygraphy"  # only Polygraphy marks critical messages this way
    return Prefix(_LETTERS.get(word) or letter(word), tool, found.end(), library, common)


def embedded(line: bytes, start: int) -> int:
    """Return the position of a dated log prefix at or after ``start`` in a line, or -1 if there is none."""
    if line.find(b"] [", start) < 0:
        return -1
    found = _EMBEDDED.search(line, start)
    return found.start() if found else -1


def without_tail(message: bytes) -> bytes:
    """Return a message without the source location that some loggers of ONNX Runtime append."""
    if not message.endswith(b"]"):
        return message
    return message[:-_TAIL] + _ORT_TAIL.sub(b"", message[-_TAIL:])
