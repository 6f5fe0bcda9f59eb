"""Read log lines that a tool such as trtexec prints itself: options, the device, tables, the end of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from trtlint.buildfiles.patterns import KEY, Quiet, groups, table
from trtlint.buildfiles.profile import Profile, TableReader
from trtlint.buildfiles.records import Record, RecordBuffer
from trtlint.buildfiles.settings import Collector

_TABLES, _ROWS = 16, 50_000
_OPTIONS = 1000  # maximum number of option lines
_SECTIONS = ("Options ===", "Device Information ===", "Performance summary ===", "Trace Averages")
_TOOLS = ("trtexec", "tensorrt_rtx")
"""Tools that print a banner at the beginning and at the end, and a line after each build."""
_TIMED = (
    "Tactic: ",
    "Tactic Name: ",
    "--------------- Timing Runner: ",
    "*************** Autotuning ",
    "=============== Computing ",
    "Fastest Tactic: ",
    ">>>>>>>>>>>>>>> Chose Runner",
)
"""Beginnings of lines that the builder prints while it times tactics."""
_AVERAGE = b"] Average o"
"""Part of trtexec's lines about the time of some runs.  A log can have thousands of these lines."""
_ENDS = frozenset({"cause", "unusable", "refused", "skipped", "failed", "died", "passed"})
"""Outcomes that make a missing result unimportant: the log shows an engine or a problem."""


class ToolLines:
    """Reads the lines that a tool prints itself, one after the other.

    Args:
        quiet: for the beginning of a line of low severity, the patterns to try.
        kept: stores the records.
        collector: collects the settings.
    """

    def __init__(self, quiet: Quiet, kept: RecordBuffer, collector: Collector) -> None:
        self._quiet = quiet
        self._kept = kept
        self._collector = collector
        self._options: dict[str, dict[str, str]] = {}
        self._lines = 0
        self._section: str | None = None
        self._table: TableReader | None = None
        self._rows = 0
        self.profiles: list[Profile] = []

    @property
    def options(self) -> Mapping[str, Mapping[str, str]]:
        """The options that the tool has printed: for each section, the value of each name."""
        found = self._options.items()
        return MappingProxyType({name: MappingProxyType(dict(values)) for name, values in found})

    def wants(self, key: bytes) -> bool:
        """Return whether a line that begins with ``key`` is relevant in the current section of the log."""
        return (
            self._table is not None
            or key in self._quiet
            or key.startswith(b"=== ")
            or (self._section is not None and self._lines < _OPTIONS)
        )

    def take(self, number: int, line: str) -> None:
        """Read one line with its number."""
        if self._table:
            self._table.feed(line)
            if self._table.done:
                self.end_table()
            return
        if line.startswith("=== "):
            if len(self.profiles) < _TABLES and self._rows < _ROWS:
                self._table = TableReader.begin(line)
            self._section = line.strip("= ") if line.endswith(_SECTIONS) else None
            return
        for literal, pattern, _ in self._quiet.get(line[:KEY].encode(errors="replace")[:KEY], ()):
            if not line.startswith(literal.decode()):
                continue
            found = pattern.search(line)
            if found:
                self._kept.keep(pattern, number, "I", line, groups(found))
                return
        key, colon, value = line.partition(":")
        if self._section and colon and self._lines < _OPTIONS:
            self._lines += 1
            key, value = key.strip(), value.strip()
            self._options.setdefault(self._section, {}).setdefault(key, value)
            self._collector.option(self._section, key, value, number)
        elif line and not line.isspace():
            self._section = None

    def end_table(self) -> None:
        """Store the current table, if it has rows."""
        reader, self._table = self._table, None
        if reader and (profile := reader.profile()).layers:
            self._rows += len(profile.layers)
            self.profiles.append(profile)


def is_beginning(line: bytes, message: str) -> bool:
    """Return whether the last line of a log may be the first part of a line about tactics.

    Args:
        line: the line without the log prefix, or the whole line if it has no complete prefix.
        message: the message of the line; empty if the line has no complete prefix.
    """
    return any(begun.startswith(message) for begun in _TIMED) and (bool(message) or line[:1] in (b"[", b""))


def is_running(records: Mapping[str, Sequence[Record]]) -> bool:
    """Return whether the last banner of a log announces a run."""
    banners = records.get("banner", ())
    return bool(banners) and banners[-1].groups["state"] == "RUNNING"


def is_cut(records: Mapping[str, Sequence[Record]], last: bytes) -> bool:
    """Return whether a log ends in a run of trtexec that shows no result, no engine and no problem.

    ``last`` is the last line of the log.

    trtexec prints a banner at the end of each run, also after an error:
    https://github.com/NVIDIA/TensorRT/blob/main/samples/common/logger.h
    """
    if not is_running(records) or _AVERAGE in last:
        return False
    banner = records["banner"][-1]
    if not banner.groups["tool"].endswith(_TOOLS):
        return False
    by_name = table().by_name
    for name, found in records.items():
        pattern = by_name.get(name)
        ends = pattern is not None and (pattern.says in _ENDS or pattern.bare)
        if any(record.line > banner.line and (ends or record.severity in ("E", "F")) for record in found):
            return False
    return True
