"""Create temporary files beside a result, and remove temporary files that killed processes left.

The process that creates a temporary file locks the file. The system releases the lock when the process ends.
So a later process can distinguish abandoned files from files in use:
https://man7.org/linux/man-pages/man2/flock.2.html
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
"""Flags to create a new file.

O_EXCL follows no link: https://pubs.opengroup.org/onlinepubs/9799919799/functions/open.html.
"""
_OLD = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_NAME = re.compile(r"\.trtlint-[0-9a-f]{16}\.(?:tmp|trial\.onnx)")
_MOST_ENTRIES = 100_000
"""Largest number of entries of a folder that are checked for abandoned files."""
_TRIES = 8


def is_temporary(name: str) -> bool:
    """Return whether a file name has the form of a temporary file.

    >>> is_temporary(".trtlint-0123456789abcdef.tmp"), is_temporary("model.tmp")
    (True, False)
    """
    return _NAME.fullmatch(name) is not None


def new_name(suffix: str = ".tmp") -> str:
    """Return a new random name for a temporary file."""
    return f".trtlint-{os.urandom(8).hex()}{suffix}"


@contextmanager
def temporary_file(folder: Path, suffix: str = ".tmp") -> Iterator[Path]:
    """Create a locked temporary file for a ``with`` block. Afterwards, remove it unless it was renamed.

    Args:
        folder: folder for the file.
        suffix: ``.tmp`` or ``.trial.onnx``.

    Raises:
        OSError: the file cannot be created.
    """
    path, descriptor = _create(folder, suffix)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _create(folder: Path, suffix: str) -> tuple[Path, int]:
    """Create a temporary file. Return its path and the descriptor that holds the lock."""
    for attempt in range(_TRIES):
        path = folder / new_name(suffix)
        descriptor = os.open(path, _NEW, 0o666)
        # Another process may remove the file as stale before it is locked.
        if (lock(descriptor) is not False and os.fstat(descriptor).st_nlink) or attempt == _TRIES - 1:
            return path, descriptor
        os.close(descriptor)
        path.unlink(missing_ok=True)
    raise AssertionError


def lock(descriptor: int) -> bool | None:
    """Lock a file. Return False if another process holds the lock, and None if locks are not supported."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):  # Windows, and file systems without locks
        return None
    return True


def remove_stale(folder: Path) -> None:
    """Remove the temporary files that killed processes left in a folder.

    A file is removed only if all these conditions are true:

    - It is a regular file with the name of a temporary file, see :func:`is_temporary`.
    - This user owns the file.
    - The file has one link.
    - No process has locked the file.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in islice(entries, _MOST_ENTRIES):
            if is_temporary(entry.name):
                with suppress(OSError):
                    _remove(Path(entry.path))


def _remove(path: Path) -> None:
    if not stat.S_ISREG(path.lstat().st_mode):
        return
    descriptor = os.open(path, _OLD)
    try:
        status = os.fstat(descriptor)
        own = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
        alone = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
        if own and alone and lock(descriptor) and os.path.samestat(path.lstat(), status):
            path.unlink()
    finally:
        os.close(descriptor)
