"""Limits of memory and time, and how they are put into words."""

from __future__ import annotations

import os

import pytest

from trtlint.files import limits, regular, temporary
from trtlint.files.limits import Allowance, amount, scale_allowance


@pytest.mark.parametrize(
    ("memory", "words"),
    [
        (2 << 30, "2 GB"),
        (2600 << 20, "2.5 GB"),
        (800 << 20, "800 MB"),
        (1 << 30, "1 GB"),
        ((1 << 30) - 1, "1023 MB"),
    ],
)
def test_memory_in_words(memory: int, words: str) -> None:
    assert amount(memory) == words


@pytest.mark.parametrize(
    ("count", "words"),
    [(4 << 20, "4 MiB"), (1 << 20, "1 MiB"), ((1 << 20) - 1, "1023 KiB"), (1 << 10, "1 KiB")],
)
def test_sizes_of_files_in_words(count: int, words: str) -> None:
    assert regular._size(count) == words


def test_limits_grow_beyond_an_ordinary_file() -> None:
    ordinary = scale_allowance(10.0, 100, limits.ORDINARY)
    assert (ordinary.seconds, ordinary.memory) == (10.0, 100)
    assert scale_allowance(10.0, 100, 0).seconds == 10.0
    more = scale_allowance(10.0, 100, limits.ORDINARY + (8 << 20))
    assert more.seconds == pytest.approx(10.0 + 8 * limits._SECONDS_PER_MEBIBYTE)
    assert more.memory == 100 + limits._MEMORY_PER_BYTE * (8 << 20)


def test_what_is_left_of_an_allowance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.process_time", lambda: 100.0)
    allowance = Allowance(10.0, 1)
    allowance.charge(2.0)
    monkeypatch.setattr("time.process_time", lambda: 103.0)
    assert allowance.left == pytest.approx(5.0)
    assert allowance.left_but(0.25) == pytest.approx(2.5)
    allowance.charge(6.0)
    assert allowance.left == pytest.approx(-1.0)
    assert allowance.words == "the limit of 10 s of processor time"


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="the system knows no such flags")
def test_old_folders_are_opened_without_following_and_without_waiting() -> None:
    assert temporary._OLD & os.O_NOFOLLOW
    assert temporary._OLD & os.O_NONBLOCK
