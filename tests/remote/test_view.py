"""Tests of the fetched blocks of a remote file, and of the number of requests."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("fsspec")

from trtlint.remote import model
from trtlint.remote.model import RemoteView

CONTENT = bytes(range(100))


class File:
    """A file of 100 bytes that records the requested parts."""

    size = len(CONTENT)

    def __init__(self) -> None:
        self.requested: list[list[tuple[int, int]]] = []

    def parts(self, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        self.requested.append(list(spans))
        return [CONTENT[start:stop] for start, stop in spans]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "_BLOCK", 8)
    monkeypatch.setattr(model, "_AHEAD", 3)


def requested(*keys: int | slice) -> list[list[tuple[int, int]]]:
    """Return the requested parts for some bytes."""
    file: Any = File()
    remote = RemoteView(file)
    for key in keys:
        assert remote[key] == CONTENT[key]
    found: list[list[tuple[int, int]]] = file.requested
    return found


@pytest.mark.parametrize(
    ("keys", "spans"),
    [
        ([0], [[(0, 24)]]),
        ([7], [[(0, 24)]]),
        ([8], [[(8, 32)]]),
        ([99], [[(96, 100)]]),
        ([90], [[(88, 100)]]),
        ([0, 7, 8, 23], [[(0, 24)]]),
        ([0, 24], [[(0, 24)], [(24, 48)]]),
        ([24, 8, 23], [[(24, 48)], [(8, 24)]]),
        ([slice(0, 8)], [[(0, 8)]]),
        ([slice(0, 9)], [[(0, 16)]]),
        ([slice(7, 9)], [[(0, 16)]]),
        ([slice(8, 16)], [[(8, 16)]]),
        ([slice(15, 16)], [[(8, 16)]]),
        ([slice(90, 100)], [[(88, 100)]]),
        ([slice(90, 200)], [[(88, 100)]]),
        ([slice(5, 5)], []),
        ([slice(9, 3)], []),
        ([slice(100, 100)], []),
        ([0, slice(2, 6)], [[(0, 24)]]),
        ([9, slice(8, 16)], [[(8, 32)]]),
        ([slice(16, 24), slice(0, 48)], [[(16, 24)], [(0, 16), (24, 48)]]),
        ([slice(0, 8), slice(16, 24), slice(0, 32)], [[(0, 8)], [(16, 24)], [(8, 16), (24, 32)]]),
        ([slice(8, 16), slice(8, 16), slice(9, 10)], [[(8, 16)]]),
    ],
)
def test_blocks_that_are_requested(keys: list[int | slice], spans: list[list[tuple[int, int]]]) -> None:
    assert requested(*keys) == spans


def test_any_order_gives_the_bytes_of_the_file() -> None:
    places = random.Random(3)
    for _ in range(50):
        keys: list[int | slice] = []
        for _ in range(10):
            start = places.randrange(100)
            keys += [start, slice(start, start + places.randrange(40))]
        spans = [span for each in requested(*keys) for span in each]
        blocks = [block for start, stop in spans for block in range(start, stop)]
        assert len(blocks) == len(set(blocks))  # nothing is fetched twice


@pytest.mark.parametrize("key", [100, -1, 1000])
def test_bytes_beyond_the_ends(key: int) -> None:
    file: Any = File()
    with pytest.raises(IndexError):
        RemoteView(file)[key]
    assert file.requested == []
