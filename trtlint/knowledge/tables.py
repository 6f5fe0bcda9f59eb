"""Tables about operators, an entry at a time: reading all as YAML costs more than to check a small model."""

from __future__ import annotations

import re

from trtlint.knowledge import text
from trtlint.lean import dataclass

_BEGIN = re.compile(r"^- op: (.*)$", re.MULTILINE)
"""Where an entry begins."""


@dataclass(frozen=True, slots=True)
class TableEntry:
    """An entry as it is written.

    Attributes:
        line: line of the table, from 1, where it begins.
        ops: the operators that it is about.
        text: the entry, a list of one in YAML.
    """

    line: int
    ops: tuple[str, ...]
    text: str


def written(name: str) -> tuple[TableEntry, ...]:
    """The entries of a table, each of which begins with ``- op: Name`` or ``- op: [Name, ...]``."""
    whole = text(name)
    starts = list(_BEGIN.finditer(whole))
    ends = [start.start() for start in starts[1:]] + [len(whole)]
    found, line, before = [], 1, 0
    for start, end in zip(starts, ends, strict=True):
        line += whole.count("\n", before, start.start())
        before = start.start()
        ops = tuple(op.strip() for op in start[1].strip("[]").split(","))
        found.append(TableEntry(line, ops, whole[before:end]))
    return tuple(found)
