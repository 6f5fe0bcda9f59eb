"""Read log lines that a tool such as trtexec prints itself: options, the device, tables of layer times."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from trtlint.buildfiles.patterns import KEY, Quiet, groups
from trtlint.buildfiles.profile import Profile, TableReader
from trtlint.buildfiles.records import RecordBuffer
from trtlint.buildfiles.settings import Collector

_TABLES, _ROWS = 16, 50_000
_OPTIONS = 1000  # maximum number of option lines
_SECTIONS = ("Options ===", "Device Information ===", "Performance summary ===", "Trace Averages")


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
