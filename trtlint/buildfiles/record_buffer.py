"""A buffer for log records. It stores a limited number of records per pattern, and counts all records."""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType

from trtlint.buildfiles.patterns import LogPattern
from trtlint.buildfiles.records import Record, Severity
from trtlint.buildfiles.settings import Collector
from trtlint.buildfiles.tracebacks import RaiseSite

MESSAGE = 4000
"""Maximum length of a message in a record, in characters."""

_ROOM = 8_000_000  # characters in all records; the node list of one island can have a few hundred thousand
_OTHERS = 400  # warnings and errors without a pattern


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
            severity: the printed severity; None without a prefix.
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
