"""The records of a log as it is read: a bounded number of each pattern, the rest counted."""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType

from trtlint.buildfiles.patterns import Pattern
from trtlint.buildfiles.records import Record, Severity
from trtlint.buildfiles.settings import Collector

MESSAGE = 4000
"""Characters of a message that a record keeps."""

_ROOM = 8_000_000  # characters in all records; the list of nodes of one island can be a few hundred thousand
_OTHERS = 400  # records of warnings and errors that no pattern knows


class Keeper:
    """Keeps records, counts those that it does not keep, and hands on what they settle.

    ``records`` are those kept and ``counts`` how many there were, both by the name of the pattern; ``ready``
    are those kept since it was last emptied.
    """

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._room = _ROOM
        self.records: dict[str, list[Record]] = {}
        self.counts: Counter[str] = Counter()
        self.ready: list[Record] = []

    def keep(
        self,
        pattern: Pattern | None,
        line: int,
        severity: Severity | None,
        message: str,
        found: dict[str, str],
        context: str | None = None,
        common: bool = False,
    ) -> None:
        """Take a message that a pattern knows, or None does, with the groups that were taken from it."""
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
        record = Record(name, line, severity, message[:MESSAGE], MappingProxyType(found), context, common)
        self.records.setdefault(name, []).append(record)
        self.ready.append(record)
