"""Tests of log streams: limits of compressed data, and byte order marks."""

from __future__ import annotations

import gzip
import io
import random
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from trtlint.buildfiles import stream
from trtlint.buildfiles.errors import BuildFileError
from trtlint.buildfiles.stream import ByteStream, GzipStream, PrefixedStream, decoded, opened


def whole(source: ByteStream, size: int = 100) -> bytes:
    return b"".join(iter(lambda: source.read(size), b""))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", b""),
        (b"a", b"a"),
        (b"\xef\xbb\xbfa", b"a"),
        (b"\xef\xbb", b"\xef\xbb"),
        (b"\xff\xfea\0b\0", b"ab"),
        (b"\xfe\xff\0a\0b", b"ab"),
        (b"\xff\xfe", b""),
        (b"\xfe\xffa", "\ufffd".encode()),
        (b"\x1f", b"\x1f"),
        (b"a\xff\xfe", b"a\xff\xfe"),
    ],
)
@pytest.mark.parametrize("zipped", [False, True])
def test_logs_as_utf8(data: bytes, text: bytes, zipped: bool) -> None:
    source = gzip.compress(data) if zipped else data
    assert whole(decoded(io.BytesIO(source))[0]) == text


def test_all_bytes_of_a_prefixed_stream() -> None:
    source = PrefixedStream(b"abc", io.BytesIO(b"defg"))
    assert [source.read(size) for size in (2, 1, 2, 0, 9)] == [b"ab", b"c", b"de", b"", b"fg"]
    assert PrefixedStream(b"abc", io.BytesIO(b"d")).read(3) == b"abc"


@pytest.mark.parametrize(("size", "cut"), [((1 << 20) - 1, False), (1 << 20, False), ((1 << 20) + 1, True)])
def test_the_size_of_unzipped_data_is_limited(monkeypatch: pytest.MonkeyPatch, size: int, cut: bool) -> None:
    monkeypatch.setattr(stream, "_MOST_UNZIPPED", 1 << 20)
    monkeypatch.setattr(stream, "_MOST_RATIO", 0)
    source = GzipStream(io.BytesIO(gzip.compress(bytes(size))))
    found = whole(source, 1 << 18)
    assert (found == bytes(size)) is not cut
    note = "the gzip data unpacks to more than 1 MiB; trtlint ignored the data after that"
    assert source.note == (note if cut else "")
    assert source.read(1) == b""


@pytest.mark.parametrize(("noise", "cut"), [(2000, False), (0, True)])
def test_the_limit_of_unzipped_data_grows_with_the_zipped_data(
    monkeypatch: pytest.MonkeyPatch, noise: int, cut: bool
) -> None:
    monkeypatch.setattr(stream, "_MOST_UNZIPPED", 0)
    data = random.Random(1).randbytes(noise) + bytes(150_000)
    source = GzipStream(io.BytesIO(gzip.compress(data)))
    assert (whole(source, 1 << 20) == data) is not cut
    assert bool(source.note) is cut


@pytest.mark.parametrize("cut", [-1, -9, 12])
def test_damaged_data_end_with_a_note(cut: int) -> None:
    packed = gzip.compress(random.Random(2).randbytes(5000))
    source, unzipped = decoded(io.BytesIO(packed[:cut]))
    whole(source)
    assert unzipped is not None
    assert unzipped.note.startswith("the gzip data is truncated or damaged: ")


def test_ways_to_open_a_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = io.BytesIO(b"own")
    with opened(own) as file:
        assert file is own
    assert not own.closed
    given = io.BytesIO(b"given")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=given))
    for name in ("-", Path("-")):
        with opened(name) as file:
            assert file is given
    assert not given.closed
    path = tmp_path / "a.log"
    path.write_bytes(b"log")
    for source in (path, str(path)):
        with opened(source) as file:
            assert file.read() == b"log"
        assert file.closed
    with pytest.raises(BuildFileError) as caught, opened(tmp_path / "gone"):
        pass
    assert caught.value.message == "No such file or directory"
