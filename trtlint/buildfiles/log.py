"""Read build logs: records, settings, engine layers and profile tables, in one pass.

The memory for a log is limited, even if the log is very long.  A limited number of records is stored for each
pattern, and all records are counted.  Messages are shortened, and lists of layers and tables have a limit.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, cast

from trtlint.buildfiles.errors import BuildFileError
from trtlint.buildfiles.layers import LayerInfo
from trtlint.buildfiles.oneline import DumpReader
from trtlint.buildfiles.patterns import KEY, groups, table
from trtlint.buildfiles.prefix import Prefix, embedded, parse_prefix, without_tail
from trtlint.buildfiles.records import MESSAGE, Log, RecordBuffer, Severity
from trtlint.buildfiles.scan import Scanner
from trtlint.buildfiles.settings import Collector
from trtlint.buildfiles.stream import ByteStream, decoded, opened
from trtlint.buildfiles.toollines import ToolLines, is_beginning, is_cut, is_running
from trtlint.buildfiles.tracebacks import HEADING, Ending, Traceback
from trtlint.buildfiles.wrapped import MarkSearch, joined, prefixed, unquoted, unwrap, within
from trtlint.files.problem import reason_of
from trtlint.knowledge.frontends import marks

_CONTINUED = 60  # maximum number of continuation lines of a message
_SECTION = b"=== "  # heading of a section in the help of trtexec, which follows an error about an option
_QUOTES = (" In function ", "--- Begin node ---")
"""Beginnings of parser messages. The lines that follow such a message quote other messages."""
_BARE = Prefix("", "", 0, None)
_CUT = "unfinished_run"
"""Name of the pattern for a log that ends in a run of trtexec."""
_EXCEPTION = "exception"
"""Name of the pattern for an exception that ended a Python program."""
_DUMPS, _LAYERS = 16, 50_000
_MOST_LOUD = 200_000  # maximum number of warnings and errors; the rest of the log is not read
_HEADINGS = (b"Layers:", b"Engine Layer Information:")
_DATED = 32  # start of the message after [MM/DD/YYYY-HH:MM:SS] [V] [TRT], or [TRT] [V]
_TOOL_SPEAKS = b"] [I] "  # [MM/DD/YYYY-HH:MM:SS] [I] message: trtexec's own line
_CONFIGURATION = b"Building engine with configuration"  # heading of Polygraphy's table
_BEGINNINGS = frozenset(bytes([letter]) for letter in b"[&0123456789CDEFILVW")  # of prefixes and headings
_ON_ONE_LINE = 8
_LOOKED_AT = 4000  # bytes of a line that are searched for the name of the library
_TAIL = 200_000  # bytes of a line that are decoded: an island names all its nodes on one line


def read_log(source: str | Path | BinaryIO) -> Log:
    """Read a log, plain or gzip, from a path, ``-`` (standard input) or a binary stream.

    Raises:
        BuildFileError: the source is unreadable.  A truncated or damaged log is read as far as possible.
    """
    with opened(source) as raw:
        return LogReader(raw).log()


class LogReader:
    """Reads one log, line by line."""

    def __init__(self, raw: ByteStream) -> None:
        self._table = table()
        self._quiet_table = self._table.quiet
        try:
            source, self._gzip = decoded(raw)
        except (OSError, ValueError) as error:
            raise BuildFileError(f"cannot read the log: {reason_of(error)}") from error
        literals = [literal for found in self._table.quiet.values() for literal, _, _ in found]
        self._scanner = Scanner(source, (*literals, *_HEADINGS))
        self._collector = Collector()
        self._kept = RecordBuffer(self._collector)
        self._severities: Counter[str] = Counter()
        self._tool = ToolLines(self._quiet_table, self._kept, self._collector)
        self._dump: DumpReader | None = None
        self._dump_line = 0  # the last line of the dump, 0 outside of a dump
        self._dumps: list[LayerInfo] = []
        self._layers = 0
        self._context: bytes = b""
        self._context_at = 0
        self._enough: dict[bytes, str] = {}  # pattern of each beginning whose lines are only counted
        # The open message: its text so far. If there is a text, also its first and last line and its prefix.
        self._open: list[str] = []
        self._open_line: int
        self._open_last: int
        self._open_prefix: Prefix | None = None
        self._open_context: str | None = None
        self._limit = ""  # why the rest of the log was not read
        self._marks = MarkSearch()
        self._programs = marks()
        self._traceback = Traceback()
        self._named = False  # whether a line without a usual prefix names TensorRT

    def _read(self) -> None:
        try:
            for batch in self._scanner:
                self._marks.begin(batch[1])
                for number, line, offset in zip(*batch):  # noqa: B905 (repeat() has no end)
                    if offset:
                        self._quiet(number, line, offset)
                    else:
                        self._line(number, line)
                if self._severities.total() > _MOST_LOUD:
                    self._limit = (
                        f"more than {_MOST_LOUD:,} warnings and errors; trtlint ignored the rest of the log"
                    )
                    break
        except OSError as error:
            last = self._scanner.lines + 1
            raise BuildFileError(f"cannot read the log: {reason_of(error)}", line=last) from error
        self._close()
        self._end_dump()
        self._tool.end_table()
        if self._traceback.is_cut(self._scanner.last_line()[0]) and (self._named or self._scanner.shapes):
            self._ended(self._traceback.cut())
        self._ending()

    def _ending(self) -> None:
        """Store the last line of the log if it suggests that the build was interrupted."""
        last = number, line = self._scanner.last_line()
        line, prefix = prefixed(line)
        message = _text(line[prefix.start :]) if prefix else ""
        if is_beginning(line, message):
            number, line = self._scanner.last_line(complete=True)
            line, prefix = prefixed(line)
            message = _text(line[prefix.start :]) if prefix else ""
        running = is_running(self._kept.records)
        for pattern in self._table.patterns:
            if prefix is None or not pattern.last or (pattern.running and not running):
                continue
            if found := pattern.search(message):
                severity = cast("Severity", prefix.severity)
                self._kept.keep(pattern, number, severity, message, groups(found), self._working_on())
        if not self._note and is_cut(self._kept.records, last[1]):
            self._kept.keep(self._table.named(_CUT), last[0], "I", _text(last[1]), {})

    @property
    def _note(self) -> str:
        """Why the end of the log was not read; empty if the whole log was read."""
        return self._limit or self._scanner.note or ("" if self._gzip is None else self._gzip.note)

    def log(self) -> Log:
        """Read the log to its end.  This method can be called only once."""
        self._read()
        counts = Counter(self._kept.counts)
        for literal, count in self._scanner.counts().items():
            counts[self._enough[literal]] += count
        return Log(
            self._scanner.lines,
            self._scanner.size,
            self._collector.settings(self._scanner.shapes),
            MappingProxyType({name: tuple(found) for name, found in self._kept.records.items()}),
            MappingProxyType(dict(counts)),
            MappingProxyType(dict(self._severities)),
            self._tool.options,
            tuple(self._dumps),
            tuple(self._tool.profiles),
            (self._note,) if self._note else (),
            self._named,
        )

    # One line

    def _line(self, number: int, line: bytes) -> None:
        if line[:1] not in _BEGINNINGS and not self._dump_line and not self._open and b"] [" not in line:
            if self._traceback.open or self._marks.telling(line):
                self._foreign(number, line)
            return  # program output
        if line.startswith(_TOOL_SPEAKS, 20) and line[:1] == b"[" and not line.startswith(b"[TRT] ", 26):
            self._scanner.shapes.add("logger")
            self._tool_line(number, line, 26)
            return
        # Two writers can leave several messages on one line. Messages beyond the limit are ignored.
        for _ in range(_ON_ONE_LINE):
            prefix = parse_prefix(line)
            if prefix is None:
                second = embedded(line, 1)
                if second < 0:
                    self._foreign(number, line)
                    return
            else:
                if prefix.common:
                    prefix = within(line, prefix)
                if line[prefix.start : prefix.start + 1] == b'"':
                    line, _ = unquoted(line, prefix)
                self._scanner.shapes.add(prefix.tool)
                if prefix.severity in ("V", "I"):
                    if prefix.severity == "V" or prefix.library:
                        self._quiet(number, line, prefix.start, prefix.severity)
                    elif line.startswith(_CONFIGURATION, prefix.start):
                        self._begin(number, line, prefix)
                    else:
                        self._tool_line(number, line, prefix.start)
                    return
                second = embedded(line, prefix.start)
                self._begin(number, line[:second] if second >= 0 else line, prefix)
                if second < 0:
                    return
            line = line[second:]

    def _tool_line(self, number: int, line: bytes, start: int) -> None:
        """Read a line that a tool such as trtexec prints itself: options, the device, a profile."""
        self._close()
        self._end_dump()
        if line.startswith(_HEADINGS, start):
            self._begin_dump(number)
        elif self._tool.wants(line[start : start + KEY]):
            self._tool.take(number, _text(line[start:]))

    def _foreign(self, number: int, line: bytes) -> None:
        """Read a line without a usual log prefix, from a program that uses or wraps TensorRT."""
        if self._open and number > self._open_last + 1:
            self._close()
        head = line[:_LOOKED_AT]
        self._named = self._named or b"tensorrt" in head.lower()
        self._scanner.shapes.update(name for mark, name in self._programs.items() if mark in head)
        if self._traceback.takes(line):
            return  # code in a traceback
        if self._traceback.open and (ending := self._traceback.end(number, line)):
            self._close()
            self._ended(ending)
            return
        quoted = bool(self._open) and " In function " in self._open[0]
        telling = self._marks.telling(line)
        if self._dump_line or quoted or not telling:
            self._unprefixed(number, b"" if self._open and not unwrap(line)[0] else line, telling=telling)
            return
        rest, prefix = unwrap(line)
        if HEADING in rest:
            self._close()
            self._traceback.begin(number, line)
            before = rest.partition(HEADING)[0]
            if prefix is None and not before.endswith(b"C++ ") and self._marks.telling(before):
                self._unprefixed(number, before, telling=True)
        elif prefix is None or not prefix.severity:
            self._unprefixed(number, rest if prefix is None else rest[prefix.start :], telling=True)
        elif prefix.severity in ("V", "I"):
            self._close()
            self._quiet(number, rest, prefix.start, prefix.severity)
        else:
            self._begin(number, rest, prefix)

    def _ended(self, ending: Ending) -> None:
        """Record a truncated traceback, or a traceback whose exception has no message."""
        pattern = self._table.named(_EXCEPTION)
        raised = self._traceback.raised(ending.line)
        self._kept.keep(pattern, ending.line, None, ending.message, {"what": ending.message}, raised=raised)

    def _unprefixed(self, number: int, line: bytes, *, telling: bool) -> None:
        if line.startswith((b"&&&& ", b"CompilationSettings(")):
            self._close()
            self._quiet(number, line, 0, "")
        elif self._dump_line and number == self._dump_line + 1 and self._dumped(line):
            self._dump_line = number
        elif line.startswith(b"Layers:"):
            self._close()
            self._begin_dump(number)
        elif line.startswith(_SECTION):
            self._close()
        elif telling and self._starts_known_message(line):
            self._close()
            self._open = [_text(line)[:MESSAGE]]
            self._open_line = self._open_last = number
            self._open_prefix, self._open_context = _BARE, None
        elif self._open and len(self._open) <= _CONTINUED:
            if self._open_prefix is _BARE and not self._open[-1].rstrip().endswith(":"):
                self._close()  # a message without a prefix continues only after a colon
                return
            self._open.append(_text(line)[:MESSAGE])
            self._open_last = number

    def _starts_known_message(self, line: bytes) -> bool:
        """Return whether a line without a log prefix starts a known message."""
        continued = bool(self._open) and any(quote in self._open[0] for quote in _QUOTES)
        if self._open_prefix is _BARE and self._open and self._open[-1].rstrip().endswith(":"):
            return False
        found = self._table.bare(_text(line)[:MESSAGE])
        if continued:
            return any(pattern.says == "died" for pattern, _ in found)
        return any(pattern.tells != "hint" or not self._open for pattern, _ in found)

    def _dumped(self, line: bytes) -> bool:
        """Pass a line to the current list of layers. Return False if the list has ended."""
        if self._dump is None:
            return line.startswith((b"Name: ", b"Layer("))
        text = _text(line)
        if not self._dump.wants(text):
            self._end_dump()
            return False
        if self._layers + len(self._dump.layers) < _LAYERS:
            self._dump.feed(text)
        return True

    def _quiet(self, number: int, line: bytes, offset: int, letter: str = "V") -> None:
        """Read a message of low severity: look up the beginning of the message, ignore further lines."""
        counts = self._kept.counts
        for literal, pattern, alone in self._quiet_table.get(line[offset : offset + KEY], ()):
            if not line.startswith(literal, offset):
                continue
            if pattern.context:
                self._context, self._context_at = line, offset + len(literal)
            if alone and counts[pattern.name] >= pattern.keep:
                counts[pattern.name] += 1
                if literal not in self._enough:
                    self._enough[literal] = pattern.name
                    self._scanner.enough(literal, context=pattern.context)
                return
            text = _text(line[offset:])
            found = pattern.search(text)
            if found:
                if offset == _DATED:
                    letter = chr(line[23] if line[22:25] in (b"[V]", b"[I]") else line[29])
                severity = cast("Severity | None", letter or None)
                self._kept.keep(pattern, number, severity, text, groups(found))
                return
        if line.startswith(_HEADINGS, offset):
            self._close()
            self._begin_dump(number)

    # Messages of several lines

    def _begin(self, number: int, line: bytes, prefix: Prefix) -> None:
        self._close()
        self._end_dump()
        if prefix.severity != "I":
            self._severities[prefix.severity] += 1
        message = without_tail(line[prefix.start :]) if prefix.tool == "onnxruntime" else line[prefix.start :]
        if message.startswith(_HEADINGS):
            self._begin_dump(number)
            return
        self._open = [_text(message)]
        self._open_line = self._open_last = number
        self._open_prefix = prefix
        # Save the context now: when the message is complete, the build may work on another node.
        self._open_context = self._working_on()

    def _working_on(self) -> str | None:
        """Return the node or layer that the log mentioned last, or None if it is unknown.

        The build is probably working on this node or layer.
        """
        return _text(self._context[self._context_at : self._context_at + 2000]) or None

    def _close(self) -> None:
        if not self._open or self._open_prefix is None:
            return
        lines, self._open = self._open, []
        severity = cast("Severity | None", self._open_prefix.severity or None)
        common = self._open_prefix.common
        message = lines[0] if len(lines) == 1 else joined(lines)
        if severity == "I":
            self._collector.configuration(message, self._open_line)
            return
        known = self._table.loud(message, severity) if severity else tuple(self._table.bare(message))
        context = self._open_context if severity in ("W", "E", "F") else None
        raised = self._traceback.raised(self._open_line)
        for pattern, found in known:
            self._kept.keep(pattern, self._open_line, severity, message, found, context, common, raised)
        if not known and severity:
            self._kept.keep(None, self._open_line, severity, message, {}, context, common)

    # Dumps

    def _begin_dump(self, number: int) -> None:
        self._end_dump()
        self._dump_line = number
        if len(self._dumps) < _DUMPS and self._layers < _LAYERS:
            self._dump = DumpReader()

    def _end_dump(self) -> None:
        dump, self._dump, self._dump_line = self._dump, None, 0
        if dump and dump.layers:
            self._layers += len(dump.layers)
            self._dumps.append(LayerInfo(tuple(dump.layers), tuple(dump.tensors)))


def _text(line: bytes) -> str:
    return line[:_TAIL].decode("utf-8", "replace")
