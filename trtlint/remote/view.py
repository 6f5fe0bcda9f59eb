"""The bytes of a file elsewhere, fetched in blocks where they are asked for, and a little ahead of that.

What is asked for comes in runs and in jumps over large tensors.  Runs are read ahead, twice as far each time.
Jumps wait for one another, as the length of a tensor stands at its beginning; but the layers of a network
repeat, and so do the jumps over them: where the last ones have been seen before, those that followed then
are taken for those that follow now, and fetched along.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, takewhile

from trtlint.files.view import View
from trtlint.remote.file import RemoteFile

_BLOCK = 4096
_AT_FIRST = 16
"""Blocks that are fetched when the file is opened."""
_LONGEST_RUN = 64
"""Blocks that are read ahead in a run."""
_ALIKE = 64
"""Bytes by which jumps over equal tensors differ at most: names do, ``layer.9`` and ``layer.10``."""
_LANDING = 2
"""Blocks that are fetched behind a jump: the end of one tensor, small ones, the beginning of the next."""
_SEEN = 3
"""Jumps that must have been seen before in the same order."""
_LONGEST = 24
"""Jumps that are compared; of several places the one with most alike is taken, of equals the oldest."""
_BACK = 512
"""Jumps back that are looked at."""
_GUESSED = 12
"""Jumps that are guessed at once."""
_WASTED = 96
"""Guessed blocks beyond the right ones that nobody asked for, after which none are guessed any more."""


class RemoteView(View):
    """A file elsewhere as a sequence of bytes.

    Args:
        file: the file.
    """

    __slots__ = ("_blocks", "_far", "_guesses", "_jumps", "_landed", "_last", "_right", "_run")

    def __init__(self, file: RemoteFile) -> None:
        super().__init__(None, file.size)  # type: ignore[arg-type]
        self._far = file
        self._blocks: dict[int, bytes] = {}
        self._guesses: set[int] = set()
        self._right = 0
        self._jumps: list[int] = []
        self._landed = 0
        self._last = -1
        self._run = _AT_FIRST

    def _hold(self, start: int) -> None:
        block = start // _BLOCK
        jumped = block not in (self._last, self._last + 1)
        if jumped:
            self._jumps.append(start - self._landed)
            self._landed = start
            self._run = _LANDING
        if block not in self._blocks:
            run = range(block, block + self._run)
            self._run = min(self._run * 2, _LONGEST_RUN)
            self._fetch([*run, *(self._following(start) if jumped else ())])
        if block in self._guesses:
            self._guesses.remove(block)
            self._right += 1
        self._last = block
        self._chunk = self._blocks[block][start - block * _BLOCK :]
        self._at = start

    def _read(self, start: int, count: int) -> bytes:
        first, last = start // _BLOCK, max(start, start + count - 1) // _BLOCK
        self._fetch(range(first, last + 1))
        data = b"".join(self._blocks[block] for block in range(first, last + 1))
        return data[start - first * _BLOCK :][:count]

    def _between(self, start: int, stop: int) -> bytes:
        if start >= self._at and stop <= self._at + len(self._chunk):
            return self._chunk[start - self._at : stop - self._at]
        return self._read(start, stop - start) if stop > start else b""

    def _following(self, start: int) -> list[int]:
        """The blocks of the jumps that are likely to follow."""
        jumps = self._jumps
        if len(self._guesses) > _WASTED + self._right:
            return []
        ends = range(max(1, len(jumps) - _BACK), len(jumps))
        end = max(ends, key=self._seen_before, default=0)
        if end == 0 or self._seen_before(end) < _SEEN:
            return []
        period = len(jumps) - end
        places = accumulate((jumps[end + step % period] for step in range(_GUESSED)), initial=start)
        around = {
            block
            for place in places
            for block in range((place - _ALIKE) // _BLOCK, place // _BLOCK + _LANDING)
        }
        guesses = {block for block in around if block not in self._blocks and 0 <= block * _BLOCK < len(self)}
        self._guesses |= guesses
        return sorted(guesses)

    def _seen_before(self, end: int) -> int:
        """How many of the newest jumps are those before a place in the list, one after the other."""
        pairs = zip(reversed(self._jumps), reversed(self._jumps[max(0, end - _LONGEST) : end]), strict=False)
        return sum(1 for _ in takewhile(lambda pair: abs(pair[0] - pair[1]) <= _ALIKE, pairs))

    def _fetch(self, blocks: Iterable[int]) -> None:
        """Fetch blocks that are not there, neighbours in one request."""
        beyond = -(-len(self) // _BLOCK)
        missing = sorted({block for block in blocks if block not in self._blocks and block < beyond})
        if not missing:
            return
        spans: list[tuple[int, int]] = []
        for block in missing:
            if spans and spans[-1][1] == block:
                spans[-1] = (spans[-1][0], block + 1)
            else:
                spans.append((block, block + 1))
        parts = self._far.parts([(first * _BLOCK, min(stop * _BLOCK, len(self))) for first, stop in spans])
        for (first, stop), data in zip(spans, parts, strict=True):
            for block in range(first, stop):
                at = (block - first) * _BLOCK
                self._blocks[block] = data[at : at + _BLOCK]
