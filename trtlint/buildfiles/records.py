"""Define the records of a log, the parsed log, and a buffer that limits the number of records."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Literal

from msgspec import Struct, field

from trtlint.buildfiles.layers import LayerInfo
from trtlint.buildfiles.patterns import LogPattern, Tells, table
from trtlint.buildfiles.profile import Profile
from trtlint.buildfiles.settings import BuildSettings, Collector
from trtlint.buildfiles.tracebacks import RaiseSite

Severity = Literal["V", "I", "W", "E", "F"]
MESSAGE = 4000
"""Maximum length of a message in a record, in characters."""
_ROOM = 8_000_000  # characters in all records; the node list of one island can have a few hundred thousand
_OTHERS = 400  # warnings and errors without a pattern


class Record(Struct, frozen=True):
    """One message of a log.

    Attributes:
        pattern: name of the matching entry in the pattern table; ``other`` for a warning or error that
            matches no entry.
        line: number of the first line, from 1.
        severity: the printed letter; None without a prefix.
        message: the text without the prefix, with continuation lines, cut at 4,000 characters.
        groups: the named groups of the entry's regular expression.
        context: for a warning or error, the last node or layer that the log mentioned before this message.
        common: True if programs other than TensorRT print the same prefix.
        raised: for the exception at the end of a traceback, the source line where it was raised.
    """

    pattern: str
    line: int
    severity: Severity | None
    message: str
    groups: Mapping[str, str] = field(default_factory=dict)
    context: str | None = None
    common: bool = False
    raised: RaiseSite | None = None

    def number(self, group: str) -> float | None:
        """Return a group of the match as a number, or None if it is missing, not a number or infinite."""
        try:
            value = float(self.groups.get(group, ""))
        except ValueError:
            return None
        return value if math.isfinite(value) else None


class Log(Struct, frozen=True):
    """A parsed log.

    ``records`` maps each pattern name to the first records that match it. ``counts`` maps the name to the
    number of all matching lines. ``severities`` counts the lines with the severities W, E and F.  ``options``
    are the values in trtexec's ``=== ... Options ===`` blocks. ``dumps`` are the lists of layers that the log
    prints at the end of a build.  ``notes`` report the parts of the log that were not read.  ``named`` is
    true if a line without a known prefix names TensorRT.
    """

    lines: int
    size: int
    settings: BuildSettings
    records: Mapping[str, tuple[Record, ...]]
    counts: Mapping[str, int]
    severities: Mapping[str, int]
    options: Mapping[str, Mapping[str, str]]
    dumps: tuple[LayerInfo, ...]
    profiles: tuple[Profile, ...]
    notes: tuple[str, ...]
    named: bool = False

    @property
    def is_log(self) -> bool:
        """True if any line of the log looks like the output of a TensorRT build."""
        return bool(self.records or self.options or self.dumps or self.settings.tool)

    def telling(self, tells: Tells) -> Iterator[Record]:
        """Yield the records whose entry in the pattern table has the role ``tells``, entry by entry."""
        for pattern in table().patterns:
            if pattern.tells == tells:
                yield from self.records.get(pattern.name, ())

    def seconds(self) -> dict[str, float]:
        """Return the printed durations in seconds: ``parse``, ``graph``, ``engine``, ``build``.

        If the log contains several builds, each duration is the sum over the builds.
        """
        total: dict[str, float] = {}
        for pattern in table().patterns:
            if not (name := pattern.duration):
                continue
            found = (record.number("seconds") for record in self.records.get(pattern.name, ()))
            values = [value for value in found if value is not None]
            if values:
                total[name] = sum(values)
        return total


class RecordBuffer:
    """Stores the first records of each pattern, counts all records, and collects build settings.

    ``records`` has the stored records of each pattern name, and ``counts`` the number of all its records.
    """

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._room = _ROOM
        self.records: dict[str, list[Record]] = {}
        self.counts: Counter[str] = Counter()

    def keep(
        self,
        pattern: LogPattern | None,
        line: int,
        severity: Severity | None,
        message: str,
        found: dict[str, str],
        context: str | None = None,
        common: bool = False,
        raised: RaiseSite | None = None,
    ) -> None:
        """Add a message to the buffer, and its settings to the collector.

        Args:
            pattern: the matching pattern; None if no pattern matches.
            line: line number.
            severity: the printed severity; None if the line of the log has no prefix with a severity.
            message: the message.
            found: the named groups of the match.
            context: the last node or layer that the log mentioned.
            common: True if programs other than TensorRT print the same prefix.
            raised: the source line where an exception was raised.
        """
        name, most = ("other", _OTHERS) if pattern is None else (pattern.name, pattern.keep)
        self.counts[name] += 1
        if pattern is not None and pattern.settles:
            self._collector.record(pattern.settles, found, line)
        if severity in ("E", "F"):
            self._collector.error(message, line)
        if self.counts[name] > most:
            return
        self._room -= min(len(message), MESSAGE) + sum(map(len, found.values()))
        if self._room < 0:
            return
        kept, groups = message[:MESSAGE], MappingProxyType(found)
        record = Record(name, line, severity, kept, groups, context, common, raised)
        self.records.setdefault(name, []).append(record)
