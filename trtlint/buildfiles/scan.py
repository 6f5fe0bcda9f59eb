"""Select the informative lines of a log quickly.

Most lines of a verbose log are tactic timings.  A log of hundreds of megabytes can have only a few hundred
informative lines.  The scanner classifies whole blocks of lines, without a Python object per line. In the two
usual log formats, the scanner looks up the first bytes of all messages of a block at once.  Warnings, errors,
and lines in other formats are always candidates.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING

from trtlint.buildfiles.jsonlines import json_message
from trtlint.buildfiles.stream import ByteStream

if TYPE_CHECKING:
    from trtlint.buildfiles.line_filter import BlockFilter

BLOCK = 1 << 20
"""Number of bytes that are read at a time. A small number saves memory."""

LONGEST = 1 << 22
"""Maximum number of bytes that are read per line. The node list of a Myelin island can have some hundred
kilobytes.
"""

MOST = 8 << 30
"""Maximum number of bytes that are read per log. A sparse file can be very long without using disk space."""

_ANSI = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\n]{0,200}\x07?|[@-Z\\-_])")
_SMALL = 1 << 20
"""Number of bytes of a log after which the reader uses vectors.  The result does not depend on vectors."""
_DENSE = 1 << 10  # minimum size of a block for vectors, in bytes

Batch = tuple[Iterable[int], Sequence[bytes], Iterable[int]]
"""A batch of lines: for each line its number (from 1), its bytes without the line end, and an offset.

The offset is the position of the message in a line with a usual prefix of low severity.  In any other line,
the offset is 0.
"""

_BATCH = 1 << 14
_TAIL = 1 << 12  # bytes at the end that are stored for the last line


class Scanner:
    """Reads a stream and yields, in order, batches of lines that may be informative.

    ``literals`` are the first characters of the relevant messages that are less severe than a warning.
    ``lines`` is the number of lines that were read so far, and ``size`` is the number of bytes that were read
    so far.  ``shapes`` has the names of the tools whose log prefixes occurred. The form of a prefix shows the
    tool. ``note`` states why the end of the log was not read.  It is empty if the whole log was read.
    """

    def __init__(self, source: ByteStream, literals: Iterable[bytes]) -> None:
        self._source = source
        self._literals = frozenset(literals)
        self._filter: BlockFilter | None = None
        self._enough: list[tuple[bytes, bool]] = []
        self.shapes: set[str] = set()
        self.lines = 0
        self.size = 0
        self.note = ""
        self._tail = b""

    def last_line(self, *, complete: bool = False) -> tuple[int, bytes]:
        """Return the number and the text of the last non-empty line.

        Call this method after the whole log was scanned. A long line is shortened. If ``complete`` is true, a
        last line without a line end is ignored, because the log may end in the middle of this line.
        """
        ending = (self._tail[: self._tail.rfind(b"\n") + 1] if complete else self._tail).rstrip()
        line = _ANSI.sub(b"", ending.rpartition(b"\n")[2])
        line = (json_message(line) or [line])[-1]
        return self.lines - self._tail[len(ending) :].removesuffix(b"\n").count(b"\n"), line

    def enough(self, literal: bytes, *, context: bool) -> None:
        """From now on, count the lines that begin with ``literal`` without returning them.

        With ``context``, the scanner still returns the nearest such line before each line that it returns.
        The scanner may also return a few more of these lines.
        """
        if self._filter:
            self._filter.enough(literal, context)
        else:
            self._enough.append((literal, context))

    def counts(self) -> dict[bytes, int]:
        """Return, for each beginning of a line, how many lines the scanner counted without returning them."""
        return self._filter.counts() if self._filter else {}

    def __iter__(self) -> Iterator[Batch]:
        carry: list[bytes] = []
        held = 0
        dropping = False
        while chunk := self._source.read(BLOCK):
            if self.size + len(chunk) > MOST:
                self.note = f"the log is longer than {MOST >> 30} GiB; trtlint ignored the text after that"
                break
            self.size += len(chunk)
            self._tail = (self._tail + chunk[-_TAIL:])[-_TAIL:]
            first = chunk.find(b"\n") + 1
            if not first:
                if not dropping:
                    carry.append(chunk)
                    held += len(chunk)
                if held > LONGEST:
                    yield (self.lines + 1,), (b"".join(carry)[:LONGEST],), (0,)
                    carry, held, dropping = [], 0, True
                continue
            # Complete the last line of the previous block; the rest of the block is not copied.
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
        """Yield the lines that may be informative, in the bytes from ``begin`` to ``end``.

        The last byte is a line end.
        """
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
        if data.startswith(b"{", begin) or data.find(b"\n{", begin, end) >= 0:
            yield from self._objects(data[begin : end - 1])
            return
        if self.size > _SMALL and end - begin > _DENSE:
            if self._filter is None:
                # NumPy comes with onnx; it is imported only for logs large enough to repay the import.
                from trtlint.buildfiles.line_filter import BlockFilter

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

    def _objects(self, data: bytes) -> Iterator[Batch]:
        """Process JSON lines. All lines of one message get the line number of its JSON object."""
        numbers: list[int] = []
        parts: list[bytes] = []
        for line in data.split(b"\n"):
            self.lines += 1
            message = json_message(line) or [line]
            numbers += [self.lines] * len(message)
            parts += message
        yield numbers, parts, repeat(0)

    def _overwritten(self, data: bytes) -> Iterator[Batch]:
        r"""Process lines with progress bars.  In these lines, ``\r`` overwrites text.

        Each overwritten part counts as a line of its own, with the number of the whole line.
        """
        for line in data.split(b"\n"):
            self.lines += 1
            yield repeat(self.lines), line.split(b"\r"), repeat(0)
