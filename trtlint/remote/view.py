"""Read the bytes of a remote file on demand, in blocks with a fixed read-ahead."""

from __future__ import annotations

from trtlint.files.view import View
from trtlint.remote.file import RemoteFile

_BLOCK = 1 << 13
"""Size of a block in bytes."""
_AHEAD = 3
"""Smallest number of blocks in one request."""


class RemoteView(View):
    """A remote file as a sequence of bytes.

    Args:
        file: the remote file.
    """

    __slots__ = ("_blocks", "_remote")

    def __init__(self, file: RemoteFile) -> None:
        super().__init__(None, file.size)  # type: ignore[arg-type]
        self._remote = file
        self._blocks: dict[int, bytes] = {}

    def _hold(self, start: int) -> None:
        block = start // _BLOCK
        if block not in self._blocks:
            self._fetch(block, block + _AHEAD)
        self._chunk = self._blocks[block][start - block * _BLOCK :]
        self._at = start

    def _read(self, start: int, count: int) -> bytes:
        first, stop = start // _BLOCK, max(start, start + count - 1) // _BLOCK + 1
        self._fetch(first, stop)
        data = b"".join(self._blocks[block] for block in range(first, stop))
        return data[start - first * _BLOCK :][:count]

    def _between(self, start: int, stop: int) -> bytes:
        if start >= self._at and stop <= self._at + len(self._chunk):
            return self._chunk[start - self._at : stop - self._at]
        return self._read(start, stop - start) if stop > start else b""

    def _fetch(self, first: int, stop: int) -> None:
        """Fetch the missing blocks from block ``first`` up to block ``stop`` (exclusive).

        Adjacent blocks share one request.
        """
        beyond = -(-len(self) // _BLOCK)
        spans: list[tuple[int, int]] = []
        for block in range(first, min(stop, beyond)):
            if block in self._blocks:
                continue
            if spans and spans[-1][1] == block:
                spans[-1] = (spans[-1][0], block + 1)
            else:
                spans.append((block, block + 1))
        if not spans:
            return
        parts = self._remote.parts([(start * _BLOCK, min(end * _BLOCK, len(self))) for start, end in spans])
        for (start, end), data in zip(spans, parts, strict=True):
            for block in range(start, end):
                at = (block - start) * _BLOCK
                self._blocks[block] = data[at : at + _BLOCK]
