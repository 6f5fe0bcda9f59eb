"""Tests that only regular files are opened."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.files.special import SPECIAL, at_most, make, needs_posix
from trtlint.files import regular


@needs_posix
@pytest.mark.parametrize("kind", SPECIAL)
def test_special_files_are_refused_without_waiting(kind: str, tmp_path: Path) -> None:
    file = make(kind, tmp_path / "special")
    words = kind.removeprefix("link to ").removeprefix("a ")
    for opened in (regular.open_regular, regular.regular_status, lambda path: regular.read_bytes(path, 10)):
        with at_most(), pytest.raises(OSError, match=f"this is a {words}"):
            opened(file)


@needs_posix
def test_what_takes_the_place_of_a_file_meanwhile_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "model"
    make("pipe", file)
    monkeypatch.setattr(regular, "regular_status", lambda *_, **__: None)
    with at_most(), pytest.raises(OSError, match="this is a pipe"):
        regular.open_regular(file)


@pytest.mark.parametrize("name", ["version", "self/environ"])
def test_what_the_system_makes_while_it_is_read_is_refused(name: str) -> None:
    """These generated files have the type of regular files."""
    file = Path("/proc", name)
    if not file.exists():
        pytest.skip("no such file here")
    for opened in (regular.open_regular, lambda path: regular.read_bytes(path, 10)):
        with pytest.raises(OSError, match="this is a system file"):
            opened(file)


def test_what_keeps_its_readers_waiting_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One example is ``/proc/kmsg``: a read takes data from other readers."""

    def waiting(*_: object) -> bytes:
        raise BlockingIOError

    (tmp_path / "empty").touch()
    monkeypatch.setattr(os, "read", waiting)
    with pytest.raises(OSError, match="this is a system file"):
        regular.open_regular(tmp_path / "empty")


def test_an_empty_file_is_a_regular_one(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert regular.read_bytes(tmp_path / "empty", 10) == b""


@needs_posix
def test_links_to_files_are_followed_unless_told_otherwise(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "file")
    (tmp_path / "file").write_bytes(b"text")
    assert regular.read_bytes(link, 4) == b"text"
    with pytest.raises(OSError, match="this is a symbolic link"):
        regular.read_bytes(link, 4, links=False)


def test_no_more_is_read_than_files_of_a_kind_have(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * 4096)
    assert len(regular.read_bytes(file, 4096)) == 4096
    with pytest.raises(OSError, match="longer than 3 KiB") as caught:
        regular.read_bytes(file, 4095)
    assert caught.value.strerror


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_names_that_no_file_can_have_are_errors_of_the_system(name: str) -> None:
    with pytest.raises(OSError, match="invalid file name"):
        regular.open_regular(Path(name))


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        regular.read_bytes(tmp_path / "missing", 10)
