"""Tests of byte ranges copied between files."""

from __future__ import annotations

from pathlib import Path

import pytest

from trtlint.model import datafile
from trtlint.model.datafile import copy_stretch
from trtlint.model.errors import ModelError

DATA = bytes(range(100))


@pytest.fixture(autouse=True)
def chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datafile, "_CHUNK", 8)


def copied(folder: Path, start: int, stop: int) -> bytes:
    """Return the contents of a new file after a copy behind three bytes."""
    (folder / "in").write_bytes(DATA)
    with (folder / "in").open("rb") as source, (folder / "out").open("wb") as target:
        target.write(b"abc")
        copy_stretch(source, target, start, stop)
    return (folder / "out").read_bytes()


@pytest.mark.parametrize(("start", "stop"), [(0, 100), (5, 12), (5, 13), (5, 14), (40, 40), (93, 100)])
def test_the_bytes_of_a_range(tmp_path: Path, start: int, stop: int) -> None:
    assert copied(tmp_path, start, stop) == b"abc" + DATA[start:stop]


def test_a_file_that_became_shorter(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        copied(tmp_path, 90, 110)
    assert (caught.value.message, caught.value.offset) == ("the file was truncated while it was copied", 100)
