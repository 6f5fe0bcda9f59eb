"""Recognize build files and models by their first bytes."""

from __future__ import annotations

import codecs
import re
import sys
import zlib
from pathlib import Path

from trtlint.buildfiles.jsonlines import JSON_LINE
from trtlint.buildfiles.plan import MAGIC
from trtlint.buildfiles.stream import GZIP
from trtlint.files.regular import is_pipe, open_regular

_HEAD = 4096
_MODELS = (".onnx", ".pb", ".ort")
_LOGS = (".log", ".log.gz", ".plan", ".engine", ".trt")
_STARTS = (
    b"&&&& ",
    b"Layers:",
    b"Name: ",
    b"Layer(",
    b"CompilationSettings(",
    b"Input filename:",
)
_JSON_LOG = re.compile(JSON_LINE)
# A log can also begin with a bracket ("[V] ..."), or consist of JSON lines (such as Docker's).  In a JSON
# file, the character after the bracket begins an object, a list or a string, or ends the list.
JSON_START = re.compile(rb"\s*(?!" + JSON_LINE + rb")(?:\{\s*(?:[\"}]|$)|\[\s*(?:[\[{\"\]]|$))")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NOT_TEXT = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c\x7f]")


def is_build_file(path: str) -> bool:
    """Return whether a path is a build file.  Any other path is a model.  The path ``-`` is a log.

    If the file is unreadable, the file name decides.
    """
    name = path.lower()
    if path == "-":
        return True
    if name.endswith(_MODELS):
        return False
    try:
        with open_regular(Path(path)) as file:
            head = file.read(_HEAD)
    except OSError:
        return name.endswith((*_LOGS, ".json")) or is_pipe(Path(path))
    return name.endswith(_LOGS) or _is_build(head)


def is_binary(path: str) -> bool:
    """Return whether a file, or standard input (``-``), begins with data that no log contains.

    Standard input must not have been read before.  Its data stay unread.  If a file is unreadable, the result
    is False.
    """
    try:
        if path == "-":
            peek = getattr(sys.stdin.buffer, "peek", None)
            head = b"" if peek is None else bytes(peek(_HEAD)[:_HEAD])
        else:
            with open_regular(Path(path)) as file:
                head = file.read(_HEAD)
    except OSError:
        return False
    if head[:2] == GZIP:
        head = _unzipped(head)
    return head[:2] not in _UTF16 and _NOT_TEXT.search(head) is not None


def _is_build(head: bytes) -> bool:
    if head[:2] == GZIP:
        head = _unzipped(head)
    if head[:4] in MAGIC or head[:2] in _UTF16:
        return True
    head = head.removeprefix(codecs.BOM_UTF8)
    if _NOT_TEXT.search(head):
        return False
    if JSON_START.match(head) or _JSON_LOG.match(head):
        return True
    from trtlint.buildfiles.prefix import parse_prefix

    lines = head.splitlines()
    return any(line.startswith(_STARTS) or parse_prefix(line) is not None for line in lines)


def _unzipped(head: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(head, _HEAD)
    except zlib.error:
        return b""
