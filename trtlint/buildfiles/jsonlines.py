"""Extract log messages from JSON objects, with one JSON object per line.

Container runtimes and structured loggers write such logs: Docker
(https://docs.docker.com/engine/logging/drivers/json-file/), Kubernetes with Fluent Bit, journalctl -o json
(https://systemd.io/JOURNAL_EXPORT_FORMATS/), Google Cloud.
"""

from __future__ import annotations

import json
import re

_KEYS = ("log", "msg", "message", "MESSAGE", "textPayload")
_KEY = rb'"(?:' + "|".join(_KEYS).encode() + rb')": ?"'
JSON_LINE = rb'\{ ?"(?:[^\n]{0,2000}?[,{] ?"|)(?:' + "|".join(_KEYS).encode() + rb')": ?"'
"""Pattern of the start of a JSON line with a message. Further fields may precede the message."""
_STARTS = (b'{"', b'{ "')
_CUT = re.compile(_KEY + rb'(?P<text>(?:[^"\\]|\\.)*)')
_MOST = 1 << 20  # bytes of a line that are decoded
_ESCAPE = re.compile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|[@-Z\\\\-_])")


def json_message(line: bytes) -> list[bytes] | None:
    """Return the lines of the message in a JSON object, or None if the line has no such message.

    If the object is truncated, return the part of the message before the cut.
    """
    if not line.startswith(_STARTS) or len(line) > _MOST or not (found := _CUT.search(line)):
        return None
    try:
        text = _message(json.loads(line))
    except (ValueError, RecursionError):
        text = _unescaped(found["text"])
    if text is None:
        return None
    text = _ESCAPE.sub("", text).rstrip("\r\n")
    return [part.encode("utf-8", "replace") for part in text.replace("\r\n", "\n").split("\n")]


def _message(value: object) -> str | None:
    if not isinstance(value, dict):
        return None
    texts = (value.get(key) for key in _KEYS)
    return next((text for text in texts if isinstance(text, str)), None)


def _unescaped(text: bytes) -> str:
    """Decode the beginning of a JSON string that was truncated."""
    text = text.removesuffix(b"\\")
    try:
        return str(json.loads(b'"' + text + b'"', strict=False))
    except ValueError:
        return text.decode("utf-8", "replace").replace('\\"', '"').replace("\\n", "\n")
