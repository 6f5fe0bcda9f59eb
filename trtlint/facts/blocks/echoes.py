"""Find lines of a build log that repeat an earlier failure.

The log often contains several messages about one failure, for example:

- TensorRT reports the cause, and then a framework reports that a part of the model has no engine.
- TensorRT reports a missing plugin, and then an unreadable engine.
- TensorRT reports an error, then the parser quotes this error, and then a program prints this error again.
- Polygraphy reports a missing Python module, and then quotes the error of Python.
- TensorRT rejects an optimization profile, and then reports that the build has no profile.
- TensorRT reports a failed allocation, and then a warning gives the size of the allocation.
- One line matches a general and a specific pattern, so trtlint reads it as two messages.

trtlint reports such messages as one finding about the cause, and shows the repetitions as evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from trtlint.buildfiles.diagnosis import CACHE_LINES, OF_FILES
from trtlint.buildfiles.patterns import table
from trtlint.buildfiles.records import Record
from trtlint.facts.blocks.lognames import reason

_FRAMEWORK = "provider_failed"
"""Name of a pattern: a framework reports that a part of the model has no engine."""
_NAMES = ("model", "served", "kernel", "node", "op", "engine", "segment")
"""Groups of the pattern ``_FRAMEWORK``.  Each group can contain the name of the part without an engine."""
_NEAR = 40
"""Largest distance in lines between a failure and its repetition.  A stack trace may be in between."""
_LIBRARY = "plugin_library"
_OF_PLUGIN = ("annot deserialize plugin", "IPluginCreator not found")
"""Texts of messages about an engine that is unreadable because a plugin is missing."""
_QUOTED, _PARSER = ("shape_mismatch", "api_error"), "parser_error"
"""Names of patterns: for errors of TensorRT that the parser repeats, and for the parser's own errors."""
_OF_CUDA = "1"
"""Error code of CUDA.  On a machine without a GPU, such an error is below each error of TensorRT-RTX."""
_FILE = "model_unreadable"
_OF_FILES = (_FILE, _LIBRARY, "provider_library")
"""Patterns of errors about a file.  Programs often report a missing or damaged file in several lines."""
_FILE_LINES = 12
_PLACES = ("code", "damaged", "op", "file_line")
"""Groups of the patterns in ``_OF_FILES`` that contain something other than the name of the file."""
_REFUSED, _REFUSED_LINES = "network_refused", 3
"""Name of a pattern for an error about a refused type, and the largest distance of messages about it."""
_CACHE = "timing_cache_unused"
"""Name of a pattern for TensorRT's statement that it does not use the timing cache.

The patterns ``OF_FILES`` also match the error above this statement. This error is about the cache, not about
an engine.
"""
_ENCRYPTED, _ENCRYPTED_LINES = "encrypted_model", 2
"""Name of a pattern for an encoded model that TensorRT cannot decode, and a distance in lines.

Above such a line, the parser reports an error about the temporary file for the decoded model.
"""
_INVALID = ": Invalid Node - "
"""Text of a message that names a refused node.  The reason for the refusal is on another line."""
_LEAST = 20
"""Smallest length of an error, in characters.

trtlint searches the parser's messages only for errors of at least this length.
"""
_PROFILE, _NO_PROFILE = "profile_violated", "no_profile"
"""Names of two patterns: for a profile that contradicts the network or itself, and for a missing profile."""
_OF_PROFILE = ("order", "rejected")
"""Groups of the pattern ``_PROFILE``: the profile is invalid, with the reason or without the reason."""
_SIZES = ("input", "least", "most", "fixed")
"""Groups of the pattern ``_PROFILE``: an input, its sizes in the profile, and its size in the network."""


class _Repetition(Struct, frozen=True):
    """A pattern whose messages repeat an earlier message.

    Attributes:
        pattern: the name of the pattern.
        earlier: the names of the patterns for the earlier message.  The first pattern with a message counts.
        lines: the allowed distances from the earlier message to the repetition, in lines.
        agree: function that returns whether a message repeats an earlier message, given both messages.
    """

    pattern: str
    earlier: tuple[str, ...]
    lines: range
    agree: Callable[[Record, Record], bool] = lambda record, above: True  # noqa: ARG005


def _is_about_plugin(record: Record, _: Record) -> bool:
    return any(words in record.message for words in _OF_PLUGIN)


def _names_same_module(record: Record, above: Record) -> bool:
    module = record.groups.get("module")
    return module is not None and module == above.groups.get("module")


_REPETITIONS = (
    # A missing plugin makes an engine unreadable.
    _Repetition(_LIBRARY, ("plugin_not_found",), range(6), _is_about_plugin),
    # An old parser names the node below the error about a refused type.
    _Repetition("parser_bare", (_REFUSED,), range(1, _REFUSED_LINES + 1)),
    _Repetition(_CACHE, (_CACHE,), range(CACHE_LINES + 1)),
    # Polygraphy reports a missing Python module, and then quotes the error of Python.
    _Repetition("api_gone", ("comparison_refused",), range(3), _names_same_module),
    # A warning of TensorRT gives the size of a failed allocation.
    _Repetition("allocation_refused", ("out_of_memory", "allocation_refused"), range(1, 4)),
)


def echoes(records: Sequence[Record]) -> Mapping[int, Record]:
    """Find messages of a log that only repeat the failure of another message.

    The keys of the result are the ``id()`` of these messages.  The value of a key is the message that trtlint
    reports instead.

    Args:
        records: the messages of a log, in the order of their lines.
    """
    found = {**_of_one_file(records), **dict(_quoted(records))}
    leaders = _leaders(records)
    for record in records if leaders else ():
        leader = leaders.get(record.line)
        if leader is record:
            found.pop(id(record), None)
        elif leader is not None:
            found[id(record)] = leader
    found |= _of_profile(records)
    cause: Record | None = None
    part = ""
    last: dict[str, Record] = {}
    for record in records:
        if (earlier := _explained_below(record, last)) is not None:
            found[id(earlier)] = record
        if record.pattern == _FRAMEWORK:
            name = part_of(record)
            if cause is not None and record.line - cause.line <= _NEAR and part in ("", name):
                found[id(record)] = cause
                part = name
        elif (leader := _leader_of_node(record, leaders) or _repeated(record, last)) is not None:
            found[id(record)] = leader
        elif _is_cause(record):
            cause, part = record, ""
        if id(record) not in found:
            last[record.pattern] = record
    return found


def part_of(record: Record) -> str:
    """Return the name of the model part that has no engine, according to a framework's message.

    The name is empty if the message names no part.
    """
    return next((record.groups[key] for key in _NAMES if record.groups.get(key)), "")


def _repeated(record: Record, last: Mapping[str, Record]) -> Record | None:
    """Return the earlier message that ``record`` repeats according to :data:`_REPETITIONS`, or None.

    ``last`` has the last message of each pattern.
    """
    for each in _REPETITIONS:
        above = next((last[pattern] for pattern in each.earlier if pattern in last), None)
        if record.pattern == each.pattern and above is not None:
            return above if record.line - above.line in each.lines and each.agree(record, above) else None
    return None


def _explained_below(record: Record, last: Mapping[str, Record]) -> Record | None:
    """Return a message above ``record`` that only ``record`` explains, or None.

    For example, the message above reports an unreadable file, and ``record`` states that this file is a
    timing cache.
    """
    pairs = {_CACHE: (OF_FILES, CACHE_LINES), _ENCRYPTED: ((_FILE,), _ENCRYPTED_LINES)}
    patterns, far = pairs.get(record.pattern, ((), 0))
    above = (last[pattern] for pattern in patterns if pattern in last)
    return next((each for each in above if 0 < record.line - each.line <= far), None)


def _is_cause(record: Record) -> bool:
    entry = table().named(record.pattern)
    return entry is not None and entry.says == "cause" and record.severity in ("E", "F", None)


def _leader_of_node(record: Record, leaders: Mapping[int, Record]) -> Record | None:
    """Return the nearby error that explains why a node was refused.

    The message ``record`` itself only names the node.  The result is None if there is no such error.
    """
    if record.pattern != _REFUSED or _INVALID not in record.message:
        return None
    near = range(record.line - _REFUSED_LINES, record.line + _REFUSED_LINES + 1)
    return next((leaders[line] for line in near if line in leaders), None)


def _of_one_file(records: Sequence[Record]) -> dict[int, Record]:
    """Find errors about a file that repeat another error about the same file.

    The result maps the ``id()`` of each repetition to the repeated error.
    """
    found: dict[int, Record] = {}
    for group in _groups([record for record in records if record.pattern in _OF_FILES]):
        named = {record.line: _file_of(record) for record in group if _file_of(record)}
        for record in group:
            same = [
                other
                for other in group
                if other is not record and id(other) not in found and _is_one(record, other, named)
            ]
            leaders = [other for other in same if other.line in named and other.pattern != _FILE] or [
                other for other in same if other.line in named
            ]
            if leaders or (same and record.line not in named and same[0].line < record.line):
                found[id(record)] = (leaders or same)[0]
    return found


def _groups(records: Sequence[Record]) -> Iterator[list[Record]]:
    """Split messages into groups.  In a group, at most a few lines are between consecutive messages."""
    group: list[Record] = []
    for record in records:
        if group and record.line - group[-1].line > _FILE_LINES:
            yield group
            group = []
        group.append(record)
    if group:
        yield group


def _is_one(record: Record, other: Record, named: Mapping[int, str]) -> bool:
    """Return whether ``record`` repeats ``other``, an error about the same file.

    ``named`` maps the line number of an error to the file name in the error.  It has no entry for an error
    without a file name.
    """
    if record.line == other.line:
        return record.pattern == _FILE and other.pattern != _FILE
    if record.pattern != other.pattern:
        return False
    own, its = named.get(record.line), named.get(other.line)
    if own and its:
        return own == its and other.line < record.line
    return not own


def _file_of(record: Record) -> str:
    """Return the name of the file that an error is about, without its folder."""
    names = (text for key, text in record.groups.items() if text and key not in _PLACES)
    return next((name.replace("\\", "/").rpartition("/")[2] for name in names), "")


def _quoted(records: Sequence[Record]) -> Iterator[tuple[int, Record]]:
    """Yield each error of TensorRT that a message of the parser quotes.

    Programs also print the error again below the message of the parser.

    Each result is the ``id()`` of the error and the message of the parser.
    """
    quoting = [record for record in records if record.pattern == _PARSER]
    for record in records if quoting else ():
        of_cuda = record.groups.get("code") == _OF_CUDA
        said = reason(record.message) if record.pattern in _QUOTED and not of_cuda else ""
        for other in quoting:
            near = record is not other and abs(other.line - record.line) <= _NEAR
            if near and (other.line == record.line or (len(said) >= _LEAST and said in other.message)):
                yield id(record), other
                break


def _of_profile(records: Sequence[Record]) -> dict[int, Record]:
    """Map each error that follows from an earlier error about an optimization profile to the earlier error.

    The keys are the ``id()`` of the later errors.
    """
    found: dict[int, Record] = {}
    first: Record | None = None
    for record in records:
        if record.pattern not in (_PROFILE, _NO_PROFILE):
            continue
        if first is not None and record.line - first.line <= _NEAR and _follows(record, first):
            found[id(record)] = first
        elif record.pattern == _PROFILE:
            first = record
    return found


def _follows(record: Record, profile: Record) -> bool:
    """Return whether an error follows from ``profile``, an earlier error about an optimization profile."""
    own, its = record.groups, profile.groups
    if any(group in its for group in _OF_PROFILE):
        return record.pattern == _NO_PROFILE or "rejected" in own
    return "fixed" in own and all(own.get(group) == its.get(group) for group in _SIZES)


def _leaders(records: Sequence[Record]) -> Mapping[int, Record]:
    """Map line numbers to messages: for each line, the first message whose pattern is specific.

    The key ``specific`` in the table of patterns says which patterns are specific.  Lines without
    such a message are left out.
    """
    entries = table().by_name
    found: dict[int, Record] = {}
    for record in records:
        if record.pattern in entries and entries[record.pattern].specific:
            found.setdefault(record.line, record)
    return found
