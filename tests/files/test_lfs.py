"""Tests of Git LFS pointers."""

from __future__ import annotations

from pathlib import Path

import pytest

from trtlint.files.lfs import is_pointer

FIRST = b"version https://git-lfs.github.com/spec/"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (FIRST + b"v1\noid sha256:0\nsize 1\n", True),
        (FIRST, True),
        (FIRST[:-1], False),
        (b"\n" + FIRST, False),
        (FIRST + bytes(1023 - len(FIRST)), True),
        (FIRST + bytes(1024 - len(FIRST)), False),
        (b"", False),
    ],
)
def test_a_pointer_is_a_short_file_with_a_first_line(tmp_path: Path, data: bytes, expected: bool) -> None:
    """It is shorter than 1024 bytes: https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md."""
    (tmp_path / "f").write_bytes(data)
    assert is_pointer(tmp_path / "f") is expected


def test_what_cannot_be_read_is_no_pointer(tmp_path: Path) -> None:
    assert not is_pointer(tmp_path)
    assert not is_pointer(tmp_path / "missing")
