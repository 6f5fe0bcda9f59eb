"""Opening files that strangers name: regular ones only, and never more of them than is asked for.

Opening a pipe waits for its writer, reading a device may never end, and opening some devices changes
them.  A checkout can hold links to any of them, and a configuration can name them.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from trtlint.errors import FileError

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    # A pipe that has taken the file's place meanwhile must not keep us, nor a terminal become ours.
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
)
_KINDS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISLNK, "a symbolic link"),
)


class IrregularError(FileError, OSError):
    """A file that is not a regular one, or longer than any of its kind; ``strerror`` says which."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(errno.EINVAL, reason, str(path))
        self.strerror: str = reason


def regular_status(path: Path, *, links: bool = True) -> os.stat_result:
    """The status of a regular file, which is not opened.

    Args:
        path: the file.
        links: whether a symbolic link stands for the file that it leads to.

    Raises:
        OSError: there is none, or it is no regular file.
    """
    try:
        status = path.stat(follow_symlinks=links)
    except ValueError as error:  # a NUL, or what the system's encoding cannot write
        raise IrregularError(path, f"no file can have this name: {error}") from None
    _require(path, status)
    return status


def is_pipe(path: Path) -> bool:
    """Whether a path is a pipe, such as a shell gives for ``<(zcat build.log.gz)``."""
    try:
        return stat.S_ISFIFO(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def open_regular(path: Path, *, links: bool = True) -> BinaryIO:
    """Open a regular file for reading in binary; nothing else is opened, nor waited for.

    Args:
        path: the file.
        links: whether a symbolic link stands for the file that it leads to.

    Raises:
        OSError: it cannot be opened, or is no regular file.
    """
    regular_status(path, links=links)
    descriptor = os.open(path, _FLAGS | (0 if links else getattr(os, "O_NOFOLLOW", 0)))
    try:
        status = os.fstat(descriptor)
        _require(path, status)
        if status.st_size == 0:
            _require_empty(path, descriptor)
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def read_bytes(path: Path, most: int, *, links: bool = True) -> bytes:
    """The content of a regular file.

    Args:
        path: the file.
        most: bytes that any file of its kind is below.
        links: whether a symbolic link stands for the file that it leads to.

    Raises:
        OSError: it cannot be read, is no regular file, or longer.
    """
    with open_regular(path, links=links) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise IrregularError(path, f"longer than {_size(most)}, the most that is read of such a file")
    return data


def read_text(path: Path, most: int) -> str:
    """The content of a regular file in UTF-8.

    Args:
        path: the file.
        most: bytes that any file of its kind is below.

    Raises:
        OSError: it cannot be read, is no regular file, or longer.
        UnicodeDecodeError: it is not UTF-8.
    """
    return read_bytes(path, most).decode("utf-8")


def kind_of(mode: int) -> str:
    """What a file is that is not a regular one, in words."""
    return next((words for test, words in _KINDS if test(mode)), "a special file")


def _require(path: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IrregularError(path, "this is a directory")
    if not stat.S_ISREG(status.st_mode):
        raise IrregularError(path, f"this is {kind_of(status.st_mode)}, not a regular file")


def _require_empty(path: Path, descriptor: int) -> None:
    """Refuse what says that it has no bytes and has some: the system makes them while they are read.

    Such a file is a regular one by its kind, and can end never, or keep its readers waiting, as
    ``/proc/kmsg`` does.  https://man7.org/linux/man-pages/man5/proc.5.html
    """
    with suppress(BlockingIOError):
        if not os.read(descriptor, 1):
            return
    raise IrregularError(path, "this is a file of the system, not a regular file")


def _size(count: int) -> str:
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"
