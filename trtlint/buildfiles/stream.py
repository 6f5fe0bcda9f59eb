"""Open build logs: plain, gzip or standard input, in UTF-8 or UTF-16 (Windows shells)."""

from __future__ import annotations

import codecs
import gzip
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from trtlint.buildfiles.errors import unreadable
from trtlint.files.regular import open_regular

GZIP = b"\x1f\x8b"
_MOST_UNZIPPED = 64 << 20
"""Unpacked size that is always allowed for gzip data, in bytes."""
_MOST_RATIO = 100
"""Maximum compression ratio of gzip data larger than ``_MOST_UNZIPPED``. A verbose log has about 30."""
_UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


class ByteStream(Protocol):
    """A readable byte stream."""

    def read(self, size: int, /) -> bytes:
        """Read at most ``size`` bytes. The result is empty at the end of the stream."""


class PrefixedStream:
    """A stream of which some bytes were already read. :meth:`read` first returns these bytes again."""

    def __init__(self, head: bytes, rest: ByteStream) -> None:
        self._head = head
        self._rest = rest

    def read(self, size: int, /) -> bytes:
        """Read at most ``size`` bytes. The result is empty at the end of the stream."""
        if not self._head:
            return self._rest.read(size)
        part, self._head = self._head[:size], self._head[size:]
        return part


class Utf8Stream:
    """A stream converted from another encoding to UTF-8, in chunks."""

    def __init__(self, rest: ByteStream, encoding: str) -> None:
        self._rest = rest
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._ready = b""

    def read(self, size: int, /) -> bytes:
        """Read at most ``size`` bytes. The result is empty at the end of the stream."""
        while not self._ready:
            raw = self._rest.read(size)
            self._ready = self._decoder.decode(raw, not raw).encode("utf-8", "replace")
            if not raw:
                break
        part, self._ready = self._ready[:size], self._ready[size:]
        return part


class GzipStream:
    """A gzip stream. It ends at truncated or damaged data.

    ``note`` states why the stream ended early. It is empty if the stream did not end early.
    """

    def __init__(self, rest: ByteStream) -> None:
        self._raw = _GzipSource(rest)
        self._file = gzip.GzipFile(fileobj=cast("BinaryIO", self._raw), mode="rb")
        self._given = 0
        self.note = ""

    def read(self, size: int, /) -> bytes:
        """Read at most ``size`` bytes. The result is empty at the end of the stream."""
        if self.note:
            return b""
        try:
            data = bytes(self._file.read1(size))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self.note = f"the gzip data is truncated or damaged: {error}"
            return b""
        self._given += len(data)
        most = _MOST_UNZIPPED + _MOST_RATIO * self._raw.taken
        if self._given > most:
            self.note = (
                f"the gzip data unpacks to more than {most >> 20} MiB; trtlint ignored the data after that"
            )
            return b""
        return data


class _GzipSource:
    """Adapter that lets :mod:`gzip` read from a :class:`ByteStream`, and counts the bytes.

    The adapter has only the method that ``gzip`` calls.
    """

    def __init__(self, rest: ByteStream) -> None:
        self._rest = rest
        self.taken = 0

    def read(self, size: int, /) -> bytes:
        data = self._rest.read(size)
        self.taken += len(data)
        return data


@contextmanager
def opened(source: str | Path | BinaryIO) -> Iterator[BinaryIO]:
    """Open a path, ``-`` (standard input) or a stream as raw bytes. A given stream stays open."""
    if not isinstance(source, (str, Path)):
        yield source
    elif str(source) == "-":
        yield sys.stdin.buffer
    else:
        try:
            file = open_regular(Path(source))
        except OSError as error:
            raise unreadable(Path(source), error) from error
        with file:
            yield file


def decoded(raw: ByteStream) -> tuple[ByteStream, GzipStream | None]:
    """Return a log as UTF-8 text: unzipped, converted and without a byte order mark.

    The second value is the gzip stream in a log with gzip data; None for other logs.
    """
    head = raw.read(4)
    stream = PrefixedStream(head, raw)
    unzipped: GzipStream | None = None
    if head[:2] == GZIP:
        unzipped = GzipStream(stream)
        head = unzipped.read(4)
        stream = PrefixedStream(head, unzipped)
    if head[:2] in _UTF16:
        stream.read(2)
        return Utf8Stream(stream, _UTF16[head[:2]]), unzipped
    if head[:3] == codecs.BOM_UTF8:
        stream.read(3)
    return stream, unzipped
