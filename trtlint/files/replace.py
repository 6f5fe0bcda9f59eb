"""Write files atomically, and replace only regular files.

The user names the output, but an untrusted link, pipe or device may exist at that path.  If root replaces a
device, the system breaks.
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

from trtlint.errors import SettingError
from trtlint.files.regular import IrregularError, kind_of
from trtlint.files.temporary import is_temporary, lock, new_name, temporary_file

_AGAIN = os.O_WRONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
"""Flags to reopen a newly created file for writing."""
_NO_SUCH_FILES = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT)
"""Error codes of systems and file systems that do not support files without a name."""
_PERMISSIONS = 0o777
"""Mode bits that a replaced file keeps; setuid, setgid and sticky bits are dropped."""


def require_replaceable(path: Path, protected: Iterable[Path] = ()) -> None:
    """Check that trtlint may write to a path: the path does not exist, or is a regular file.

    Args:
        path: file to write.
        protected: files that this run reads.  ``path`` must not be one of these files, even if it is
            another name (a hard link) of the same file.

    Raises:
        OSError: the path cannot be written, or its folder does not exist; ``strerror`` is the reason.
    """
    try:
        if not path.parent.is_dir():
            raise IrregularError(path, f"there is no folder {path.parent}")
        status = path.lstat()
    except FileNotFoundError:
        return
    except ValueError as error:  # a NUL, or characters that the system cannot encode
        raise IrregularError(path, f"invalid file name: {error}") from None
    if stat.S_ISLNK(status.st_mode):
        raise IrregularError(path, "this is a symbolic link; use the path of its target instead")
    if not stat.S_ISREG(status.st_mode):
        raise IrregularError(path, f"this is {kind_of(status.st_mode)}; only a regular file is replaced")
    for other in protected:
        if _is(other, status):
            raise IrregularError(path, f"{other} is read in this run; write to another file")


def in_folder(path: Path, name: str) -> Path:
    """Return the file ``name`` in the folder ``path``, or ``path`` itself if it is not a folder."""
    return path / name if path.is_dir() else path


def require_output(path: Path, protected: Iterable[Path] = (), what: str = "") -> None:
    """Check, before the work starts, that trtlint may write an output file.

    Args:
        path: file to write.
        protected: see :func:`require_replaceable`.
        what: words before the path in the message, such as ``the skeleton to``; empty for none.

    Raises:
        SettingError: :func:`require_replaceable` rejects ``path``.
    """
    try:
        require_replaceable(path, protected)
    except OSError as error:
        place = " ".join(filter(None, (what, str(path))))
        raise SettingError(f"cannot write {place}: {error.strerror or error}") from None


@contextmanager
def replacing(
    path: Path, protected: Iterable[Path] = (), check: Callable[[Path], None] | None = None
) -> Iterator[BinaryIO]:
    """Write a file atomically at the end of a ``with`` block. If the block raises, no file is written.

    Args:
        path: file to write; an existing file is replaced and keeps its permissions.
        protected: see :func:`require_replaceable`.
        check: function that gets the path of the new file before the new file replaces ``path``.  If the
            function raises an exception, the old file stays.

    Yields:
        The file object to write to, in binary.

    Raises:
        OSError: the file cannot be written, or :func:`require_replaceable` rejects ``path``.  The
            ``filename`` of the error is ``path``.
    """
    require_replaceable(path, protected)
    try:
        unnamed = _open_unnamed(path.parent)
        if unnamed is None:
            with temporary_file(path.parent) as temporary:
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
                if not _name(unnamed, temporary):  # some sandboxes forbid the link
                    shutil.copyfile(f"/proc/self/fd/{unnamed}", temporary)
                _take_place(temporary, path, check)
            finally:
                temporary.unlink(missing_ok=True)
    except OSError as error:
        named = None if error.filename is None else Path(os.fsdecode(error.filename))
        if named is None or named == path.parent or is_temporary(named.name):
            error.filename = os.fspath(path)  # the user does not know the temporary file
        raise


def _take_place(temporary: Path, path: Path, check: Callable[[Path], None] | None) -> None:
    """Replace ``path`` by the temporary file, after ``check`` has accepted the temporary file."""
    if check is not None:
        check(temporary)
    with suppress(FileNotFoundError):
        temporary.chmod(path.lstat().st_mode & _PERMISSIONS)
    temporary.replace(path)


def _open_unnamed(folder: Path) -> int | None:
    """Open a new file without a name in a folder.  Return None if the system does not support this.

    If this process is killed, the system removes the file.
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
    """Link an open file that has no name to ``path``. Return False if the path exists or linking fails."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        # With a folder descriptor, Python calls linkat, which follows the link in /proc to the file.
        os.link(f"/proc/self/fd/{descriptor}", path.name, dst_dir_fd=folder)
    except OSError:
        return False
    finally:
        os.close(folder)
    return True


def _is(file: Path, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(file.stat(), status)
    except (OSError, ValueError):  # the file does not exist, or its name is invalid
        return False


def replace_text(path: Path, text: str, protected: Iterable[Path] = ()) -> None:
    """Write a UTF-8 text file atomically.

    Args:
        path: file to write; an existing file is replaced.
        text: content; a lone surrogate is written as an escape.
        protected: see :func:`require_replaceable`.

    Raises:
        OSError: the file cannot be written, or :func:`require_replaceable` rejects it.
    """
    with replacing(path, protected) as file:
        file.write(text.encode("utf-8", "backslashreplace"))
