"""The bytes of an open file, read where they are asked for.

A mapped file would do, were it not for who writes to it meanwhile: touching a page that has been cut off
ends the process (SIGBUS), and with it the lint of every other file.
"""

from __future__ import annotations

import errno
from typing import BinaryIO, overload

_CHUNK = 1 << 15
"""Bytes that are read at once around a byte that is asked for."""


_HELD = 4 << 20
"""Bytes of a file that is read whole: to ask a view for every byte takes half as long again."""


def viewed(file: BinaryIO, size: int) -> bytes | View:
    """The bytes of a file, held where it is small.

    Args:
        file: open for reading in binary, at its beginning; it must stay open.
        size: its length in bytes.

    Raises:
        OSError: the file cannot be read, or has become shorter.
    """
    view = View(file, size)
    return view[:] if size <= _HELD else view


class View:
    """A file as a sequence of bytes; it is read through, not held.

    Args:
        file: open for reading in binary; it must stay open.
        size: its length in bytes.
    """

    __slots__ = ("_at", "_chunk", "_file", "_size")

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._size = size
        self._chunk = b""
        self._at = 0

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, key: int) -> int: ...

    @overload
    def __getitem__(self, key: slice) -> bytes: ...

    def __getitem__(self, key: int | slice) -> int | bytes:
        """The byte at an offset from 0, or the bytes between two.

        Raises:
            IndexError: the offset is beyond the file's length.
            OSError: the file cannot be read, or has become shorter.
        """
        if isinstance(key, slice):
            start, stop, _ = key.indices(self._size)
            return self._between(start, max(start, stop))
        place = key - self._at
        if not 0 <= place < len(self._chunk):
            if not 0 <= key < self._size:
                raise IndexError(key)
            self._hold(key)
            place = 0
        return self._chunk[place]

    def _between(self, start: int, stop: int) -> bytes:
        if stop - start > _CHUNK:
            return self._read(start, stop - start)
        if start < self._at or stop > self._at + len(self._chunk):
            self._hold(start)
        return self._chunk[start - self._at : stop - self._at]

    def _hold(self, start: int) -> None:
        """Read what follows an offset, which is likely to be asked for next."""
        self._chunk = self._read(start, min(_CHUNK, self._size - start))
        self._at = start

    def _read(self, start: int, count: int) -> bytes:
        self._file.seek(start)
        data = self._file.read(count)
        if len(data) < count:
            raise OSError(errno.EIO, "the file became shorter while it was read")
        return data
