"""Files beside a result that a process writes first, and that are removed where it was killed.

Each is locked by the process that made it.  The system releases the lock when the process ends, whatever
ends it, so that a later process can tell a file that was left from one that is being written:
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
"""O_EXCL follows no link: https://pubs.opengroup.org/onlinepubs/9799919799/functions/open.html."""
_OLD = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_NAME = re.compile(r"\.trtlint-[0-9a-f]{16}\.(?:tmp|trial\.onnx)")
_MOST_ENTRIES = 100_000
"""Entries of a folder that are looked at."""
_TRIES = 8


def is_temporary(name: str) -> bool:
    """Whether a file is called as those are that are written here.

    >>> is_temporary(".trtlint-0123456789abcdef.tmp"), is_temporary("model.tmp")
    (True, False)
    """
    return _NAME.fullmatch(name) is not None


def new_name(suffix: str = ".tmp") -> str:
    """A name that no file has."""
    return f".trtlint-{os.urandom(8).hex()}{suffix}"


@contextmanager
def held_file(folder: Path, suffix: str = ".tmp") -> Iterator[Path]:
    """Make an empty file for the time of a block; one that has been renamed then stays.

    Args:
        folder: where it is made.
        suffix: the end of its name, ``.tmp`` or ``.trial.onnx``.

    Raises:
        OSError: it cannot be made.
    """
    path, descriptor = _made(folder, suffix)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _made(folder: Path, suffix: str) -> tuple[Path, int]:
    """A new file and its descriptor, which holds the lock."""
    for attempt in range(_TRIES):
        path = folder / new_name(suffix)
        descriptor = os.open(path, _NEW, 0o666)
        # Another process may take it for one that was left, before it is locked.
        if (lock(descriptor) is not False and os.fstat(descriptor).st_nlink) or attempt == _TRIES - 1:
            return path, descriptor
        os.close(descriptor)
        path.unlink(missing_ok=True)
    raise AssertionError


def lock(descriptor: int) -> bool | None:
    """Lock a file; False where another process has, None where there are no locks."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):  # Windows, and file systems without locks
        return None
    return True


def remove_stale(folder: Path) -> None:
    """Remove the files that processes left in a folder which were killed.

    Only regular files of this user are removed, of the exact name, with no other name, and that no process
    has locked.
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
