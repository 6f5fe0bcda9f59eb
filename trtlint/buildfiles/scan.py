"""The lines of a log that can matter, out of the many that cannot.

A verbose log is almost all tactic timings: hundreds of megabytes in which a few hundred lines say something.
Lines are taken in blocks and classified without making an object of each: where a block is in one of the two
usual shapes, the first bytes of every message are looked up at once. Lines of any other shape, and all that
are warnings or errors, are handed on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING

from trtlint.buildfiles.stream import Source

if TYPE_CHECKING:
    from trtlint.buildfiles.blocks import BlockFilter

BLOCK = 1 << 20
"""Bytes read at a time; with the lines in them they bound the memory."""

LONGEST = 1 << 22
"""Bytes of a line that are looked at; one island's list of nodes can be some hundred kilobytes."""

MOST = 8 << 30
"""Bytes of a log that are read: a file with holes can be as long as one likes, and take no room."""

_ANSI = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\n]{0,200}\x07?|[@-Z\\-_])")
_SMALL = 1 << 20
_DENSE = 1 << 10  # bytes from which a block is worth a vector

Batch = tuple[Iterable[int], Sequence[bytes], Iterable[int]]
"""Of each line: its number from 1, its bytes without the line end, and where the message of a plain quiet
line begins, or 0 for a line of any other shape."""

_BATCH = 1 << 14
_TAIL = 1 << 12  # bytes at the end that are kept for the last line


class Scanner:
    """Batches of candidate lines of one stream, in order.

    ``literals`` are the beginnings of the quiet messages that matter. ``lines`` and ``size`` count all that
    was read, in lines and bytes; ``shapes`` are the tools whose prefixes were seen; ``note`` says that there
    was more than is read, and is empty where there was not.
    """

    def __init__(self, source: Source, literals: Iterable[bytes], *, vectorised: bool | None = None) -> None:
        self._source = source
        self._literals = frozenset(literals)
        self._vectorised = vectorised
        self._filter: BlockFilter | None = None
        self._enough: list[tuple[bytes, bool]] = []
        self.shapes: set[str] = set()
        self.lines = 0
        self.size = 0
        self.note = ""
        self._tail = b""

    def last_line(self) -> tuple[int, bytes]:
        """The last line that is not empty, and its number, once all lines were given; a long one is cut."""
        ending = self._tail.rstrip()
        line = _ANSI.sub(b"", ending.rpartition(b"\n")[2])
        return self.lines - self._tail[len(ending) :].strip(b"\n").count(b"\n"), line

    def enough(self, literal: bytes, *, context: bool) -> None:
        """Say that lines that begin so need only be counted from now on.

        Of those with ``context`` the last before any other line is still handed on. Whether one is counted
        here or handed on is left to the scanner.
        """
        if self._filter:
            self._filter.enough(literal, context)
        else:
            self._enough.append((literal, context))

    def counts(self) -> dict[bytes, int]:
        """How many lines were counted and not handed on, by how they begin."""
        return self._filter.counts() if self._filter else {}

    def __iter__(self) -> Iterator[Batch]:
        carry: list[bytes] = []
        held = 0
        dropping = False
        while chunk := self._source.read(BLOCK):
            if self.size + len(chunk) > MOST:
                self.note = f"the log is longer than {MOST >> 30} GiB: the rest is not read"
                break
            self.size += len(chunk)
            self._tail = chunk[-_TAIL:] if len(chunk) >= _TAIL else (self._tail + chunk)[-_TAIL:]
            first = chunk.find(b"\n") + 1
            if not first:
                if not dropping:
                    carry.append(chunk)
                    held += len(chunk)
                if held > LONGEST:
                    yield (self.lines + 1,), (b"".join(carry)[:LONGEST],), (0,)
                    carry, held, dropping = [], 0, True
                continue
            # The line that the last block began is put together; the rest of the block is not copied.
            if dropping:
                dropping = False
                self.lines += 1
            elif carry:
                line = b"".join((*carry, chunk[:first]))
                yield from self._block(line, 0, len(line))
            else:
                first = 0
            end = chunk.rfind(b"\n") + 1
            if end > first:
                yield from self._block(chunk, first, end)
            carry, held = [chunk[end:]], len(chunk) - end
            if not held:
                carry = []
        if dropping:
            self.lines += 1
        elif carry:
            line = b"".join((*carry, b"\n"))
            yield from self._block(line, 0, len(line))

    def _block(self, data: bytes, begin: int, end: int) -> Iterator[Batch]:
        """Whole lines: the bytes from ``begin`` to ``end``, where the last is a line end."""
        if data.find(b"\x1b", begin, end) >= 0:
            data = _ANSI.sub(b"", data[begin:end])
            begin, end = 0, len(data)
        if data.find(b"\r", begin, end) >= 0:
            data = data[begin:end]
            returns = data.count(b"\r") != data.count(b"\r\n")
            data = data.replace(b"\r\n", b"\n")
            begin, end = 0, len(data)
            if returns:
                yield from self._overwritten(data[:-1])
                return
        wanted = self._vectorised if self._vectorised is not None else self.size > _SMALL
        if wanted and end - begin > _DENSE:
            if self._filter is None:
                # NumPy comes with onnx; it is imported only for logs large enough to repay its start.
                from trtlint.buildfiles.blocks import BlockFilter

                self._filter = BlockFilter(self._literals)
                for literal, context in self._enough:
                    self._filter.enough(literal, context)
            count, begin, batches = self._filter.lines(data, begin, end, self.lines)
            yield from batches
            self.lines += count
            self.shapes |= self._filter.shapes
        found = data[begin : end - 1].split(b"\n") if end > begin else []
        for lower in range(0, len(found), _BATCH):
            batch = found[lower : lower + _BATCH]
            yield range(self.lines + 1, self.lines + 1 + len(batch)), batch, repeat(0)
            self.lines += len(batch)

    def _overwritten(self, data: bytes) -> Iterator[Batch]:
        """Lines with progress bars: what one overwrites stays a line of its own, with the same number."""
        for line in data.split(b"\n"):
            self.lines += 1
            yield repeat(self.lines), line.split(b"\r"), repeat(0)
