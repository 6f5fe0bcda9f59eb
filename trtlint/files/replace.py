"""Writing files whole, in the place of nothing or of a regular file, and of no other.

What is written is named on the command line or in a configuration, but what lies there can be a
stranger's: a link to a file elsewhere, a pipe, a device.  As root, putting a file in the place of a
device breaks the system.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from trtlint.files.regular import IrregularError, kind_of

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
"""O_EXCL follows no link: https://pubs.opengroup.org/onlinepubs/9799919799/functions/open.html."""
_PERMISSIONS = 0o777
"""What is kept of a file's mode; bits that lend its owner's rights are not."""


def require_replaceable(path: Path, spared: Iterable[Path] = ()) -> None:
    """Refuse to write where something lies that must stay; nothing, or a regular file, may be replaced.

    Args:
        path: the file to write.
        spared: files that are read in the same run, and must not be replaced under any name.

    Raises:
        OSError: ``strerror`` says why it must stay; or its folder does not exist.
    """
    try:
        if not path.parent.is_dir():
            raise IrregularError(path, f"there is no folder {path.parent}")
        status = path.lstat()
    except FileNotFoundError:
        return
    except ValueError as error:  # a NUL, or what the system's encoding cannot write
        raise IrregularError(path, f"no file can have this name: {error}") from None
    if stat.S_ISLNK(status.st_mode):
        raise IrregularError(path, "this is a symbolic link: name the file that it leads to")
    if not stat.S_ISREG(status.st_mode):
        raise IrregularError(path, f"this is {kind_of(status.st_mode)}, which is not replaced")
    for other in spared:
        if _is(other, status):
            raise IrregularError(path, f"{other} is read in this run: name another file")


@contextmanager
def replacing(
    path: Path, spared: Iterable[Path] = (), check: Callable[[Path], None] | None = None
) -> Iterator[BinaryIO]:
    """Write a file; it appears whole at the end of the block, and not at all if that raises.

    Args:
        path: the file; one that is there is replaced, and keeps its permissions.
        spared: as of :func:`require_replaceable`.
        check: is called with the file that has been written, before it takes its place; raises whatever
            keeps it from doing so.

    Yields:
        The file to write to, in binary.

    Raises:
        OSError: it cannot be written, or :func:`require_replaceable` refuses it; ``filename`` is ``path``.
    """
    require_replaceable(path, spared)
    temporary = path.with_name(f".trtlint-{os.urandom(8).hex()}.tmp")
    try:
        with os.fdopen(os.open(temporary, _NEW, 0o666), "wb") as file:
            yield file
        if check is not None:
            check(temporary)
        with suppress(FileNotFoundError):
            temporary.chmod(path.lstat().st_mode & _PERMISSIONS)
        temporary.replace(path)
    except OSError as error:
        if error.filename in (None, os.fspath(temporary)):  # nobody knows the temporary file
            error.filename = os.fspath(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)


def _is(file: Path, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(file.stat(), status)
    except (OSError, ValueError):  # it is not there, or has no name that can be
        return False


def replace_text(path: Path, text: str, spared: Iterable[Path] = ()) -> None:
    """Write a text file in UTF-8; who reads it meanwhile sees the old one or the new one.

    Args:
        path: the file; one that is there is replaced.
        text: what to write; half of a surrogate pair is written as an escape.
        spared: as of :func:`require_replaceable`.

    Raises:
        OSError: it cannot be written, or :func:`require_replaceable` refuses it.
    """
    with replacing(path, spared) as file:
        file.write(text.encode("utf-8", "backslashreplace"))
