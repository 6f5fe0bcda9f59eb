"""Tests of byte ranges copied between files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from trtlint.model import copying
from trtlint.model.copying import copy_stretch
from trtlint.model.errors import ModelError

DATA = bytes(range(100))


@pytest.fixture(autouse=True)
def chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "_CHUNK", 8)


def copied(folder: Path, start: int, stop: int) -> bytes:
    """Return the contents of a new file after a copy behind three bytes."""
    (folder / "in").write_bytes(DATA)
    with (folder / "in").open("rb") as source, (folder / "out").open("wb") as target:
        target.write(b"abc")
        copy_stretch(source, target, start, stop)
    return (folder / "out").read_bytes()


Call = tuple[int, int]


def system(monkeypatch: pytest.MonkeyPatch, *answers: int | OSError) -> list[Call]:
    """Fake a system that copies these numbers of bytes, and return its calls."""
    calls: list[Call] = []
    left = list(answers)

    def copy(source: int, target: int, count: int, offset: int) -> int:
        calls.append((count, offset))
        answer = left.pop(0)
        if isinstance(answer, OSError):
            raise answer
        os.write(target, os.pread(source, answer, offset))
        return answer

    monkeypatch.setattr(os, "copy_file_range", copy, raising=False)
    return calls


@pytest.mark.parametrize(("start", "stop"), [(0, 100), (5, 12), (5, 13), (5, 14), (40, 40), (93, 100)])
@pytest.mark.parametrize("fast", [True, False])
def test_the_bytes_of_a_range(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: int, stop: int, fast: bool
) -> None:
    if not fast:
        monkeypatch.delattr(os, "copy_file_range", raising=False)
    assert copied(tmp_path, start, stop) == b"abc" + DATA[start:stop]


@pytest.mark.parametrize(
    ("answers", "calls"),
    [
        ((20,), [(20, 10)]),
        ((7, 13), [(20, 10), (13, 17)]),
        ((7, 0), [(20, 10), (13, 17)]),
        ((7, OSError("crossed")), [(20, 10), (13, 17)]),
        ((OSError("unsupported"),), [(20, 10)]),
    ],
)
def test_what_the_system_does_not_copy_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: tuple[int | OSError, ...], calls: list[Call]
) -> None:
    found = system(monkeypatch, *answers)
    assert copied(tmp_path, 10, 30) == b"abc" + DATA[10:30]
    assert found == calls


@pytest.mark.parametrize(("stop", "asked"), [(17, False), (18, True)])
def test_short_ranges_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int, asked: bool
) -> None:
    calls = system(monkeypatch, 8)
    assert copied(tmp_path, 10, stop) == b"abc" + DATA[10:stop]
    assert calls == ([(8, 10)] if asked else [])


@pytest.mark.parametrize("fast", [True, False])
def test_a_file_that_became_shorter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fast: bool) -> None:
    if not fast:
        monkeypatch.delattr(os, "copy_file_range", raising=False)
    with pytest.raises(ModelError) as caught:
        copied(tmp_path, 90, 110)
    assert (caught.value.message, caught.value.offset) == ("the file was truncated while it was copied", 100)
