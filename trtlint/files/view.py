"""Read an open file on demand, as a sequence of bytes.

A memory map is not safe here. If another process truncates the file, access to a removed page kills this
process (SIGBUS), and the remaining files are not linted.
"""

from __future__ import annotations

import errno
from typing import BinaryIO, overload

_CHUNK = 1 << 15
"""Bytes to read at once around a requested byte."""


_HELD = 4 << 20
"""Size in bytes of the largest file that is read whole, because a view makes byte access 50 % slower."""


def open_view(file: BinaryIO, size: int) -> bytes | View:
    """Return the bytes of a small file, or a view of a large file.

    Args:
        file: a file that is open for reading in binary, at its start; the file must stay open.
        size: length in bytes.

    Raises:
        OSError: the file cannot be read, or was truncated.
    """
    view = View(file, size)
    return view[:] if size <= _HELD else view


class View:
    """A file as a sequence of bytes that is read on demand.

    Args:
        file: a file that is open for reading in binary; the file must stay open.
        size: length in bytes.
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
        """Return the byte at an offset from 0, or the bytes of a slice.

        Raises:
            IndexError: the offset is beyond the end of the file.
            OSError: the file cannot be read, or was truncated.
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
        """Fill the buffer with the part of the file that begins at ``start``.

        The buffer saves time, because the next reads usually request bytes near ``start``.
        """
        self._chunk = self._read(start, min(_CHUNK, self._size - start))
        self._at = start

    def _read(self, start: int, count: int) -> bytes:
        self._file.seek(start)
        data = self._file.read(count)
        if len(data) < count:
            raise OSError(errno.EIO, "the file became shorter while it was read")
        return data
