"""Tests of log lines in blocks of any size."""

from __future__ import annotations

import gzip
import io
import json
import random

import pytest

from trtlint.buildfiles import scan
from trtlint.buildfiles.log import read_log
from trtlint.buildfiles.scan import Scanner
from trtlint.buildfiles.stream import ByteStream, PrefixedStream, Utf8Stream


def lines(scanner: Scanner) -> list[tuple[int, bytes]]:
    """Return the lines that a scanner yields, with their numbers."""
    # The numbers of a batch may be a repeat() without an end.
    return [
        (number, line) for numbers, batch, _ in scanner for number, line in zip(numbers, batch, strict=False)
    ]


def scanned(data: bytes) -> tuple[list[tuple[int, bytes]], int, int, tuple[int, bytes]]:
    """Return the lines, the number of lines and bytes, and the last line."""
    scanner = Scanner(io.BytesIO(data), ())
    found = lines(scanner)
    return found, scanner.lines, scanner.size, scanner.last_line()


@pytest.mark.parametrize("block", [1, 2, 3, 7, 1 << 20])
def test_lines_do_not_depend_on_the_blocks(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "BLOCK", block)
    rng = random.Random(block)
    for _ in range(200):
        data = bytes(rng.choice(b"ab\n") for _ in range(rng.randrange(20)))
        expected = data.removesuffix(b"\n").split(b"\n") if data else []
        found, count, size, _ = scanned(data)
        assert found == list(enumerate(expected, 1))
        assert (count, size) == (len(expected), len(data))


@pytest.mark.parametrize(("block", "tail"), [(1, 4096), (5, 4096), (1 << 20, 4096), (4, 4)])
def test_the_last_line(block: int, tail: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "BLOCK", block)
    monkeypatch.setattr(scan, "_TAIL", tail)
    for data, expected in (
        (b"", (0, b"")),
        (b"a\nbcd", (2, b"bcd")),
        (b"a\nbcd\n", (2, b"bcd")),
        (b"a\nbc\n\n", (2, b"bc")),
        (b"a\nb\n\n\n", (2, b"b")),
        (b"a\nb\n\n ", (2, b"b")),
        (b"a\nb \n", (2, b"b")),
    ):
        assert scanned(data)[3] == expected


def test_long_lines_are_cut_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "BLOCK", 4)
    monkeypatch.setattr(scan, "LONGEST", 10)
    assert scanned(b"abcdefghijkl\nx\n")[0] == [(1, b"abcdefghij"), (2, b"x")]
    assert scanned(b"abcdefghijklmnopqrstuvwxyz\nx\ny")[0] == [(1, b"abcdefghij"), (2, b"x"), (3, b"y")]
    assert scanned(b"abcdefgh\nx")[0] == [(1, b"abcdefgh"), (2, b"x")]
    assert scanned(b"x\nabcdefghijklmnopqrstuvwxyz")[:2] == ([(1, b"x"), (2, b"abcdefghij")], 2)
    assert scanned(b"abcdefghijklmnopqrst\n" * 2)[:2] == ([(1, b"abcdefghij"), (2, b"abcdefghij")], 2)


def test_long_logs_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "BLOCK", 4)
    monkeypatch.setattr(scan, "MOST", 8)
    scanner = Scanner(io.BytesIO(b"abc\ndef\n"), ())
    assert (lines(scanner), scanner.note) == ([(1, b"abc"), (2, b"def")], "")
    scanner = Scanner(io.BytesIO(b"abc\ndef\ng"), ())
    assert (lines(scanner), scanner.size) == ([(1, b"abc"), (2, b"def")], 8)
    assert scanner.note == "the log is longer than 0 GiB; trtlint ignored the text after that"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a\r\nb\r\n", [(1, b"a"), (2, b"b")]),
        (b"1%\r2%\r\nb\n", [(1, b"1%"), (1, b"2%"), (2, b"b")]),
        (b"1%\r2%\nb\rc", [(1, b"1%"), (1, b"2%"), (2, b"b"), (2, b"c")]),
        (b"\x1b[31ma\x1b[0m\nb\x1b]0;t\x07c\n", [(1, b"a"), (2, b"bc")]),
        (b"\x1b[1mx\x1b[0m\r\ny", [(1, b"x"), (2, b"y")]),
    ],
)
def test_terminal_codes(data: bytes, expected: list[tuple[int, bytes]]) -> None:
    assert scanned(data)[0] == expected


def test_json_lines() -> None:
    first = json.dumps({"log": "a\nb\n", "stream": "stdout"}).encode()
    assert scanned(first + b"\nc\n")[:2] == ([(1, b"a"), (1, b"b"), (2, b"c")], 2)
    assert scanned(b"c\n" + first)[:2] == ([(1, b"c"), (2, b"a"), (2, b"b")], 2)
    assert scanned(b"c\n" + first)[3] == (2, b"b")
    assert scanned(b"{c\nd{\n")[0] == [(1, b"{c"), (2, b"d{")]


def test_large_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_BATCH", 3)
    scanner = Scanner(io.BytesIO(b"a\n" * 7), ())
    assert [(list(numbers), len(batch)) for numbers, batch, _ in scanner] == [
        ([1, 2, 3], 3), ([4, 5, 6], 3), ([7], 1)
    ]  # fmt: skip


def whole(stream: ByteStream, size: int) -> bytes:
    """Read a stream in parts of at most ``size`` bytes."""
    found = b""
    while part := stream.read(size):
        assert len(part) <= size
        found += part
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 4, 100])
def test_streams_give_every_byte_once(size: int) -> None:
    assert whole(PrefixedStream(b"abc", io.BytesIO(b"defg")), size) == b"abcdefg"
    data = "aéb€".encode("utf-16-le") + b"\x00"
    assert whole(Utf8Stream(io.BytesIO(data), "utf-16-le"), size) == "aéb€\ufffd".encode()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_cut_gzip_is_reported(encoding: str) -> None:
    packed = gzip.compress(("[I] x\n" * 1000).encode(encoding))
    assert read_log(io.BytesIO(packed)).notes == ()
    (note,) = read_log(io.BytesIO(packed[:-12])).notes
    assert note.startswith("the gzip data is truncated or damaged: ")
