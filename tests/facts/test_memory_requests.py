"""Tests of sizes in messages about memory."""

from __future__ import annotations

import pytest

from trtlint.buildfiles.records import Record
from trtlint.facts.blocks.memory_requests import Request, memory_requests


def requests(*records: tuple[int, str], pattern: str = "out_of_memory") -> list[Request]:
    """Return the requests in messages, each given as its line and its text."""
    listed = [Record(pattern, line, "E", text) for line, text in records]
    found = memory_requests(listed)
    assert set(found) <= set(map(id, listed))
    return [found[id(record)] for record in listed if id(record) in found]


@pytest.mark.parametrize(
    ("text", "size", "free"),
    [
        ("requested size was 1048576", "1 MiB", ""),
        ("Requested size of 1048575 bytes", "1048575 bytes", ""),
        ("buffer of size 2GiB", "2048 MiB", ""),
        ("Tried to allocate 2.50 GiB (GPU 0; 4 GiB total; 1.5 GiB free; x)", "2560 MiB", "1536 MiB"),
        ("Tried to allocate 20 MB. 8 GiB of which 3 KiB is free.", "20 MiB", "3072 bytes"),
        ("Failed to allocate 512KiB. Available: 100 B", "524288 bytes", "100 bytes"),
        ("Tactic Device request: 300MB Available: 200MB.", "300 MiB", "200 MiB"),
        ("memory (1024 MB", "1024 MiB", ""),
        ("no size", "", ""),
    ],
)
def test_the_sizes_in_one_message(text: str, size: str, free: str) -> None:
    largest = f"{size}, but only {free} of GPU memory were free" if free else size
    assert requests((1, text)) == [Request(size, free, largest)]


def test_a_message_without_a_size_has_that_of_the_nearest() -> None:
    found = requests((1, "requested size was 4MiB"), (4, "a"), (8, "b"), (9, "requested size of 9MiB"))
    assert [each.size for each in found] == ["4 MiB", "4 MiB", "9 MiB", "9 MiB"]
    found = requests((1, "requested size was 4MiB"), (5, "a"))
    assert found == [Request("4 MiB", "", "4 MiB"), Request("", "", "4 MiB")]
    found = requests((1, "requested size was 4MiB"), (3, "a"), (4, "requested size was 5MiB"))
    assert [each.size for each in found] == ["4 MiB", "5 MiB", "5 MiB"]


def test_the_largest_request_is_of_the_same_kind() -> None:
    known = "Tactic Device request: {}MB Available: {}MB"
    found = requests((1, known.format(5, 3)), (11, known.format(7, 2)), (21, "requested size was 9MiB"))
    assert [each.largest for each in found] == [
        "7 MiB, but only 2 MiB of GPU memory were free",
        "7 MiB, but only 2 MiB of GPU memory were free",
        "9 MiB",
    ]


@pytest.mark.parametrize(
    ("pattern", "known"),
    [("out_of_memory", True), ("allocation_refused", True), ("tactic_memory", True), ("other", False)],
)
def test_messages_about_memory(pattern: str, known: bool) -> None:
    assert bool(requests((1, "requested size was 4MiB"), pattern=pattern)) is known
