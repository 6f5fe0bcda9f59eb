"""Tables about operators, split into unparsed entries.

Parsing a whole table takes longer than checking a small model.
"""

from __future__ import annotations

import re

from msgspec import Struct

from trtlint.knowledge import text

_BEGIN = re.compile(r"^- op: (.*)$", re.MULTILINE)
"""The start of an entry."""


class TableEntry(Struct, frozen=True):
    """One unparsed entry.

    Attributes:
        line: the first line of the entry in the table, from 1.
        ops: the operators of the entry.
        text: the entry, a YAML list with one element.
    """

    line: int
    ops: tuple[str, ...]
    text: str


def written(name: str) -> tuple[TableEntry, ...]:
    """Return the entries of a table; each begins with ``- op: Name`` or ``- op: [Name, ...]``."""
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
