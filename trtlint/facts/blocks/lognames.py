"""Find names of nodes, layers and tensors in the messages of a build log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from trtlint.buildfiles.names import layer_names
from trtlint.buildfiles.patterns import table
from trtlint.buildfiles.records import Log, Record

_LAYERS = ("node", "layer")
"""Default groups of a regular expression that contain names. A pattern can list other groups instead.

The text of one group may contain several joined names.
"""
_NO_PLUGIN = "plugin_not_found"
_NO_MEMORY, _REQUEST, _NEXT_TO = "tactic_memory", "tactic_device_request", 2
"""Names of two patterns about a tactic that lacks memory, and the largest distance in lines of their matches.

The second pattern matches the line that states how much GPU memory was free.
"""
_ISLAND = re.compile(r"\{ForeignNode\[.*\]\}")
_CODE = re.compile(
    r"(?:(?:Error\[\d+\]|\d{1,2}): )?(?:\[[^\]\s]{1,200}::\d+\] )?"
    r"(?:\w[\w:~]{0,80}: (?=Error Code))?(?:Error Code:? \d+: )?"
)
_KIND = re.compile(r"[A-Z][A-Za-z ]{1,40} \((.*?)\)?", re.DOTALL)
_IN = r"\bIn [\w:~]{1,80} at /\S{1,200}"
_TAIL = re.compile(rf"[. ]*{_IN}(?: {_IN}){{0,7}}\)?$|\s+\w{{1,40}}\.(?:cpp|cc|h|py):\d+$")
_SOURCE = re.compile(r"^\[[\w./-]{1,200}:\d{1,6}: [\w:~<> ]{1,200}\]\s*")
"""Pattern of a source location before a sentence: ``[shape.cpp:175: ~op_constraints_msg_streamer_t]``."""
_LINES = 8
"""Largest number of lines of a message that trtlint reads to find the sentence about the problem."""
_FULL = "OutOfMemory ("
"""Start of an error text whose first word states the problem.

The parentheses after this word contain only a size, or nothing.
"""
_ERROR_CODE = re.compile(r"Error Code \d+: ([A-Z][\w /-]*?)(?= \(|: |$)")
_FAR = 2000
"""Number of lines above an error in which trtlint searches for the cause.

A verbose build prints many lines between the cause and the error.
"""


def named_in(record: Record, log: Log) -> tuple[bool, tuple[str, ...]]:
    """Return a flag and the names of the nodes, layers or tensors that a message is about.

    The flag is True if the message itself contains the names.  The flag is False if there are no
    names, or if the names come from other messages about the same problem.
    """
    own = _own(record)
    if own:
        return True, own
    entry = table().named(record.pattern)
    for pattern, far in entry.near.items() if entry else ():
        near = [other for other in log.records.get(pattern, ()) if _within(record, other, far)]
        if near:
            return False, _own(near[0] if far > 0 else near[-1])
    if entry and entry.near:
        return False, ()
    announced = log.records.get(entry.announced if entry else "", ())
    found = (name for other in announced if other.line <= record.line for name in _own(other))
    return False, tuple(dict.fromkeys(found))


def island_of(record: Record) -> str | None:
    """Return the name of the Myelin island (a fused subgraph) that a failure is about, or None."""
    entry = table().named(record.pattern)
    if entry is None or not entry.island:
        return None
    found = _ISLAND.search(record.groups.get("node") or record.context or "")
    return found[0] if found else None


def missing_plugin(record: Record, op: str | None) -> str:
    """Return the plugin that TensorRT did not find, or an empty string if the message reports no such plugin.

    ``op`` is the operator type of the node that the message is about.
    """
    if record.pattern != _NO_PLUGIN:
        return ""
    groups = record.groups
    return groups.get("plugin") or groups.get("operator") or groups.get("missing") or op or ""


def stated(record: Record, log: Log, group: Literal["op", "output"]) -> str | None:
    """Return the operator type (``op``) or the first output (``output``) of the node that a message is about.

    If the message does not state this, the message about the node at which the parser stopped is used.  The
    result is None if that message does not state it either.
    """
    if record.groups.get(group):
        return record.groups[group]
    entry = table().named(record.pattern)
    far = min(entry.near.values(), default=0) if entry else 0
    if far >= 0:
        return None
    near = [other for other in log.records.get("parsing_failed", ()) if _within(record, other, far)]
    return near[-1].groups.get(group) or None if near else None


def _within(record: Record, other: Record, far: int) -> bool:
    low, high = sorted((record.line, record.line + far))
    return low <= other.line <= high


def cause_of(record: Record, log: Log) -> Record | None:
    """Return the earlier builder message that explains a failure, or None if there is no such message."""
    entry = table().named(record.pattern)
    if entry is None or not entry.caused:
        return None
    above = (
        other
        for pattern in table().patterns
        if pattern.causes
        for other in log.records.get(pattern.name, ())
        if record.line - _FAR <= other.line <= record.line
        and other.message != record.message
        and other.context in (record.context, None)
    )
    last = max(above, key=lambda other: other.line, default=None)
    return last if last is None else _with_free_memory(last, log)


def _with_free_memory(cause: Record, log: Log) -> Record:
    """Return the line about free GPU memory that precedes the warning ``cause``, or else ``cause``.

    TensorRT prints this line before the warning that a tactic was skipped for lack of memory.
    """
    if cause.pattern != _NO_MEMORY:
        return cause
    return next(
        (other for other in log.records.get(_REQUEST, ()) if 0 < cause.line - other.line <= _NEXT_TO), cause
    )


def said(record: Record) -> str:
    """Return the sentence that states the problem in a message of a log.

    The error code, the source location and the failed call are left out.
    """
    groups = record.groups
    if record.pattern != "other" and (own := groups.get("why") or groups.get("what")):
        return own.strip()
    return reason(record.message)


def reason(message: str) -> str:
    """Return the sentence that states the problem in the text of an error message.

    The error code, the source location and the failed call are left out.

    If the first line has no sentence, the sentence is on the next lines, as in messages of Myelin.
    """
    lines = [line.strip() for line in message.split("\n") if line.strip()]
    text = lines[0] if lines else ""
    if len(lines) > 1 and text.endswith(":"):
        text = f"{text} {lines[1]}"
    first = _sentence(text)
    return (_SOURCE.sub("", first, count=1) or _SOURCE.sub("", _sentence(" ".join(lines[:_LINES])))) or first


def _sentence(text: str) -> str:
    """Remove error code, source location and failed call from a text."""
    code = _CODE.match(text)
    text = _TAIL.sub("", text[code.end() :] if code else text).strip()
    inside = _KIND.fullmatch(text) if code and "Error Code" in code[0] else None
    return (inside[1] if inside and not text.startswith(_FULL) else text).strip()


def _own(record: Record) -> tuple[str, ...]:
    entry = table().named(record.pattern)
    if entry is not None and (entry.names or entry.lists):
        listed = (part for key in entry.lists for part in _parts(record.groups.get(key, "")))
        single = (record.groups[key].strip() for key in entry.names if record.groups.get(key))
        return tuple(dict.fromkeys((*single, *listed)))
    names: dict[str, None] = {}
    for key in _LAYERS:
        text = record.groups.get(key)
        if text:
            found = layer_names(text)
            names |= dict.fromkeys(found.nodes or (() if found.ranges else (text,)))
            names |= dict.fromkeys(part for range_ in found.ranges for part in (*range_.first, *range_.last))
    return tuple(names)


def _parts(text: str) -> Iterator[str]:
    """Split a list of names at its commas.  A full stop at the end of the list is dropped."""
    for part in text.strip().removesuffix(".").split(", "):
        if part.strip():
            yield part.strip()


def error_code(message: str) -> str:
    """Return the kind of an error, or an empty string if the message has none.

    For the message ``Error Code 4: API Usage Error (...``, the result is ``API Usage Error``.
    """
    found = _ERROR_CODE.search(message)
    return "" if found is None else found[1].strip()
