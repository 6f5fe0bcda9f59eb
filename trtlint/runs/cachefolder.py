"""Access the cache folder. trtlint reads, writes and deletes only its own regular files there.

A tag file marks a folder as a cache of trtlint (https://bford.info/cachedir/). trtlint changes nothing in a
folder without this tag, unless the folder is empty. This protects files of the user in two cases:

- A user names a wrong folder by mistake.
- A checkout contains links that have the names of cache entries, but lead to files outside.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from trtlint.files.regular import read_bytes
from trtlint.files.replace import replacing
from trtlint.files.temporary import new_name

TAG = "CACHEDIR.TAG"
TAG_TEXT = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# Results of trtlint, which may be deleted at any time. https://bford.info/cachedir/\n"
)
_SHELF = re.compile(r"[0-9a-f]{2}")
_FILE = re.compile(r"[0-9a-f]{38}\.(?:json|dry)|\.trtlint-[0-9a-f]{16}\.tmp")
"""Pattern of the names of files in the cache, including temporary files."""


def is_cache(folder: Path) -> bool:
    """Return whether a folder has the tag file of a cache.  A link to such a folder gives False."""
    try:
        return (
            stat.S_ISDIR(folder.lstat().st_mode)
            and read_bytes(folder / TAG, len(TAG_TEXT), links=False) == TAG_TEXT.encode()
        )
    except OSError:
        return False


def may_be_cache(folder: Path) -> bool:
    """Return whether a folder is a cache, or can become one because it is missing or empty."""
    try:
        return is_cache(folder) or (stat.S_ISDIR(folder.lstat().st_mode) and not any(folder.iterdir()))
    except FileNotFoundError:
        return True
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return False


def entry_in(folder: Path, key: str, suffix: str = ".json") -> Path:
    """Return the file of the cache entry for a key.  A key is a digest of 40 hexadecimal digits."""
    return folder / key[:2] / f"{key[2:]}{suffix}"


def read_entry(entry: Path, most: int) -> bytes:
    """Return the content of a file in the cache.

    Raises:
        OSError: the file is missing, too large, not a regular file, or not in a cache.
    """
    _require(is_cache(entry.parents[1]) and _is_folder(entry.parent), entry)
    return read_bytes(entry, most, links=False)


def write_entry(entry: Path, data: bytes) -> None:
    """Write a file of the cache.  The cache is created if necessary.

    Raises:
        OSError: the file cannot be written, or its folder is not a cache.
    """
    root = entry.parents[1]
    if not is_cache(root):
        _make(root)
    with suppress(FileExistsError):
        entry.parent.mkdir()
    _require(_is_folder(entry.parent), entry)
    with replacing(entry) as file:
        file.write(data)


def files_in(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield the files of a cache except the tag, each with its status.

    The result is empty if the folder is not a cache.
    """
    if not is_cache(folder):
        return
    for shelf in folder.iterdir():
        if not _SHELF.fullmatch(shelf.name) or not _is_folder(shelf):
            continue
        for file in shelf.iterdir():
            with suppress(OSError):
                status = file.lstat()
                if _FILE.fullmatch(file.name) and stat.S_ISREG(status.st_mode):
                    yield file, status


def _make(root: Path) -> None:
    """Create a cache and its tag in one step, so that concurrent runs never see a cache without a tag."""
    _require(may_be_cache(root), root)
    import shutil  # here, because most runs find an existing cache

    root.parent.mkdir(parents=True, exist_ok=True)
    new = root.with_name(new_name())
    new.mkdir()
    try:
        (new / TAG).write_text(TAG_TEXT, encoding="ascii", newline="\n")
        (new / ".gitignore").write_text("*\n", encoding="ascii")
        with suppress(OSError):  # another run was faster
            new.rename(root)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    _require(is_cache(root), root)


def _is_folder(path: Path) -> bool:
    return stat.S_ISDIR(path.lstat().st_mode)


def _require(truth: bool, path: Path) -> None:
    if not truth:
        raise OSError(f"{path} is not in a cache of trtlint")
