"""Lines of a log that repeat an earlier failure.

A framework reports that a part of its model has no engine, after TensorRT has reported the cause.  The
library reports a missing plugin again as an unreadable engine, and the parser quotes the
library's error about shapes.  One failure is one finding: its cause leads, and these lines are evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trtlint.buildfiles.patterns import table
from trtlint.buildfiles.records import Record
from trtlint.facts.blocks.lognames import reason

_FRAMEWORK = "provider_failed"
"""The pattern for a framework's report that a part has no engine."""
_NAMES = ("model", "served", "kernel", "node", "op", "engine", "segment")
"""The groups of the pattern that name the part."""
_NEAR = 40
"""Largest distance in lines between a failure and its repetition: a stack trace may be in between."""
_PLUGIN, _LIBRARY, _PLUGIN_LINES = "plugin_not_found", "plugin_library", 5
_OF_PLUGIN = ("annot deserialize plugin", "IPluginCreator not found")
_QUOTED, _PARSER = "shape_mismatch", "parser_error"
"""The pattern of errors that the parser quotes, and that of the parser."""
_LEAST = 20
"""Least length of a sentence for the comparison."""


def echoes(records: Sequence[Record]) -> Mapping[int, Record]:
    """Return the original record of each repetition, by the identity of the repetition.

    Args:
        records: the records of a log, in the order of their lines.
    """
    found = dict(_quoted(records))
    cause: Record | None = None
    part = ""
    last: dict[str, Record] = {}
    for record in records:
        plugin = last.get(_PLUGIN)
        if record.pattern == _FRAMEWORK:
            name = part_of(record)
            if cause is not None and record.line - cause.line <= _NEAR and part in ("", name):
                found[id(record)] = cause
                part = name
        elif plugin is not None and _repeats_plugin(record, plugin):
            found[id(record)] = plugin
        elif _is_cause(record):
            cause, part = record, ""
        if id(record) not in found:
            last[record.pattern] = record
    return found


def part_of(record: Record) -> str:
    """Return the part of a model, or the model, without an engine according to a framework."""
    return next((record.groups[key] for key in _NAMES if record.groups.get(key)), "")


def _is_cause(record: Record) -> bool:
    entry = table().named(record.pattern)
    return entry is not None and entry.says == "cause" and record.severity in ("E", "F", None)


def _repeats_plugin(record: Record, plugin: Record) -> bool:
    if record.pattern != _LIBRARY or record.line - plugin.line > _PLUGIN_LINES:
        return False
    return any(words in record.message for words in _OF_PLUGIN)


def _quoted(records: Sequence[Record]) -> Iterator[tuple[int, Record]]:
    """Yield errors about shapes that the parser quotes, with the message of the parser."""
    quoting = [record for record in records if record.pattern == _PARSER]
    for record in records if quoting else ():
        said = reason(record.message) if record.pattern == _QUOTED else ""
        for other in quoting:
            near = 0 <= other.line - record.line <= _NEAR
            if near and (other.line == record.line or (len(said) >= _LEAST and said in other.message)):
                yield id(record), other
                break
