"""Open only regular files, and read at most a given number of bytes.

Opening a pipe blocks until a program writes to the pipe. Reading a device may never end, and opening a device
may change its state. An untrusted checkout may contain links to pipes and devices, and a configuration may
name pipes and devices.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from io import BufferedReader
from pathlib import Path

from trtlint.errors import FileError

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    # A pipe or terminal may replace the file after the check. With these flags, opening a
    # pipe does not block, and opening a terminal does not make the terminal the controlling terminal.
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
    """Error: a file is not regular, or is too large; ``strerror`` is the reason."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(errno.EINVAL, reason, str(path))
        self.strerror: str = reason

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


def regular_status(path: Path, *, links: bool = True) -> os.stat_result:
    """Return the status of a regular file without opening it.

    Args:
        path: file to check.
        links: whether to follow a symbolic link.

    Raises:
        OSError: the file does not exist or is not regular.
    """
    try:
        status = path.stat(follow_symlinks=links)
    except ValueError as error:  # a NUL, or characters that the system cannot encode
        raise IrregularError(path, f"invalid file name: {error}") from None
    _require(path, status)
    return status


def is_pipe(path: Path) -> bool:
    """Return whether a path is a pipe, such as the pipe that the shell makes for ``<(zcat build.log.gz)``."""
    try:
        return stat.S_ISFIFO(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def open_regular(path: Path, *, links: bool = True) -> BufferedReader:
    """Open a regular file for reading in binary.  The call never blocks.

    Args:
        path: file to open.
        links: whether to follow a symbolic link.

    Raises:
        OSError: the file cannot be opened or is not regular.
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
    """Return the content of a regular file.

    Args:
        path: file to read.
        most: largest size in bytes.
        links: whether to follow a symbolic link.

    Raises:
        OSError: the file cannot be read, is not regular, or is too large.
    """
    with open_regular(path, links=links) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise IrregularError(path, f"longer than {_size(most)}, the limit for this kind of file")
    return data


def kind_of(mode: int) -> str:
    """Describe a file that is not regular, such as ``a pipe`` or ``a directory``."""
    return next((words for test, words in _KINDS if test(mode)), "a special file")


def _require(path: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IrregularError(path, "this is a directory")
    if not stat.S_ISREG(status.st_mode):
        raise IrregularError(path, f"this is {kind_of(status.st_mode)}, not a regular file")


def _require_empty(path: Path, descriptor: int) -> None:
    """Reject a file that has content although its size is 0.

    The system generates the content of such a file when the file is read.  The file has the mode of a regular
    file, but reading it may block or never end.  An example is ``/proc/kmsg``:
    https://man7.org/linux/man-pages/man5/proc.5.html
    """
    with suppress(BlockingIOError):
        if not os.read(descriptor, 1):
            return
    raise IrregularError(path, "this is a system file, like the files in /proc, not a regular file")


def _size(count: int) -> str:
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"
