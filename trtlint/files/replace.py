"""Writing files whole, in the place of nothing or of a regular file, and of no other.

What is written is named on the command line or in a configuration, but what lies there can be a
stranger's: a link to a file elsewhere, a pipe, a device.  As root, putting a file in the place of a
device breaks the system.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from trtlint.files.regular import IrregularError, kind_of
from trtlint.files.temporary import held_file, is_temporary, lock, new_name

_AGAIN = os.O_WRONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
"""How a file that was just made is opened once more."""
_NO_SUCH_FILES = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT)
"""What systems say that know no files without names, or file systems that have none."""
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
    try:
        unnamed = _open_unnamed(path.parent)
        if unnamed is None:
            with held_file(path.parent) as temporary:
                with os.fdopen(os.open(temporary, _AGAIN), "wb") as file:
                    yield file
                _take_place(temporary, path, check)
            return
        with os.fdopen(unnamed, "wb") as file:
            yield file
            file.flush()
            if check is None and not os.path.lexists(path) and _name(unnamed, path):
                return
            lock(unnamed)
            temporary = path.with_name(new_name())
            try:
                if not _name(unnamed, temporary):  # some sandboxes do not let processes do so
                    shutil.copyfile(f"/proc/self/fd/{unnamed}", temporary)
                _take_place(temporary, path, check)
            finally:
                temporary.unlink(missing_ok=True)
    except OSError as error:
        named = None if error.filename is None else Path(os.fsdecode(error.filename))
        if named is None or named == path.parent or is_temporary(named.name):
            error.filename = os.fspath(path)  # nobody knows the temporary file
        raise


def _take_place(temporary: Path, path: Path, check: Callable[[Path], None] | None) -> None:
    """Put a file that was written in the place of another."""
    if check is not None:
        check(temporary)
    with suppress(FileNotFoundError):
        temporary.chmod(path.lstat().st_mode & _PERMISSIONS)
    temporary.replace(path)


def _open_unnamed(folder: Path) -> int | None:
    """Open a new file that has no name yet, so that nothing is left of it where this process is killed.

    None where the file system or the system has no such files.
    https://man7.org/linux/man-pages/man2/open.2.html
    """
    flag = getattr(os, "O_TMPFILE", None)
    if flag is None or not os.access("/proc/self/fd", os.X_OK):
        return None
    try:
        return os.open(folder, flag | os.O_WRONLY, 0o666)
    except OSError as error:
        if error.errno in _NO_SUCH_FILES:
            return None
        raise


def _name(descriptor: int, path: Path) -> bool:
    """Give a file without a name its first one; False where something has it, or that cannot be done."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        # With a folder's descriptor Python calls linkat, which follows the link that /proc has of the file.
        os.link(f"/proc/self/fd/{descriptor}", path.name, dst_dir_fd=folder)
    except OSError:
        return False
    finally:
        os.close(folder)
    return True


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
