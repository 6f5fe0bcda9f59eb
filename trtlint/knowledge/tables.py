"""Split the tables about operators into entries, without parsing the entries.

Parsing a whole table would take longer than checking a small model.
"""

from __future__ import annotations

import re

from msgspec import Struct

from trtlint.knowledge import parsed, text

_BEGIN = re.compile(r"^- op: (.*)$", re.MULTILINE)
"""Pattern of the line where an entry of a table begins."""


class TableEntry(Struct, frozen=True):
    """An entry of a table, as unparsed YAML text.

    Attributes:
        line: the first line of the entry in the table, from 1.
        ops: the operator types that the entry is about.
        text: the YAML text of the entry, a list with one element.
    """

    line: int
    ops: tuple[str, ...]
    text: str

    def examples(self, first: str, second: str) -> tuple[object, object]:
        """Return the values of the two keys with example models, as raw YAML data.

        Raises:
            ValueError: the keys are not at the end of the entry.
        """
        (keys,) = parsed(self.text)
        found = keys.pop(first, None), keys.pop(second, None)
        if parsed(without_examples(self.text, first, second)) != [keys]:
            raise ValueError(f"move the keys {first!r} and {second!r} to the end of the entry")
        return found


def without_examples(block: str, *keys: str) -> str:
    """Return the YAML text of an entry without its examples.

    The examples are the last part of an entry: the values of ``keys``.  Only tests read the examples.
    """
    examples = re.search(rf"^  (?:{'|'.join(keys)}):", block, re.MULTILINE)
    return block[: examples.start()] if examples else block


def written(name: str) -> tuple[TableEntry, ...]:
    """Split the table ``name.yaml`` into its entries.

    Each entry begins with ``- op: Name`` or ``- op: [...]``.
    """
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
