"""Files that are read where bytes are asked for, from a disk and from elsewhere."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import pairwise

import pytest

from trtlint.files import view
from trtlint.files.view import View, viewed
from trtlint.remote.view import RemoteView

CONTENT = bytes(index % 251 for index in range(100_000))
BLOCK = 4096


class Counted(io.BytesIO):
    """A file that records what is read of it."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.reads: list[tuple[int, int | None]] = []

    def read(self, size: int | None = -1, /) -> bytes:
        self.reads.append((self.tell(), size))
        return super().read(size)


def test_a_small_file_is_held() -> None:
    assert view._HELD == 4 << 20
    assert viewed(io.BytesIO(CONTENT), len(CONTENT)) == CONTENT


def test_a_large_file_is_read_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "_HELD", len(CONTENT))
    assert isinstance(viewed(io.BytesIO(CONTENT), len(CONTENT)), bytes)
    monkeypatch.setattr(view, "_HELD", len(CONTENT) - 1)
    assert isinstance(viewed(io.BytesIO(CONTENT), len(CONTENT)), View)


def test_bytes_near_each_other_are_read_at_once() -> None:
    file = Counted(CONTENT)
    found = View(file, len(CONTENT))
    chunk = 1 << 15
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


class Elsewhere:
    """A file elsewhere that records the blocks that are fetched."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.fetched: list[list[tuple[int, int]]] = []

    def parts(self, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return the bytes between two offsets, of each span."""
        self.fetched.append([(start // BLOCK, -(-stop // BLOCK)) for start, stop in spans])
        assert all(0 <= start < stop <= self.size for start, stop in spans)
        return [bytes(place % 251 for place in range(start, stop)) for start, stop in spans]


def far(blocks: float) -> tuple[RemoteView, Elsewhere]:
    """Return a view of a file of so many blocks."""
    file = Elsewhere(int(blocks * BLOCK))
    return RemoteView(file), file  # type: ignore[arg-type]


def test_runs_are_read_ahead_ever_farther() -> None:
    found, file = far(200.5)
    for block in range(201):
        assert found[block * BLOCK] == block * BLOCK % 251
    assert file.fetched == [[(0, 16)], [(16, 48)], [(48, 112)], [(112, 176)], [(176, 201)]]


def test_behind_a_jump_little_is_read() -> None:
    found, file = far(400)
    for block in (0, 100, 101, 102, 300, 50):
        assert found[block * BLOCK + 7] == (block * BLOCK + 7) % 251
    assert file.fetched == [[(0, 16)], [(100, 102)], [(102, 106)], [(300, 302)], [(50, 52)]]


def test_neighbours_that_are_missing_are_fetched_together() -> None:
    found, file = far(400)
    assert found[20 * BLOCK : 20 * BLOCK + 1]
    assert found[22 * BLOCK] == 22 * BLOCK % 251
    content = bytes(place % 251 for place in range(18 * BLOCK, 26 * BLOCK))
    assert found[18 * BLOCK : 26 * BLOCK] == content
    assert file.fetched == [[(20, 21)], [(22, 24)], [(18, 20), (21, 22), (24, 26)]]
    assert found[5:5] == b""
    assert found[18 * BLOCK + 5 : 18 * BLOCK + 9] == content[5:9]
    assert found[22 * BLOCK + 1 : 22 * BLOCK + 9] == content[4 * BLOCK + 1 : 4 * BLOCK + 9]
    assert len(file.fetched) == 3


def test_jumps_that_repeat_are_fetched_before_they_are_made() -> None:
    """Behind three of the same length the next twelve are guessed, with the block before each."""
    found, file = far(2000)
    for step in range(30):
        assert found[step * 50 * BLOCK] == step * 50 * BLOCK % 251
    assert file.fetched == [
        [(0, 16)],
        *([(step * 50, step * 50 + 2)] for step in (1, 2, 3)),
        *([(step * 50 - 1, step * 50 + 2) for step in range(begin, begin + 13)] for begin in (4, 17)),
    ]


def test_guesses_do_not_leave_the_file() -> None:
    found, file = far(601)
    for block in (600, 550, 500, 450, 400):
        assert found[block * BLOCK] == block * BLOCK % 251
    assert file.fetched[-1] == [(0, 2), *((block - 1, block + 2) for block in range(50, 401, 50))]
    found, file = far(630)
    for block in (100, 200, 300, 400, 500, 600):
        assert found[block * BLOCK] == block * BLOCK % 251
    assert file.fetched[-1] == [(399, 402), (499, 502), (599, 602)]


def test_jumps_are_alike_within_64_bytes() -> None:
    for more, guessed in ((64, True), (65, False)):
        found, file = far(2000)
        place = 0
        for step in range(6):
            place += 50 * BLOCK + more * step
            assert found[place] == place % 251
        assert any(len(spans) > 2 for spans in file.fetched) is guessed


def test_longer_patterns_of_jumps_are_learned() -> None:
    found, file = far(4000)
    place = 0
    for jump in (20, 70, 30) * 4:
        place += jump * BLOCK
        assert found[place] == place % 251
    guessing = [spans for spans in file.fetched if len(spans) > 1]
    starts = [start for start, _ in guessing[0][1:5]]
    assert [second - first for first, second in pairwise(starts)] in (
        [70, 30, 20],
        [30, 20, 70],
        [20, 70, 30],
    )
