"""Detect Git LFS pointers: short text files in place of large files.

https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md
"""

from __future__ import annotations

from pathlib import Path

from trtlint.files.regular import open_regular, regular_status

FIRST_LINE = b"version https://git-lfs.github.com/spec/"
_LONGEST = 1024
"""Maximum size of a pointer in bytes."""

POINTER = "a Git LFS pointer instead of the file; run `git lfs pull` to fetch the file"


def is_pointer(path: Path) -> bool:
    """Return whether a file is a Git LFS pointer.  Return False if the file cannot be read."""
    try:
        if regular_status(path).st_size >= _LONGEST:
            return False
        with open_regular(path) as file:
            return file.read(len(FIRST_LINE)) == FIRST_LINE
    except OSError:
        return False
