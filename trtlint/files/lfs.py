"""Files that Git LFS has left as pointers: a short text in place of a large file.

https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md
"""

from __future__ import annotations

from pathlib import Path

from trtlint.files.regular import open_regular, regular_status

_FIRST_LINE = b"version https://git-lfs.github.com/spec/"
_LONGEST = 1024
"""A pointer is shorter than so many bytes."""

POINTER = "a Git LFS pointer, its file not fetched: `git lfs pull` fetches it"


def is_pointer(path: Path) -> bool:
    """Whether a file is a pointer; not so where it cannot be read."""
    try:
        if regular_status(path).st_size >= _LONGEST:
            return False
        with open_regular(path) as file:
            return file.read(len(_FIRST_LINE)) == _FIRST_LINE
    except OSError:
        return False
