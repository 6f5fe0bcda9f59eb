"""Tests of lazy file reads, from disk and from remote sources."""

from __future__ import annotations

import io

import pytest

from trtlint.files import view
from trtlint.files.view import View, open_view

CONTENT = bytes(index % 251 for index in range(100_000))
BLOCK = 4096


class Counted(io.BytesIO):
    """A file that records its reads."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.reads: list[tuple[int, int | None]] = []

    def read(self, size: int | None = -1, /) -> bytes:
        self.reads.append((self.tell(), size))
        return super().read(size)


def test_a_small_file_is_held() -> None:
    assert view._HELD == 4 << 20
    assert open_view(io.BytesIO(CONTENT), len(CONTENT)) == CONTENT


def test_a_large_file_is_read_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "_HELD", len(CONTENT))
    assert isinstance(open_view(io.BytesIO(CONTENT), len(CONTENT)), bytes)
    monkeypatch.setattr(view, "_HELD", len(CONTENT) - 1)
    assert isinstance(open_view(io.BytesIO(CONTENT), len(CONTENT)), View)


def test_bytes_near_each_other_are_read_at_once() -> None:
    file = Counted(CONTENT)
    found = View(file, len(CONTENT))
    chunk = 1 << 15
    assert found[10] == CONTENT[10]
    assert found[10] == CONTENT[10]
    assert found[11 : chunk + 10] == CONTENT[11 : chunk + 10]
    assert file.reads == [(10, chunk)]
    assert found[9] == CONTENT[9]
    assert found[chunk + 9] == CONTENT[chunk + 9]
    assert file.reads == [(10, chunk), (9, chunk), (chunk + 9, chunk)]
    assert found[chunk + 20 : chunk + 25] == CONTENT[chunk + 20 : chunk + 25]
    assert found[chunk + 8 : chunk + 12] == CONTENT[chunk + 8 : chunk + 12]
    assert len(file.reads) == 4
    assert found[0:chunk] == CONTENT[:chunk]
    assert file.reads[4:] == [(0, chunk)]
    assert found[5 : chunk + 6] == CONTENT[5 : chunk + 6]
    assert file.reads[5:] == [(5, chunk + 1)]
    assert found[99_990] == CONTENT[99_990]
    assert file.reads[6:] == [(99_990, 10)]


def test_the_ends_of_a_file() -> None:
    found = View(io.BytesIO(CONTENT), len(CONTENT))
    assert len(found) == len(CONTENT)
    assert found[:] == CONTENT
    assert found[99_999:] == CONTENT[-1:]
    assert found[50:40] == b""
    for place in (-1, 100_000):
        with pytest.raises(IndexError):
            found[place]
    short = View(io.BytesIO(CONTENT), len(CONTENT) + 1)
    with pytest.raises(OSError, match="became shorter"):
        short[:]
