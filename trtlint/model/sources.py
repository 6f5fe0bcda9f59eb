"""Search the user's repository for the lines of Python code that an exporter recorded.

The recorded paths are paths of the exporting machine, and the code may have moved since the export.  So a
line is found only if a file in the repository still contains the recorded text of the line.  If the exporter
recorded no text, the line number decides.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from trtlint.errors import SettingError
from trtlint.files.regular import read_bytes
from trtlint.model.source import Frame, Source

_LARGEST = 2 << 20
"""Bytes of the largest Python file that is searched.  Larger files are not hand-written code."""
_MOST_LOOKS = 20_000
"""Limit of file lookups for one model, including missing files."""
_MOST_READ = 64 << 20
"""Limit of bytes that are read from all files in one run."""
_MOST_PARTS = 32
"""Limit of path components that are compared, counted from the end of the path."""


class Sources:
    """Finds lines of code in the repository that contains the current folder.

    If no repository contains the current folder, only this folder is searched.

    Args:
        source_root: folder with the exported code, if the folders of the repository differ from the folders
            on the exporting machine.

    Raises:
        SettingError: ``source_root`` is not a folder of the repository.
    """

    def __init__(self, source_root: Path | None = None) -> None:
        self.root = repository()
        self._bases: list[Path] = []
        if source_root is not None:
            below = Path(os.path.realpath(source_root))
            if not below.is_dir():
                raise SettingError(f"the source root {source_root} is not a folder")
            if self.root is None or not below.is_relative_to(self.root):
                raise SettingError(f"the source root {source_root} is outside the repository")
            self._bases.append(below)
        if self.root is not None and self.root not in self._bases:
            self._bases.append(self.root)
        self._looks, self._room = _MOST_LOOKS, _MOST_READ
        self._files: dict[Path, tuple[str, ...]] = {}
        self._known: dict[tuple[Frame, ...], Source | None] = {}

    def finder(self) -> Callable[[Source], Source]:
        """Return :meth:`find` for the nodes of one model.  The count of file lookups begins again at 0."""
        self._looks = _MOST_LOOKS
        return self.find

    def find(self, source: Source) -> Source:
        """Return the innermost recorded line that is found in the repository.

        If no recorded line is found, ``source`` is returned without its frames.
        """
        if not source.frames:
            return source
        if source.frames in self._known:
            own = self._known[source.frames]
        else:
            found = (self._frame(frame) for frame in source.frames)
            own = next((line for line in found if line is not None), None)
            if self._looks >= 0:  # beyond the limit, nothing is cached: another model has a new limit
                self._known[source.frames] = own
        return replace(source, frames=()) if own is None else replace(own, via=source.via)

    def _frame(self, frame: Frame) -> Source | None:
        """Find the line of a stack frame in the repository.  Return None if the line is not found.

        Each base folder is searched for the full recorded path, then for the path without its first
        component, without its first two components, and so on.
        """
        parts = frame.parts[-_MOST_PARTS:]
        for base in self._bases:
            for start in range(len(parts)):
                self._looks -= 1
                if self._looks < 0:
                    return None
                file = base.joinpath(*parts[start:])
                line = self._line(file, frame)
                if line is not None and self.root is not None:
                    return Source(file.relative_to(self.root).as_posix(), line, frame.function, found=True)
        return None

    def _line(self, file: Path, frame: Frame) -> int | None:
        """Return the number of the line that has the recorded code, or None if no line has it.

        If several lines have the same code, the line nearest to the recorded line number is returned.
        """
        if file not in self._files:
            self._files[file] = _lines(file, min(self._room, _LARGEST))
            self._room -= sum(map(len, self._files[file]))
        lines = self._files[file]
        if not lines or self.root is None or not file.resolve().is_relative_to(self.root):
            return None
        if not frame.code:
            return frame.line if frame.line <= len(lines) else None
        same = (number for number, text in enumerate(lines, 1) if text == frame.code)
        return min(same, key=lambda number: abs(number - frame.line), default=None)


def _lines(file: Path, most: int) -> tuple[str, ...]:
    """Return the stripped lines of a file, or no lines if the file is missing or too large."""
    try:
        text = read_bytes(file, most).decode("utf-8", "replace")
    except OSError:  # unreadable, too large, or an invalid name
        return ()
    return tuple(line.strip() for line in text.splitlines())


def repository(folder: Path | None = None) -> Path | None:
    """Return the repository that contains a folder, or the folder itself if it is in no repository.

    The result is None for a folder that contains home directories.  Paths in such a folder reveal user names.
    """
    try:
        start = (folder or Path.cwd()).resolve()
    except OSError:  # the current folder is gone
        return None
    for candidate in (start, *start.parents):
        if (candidate / ".git").exists():
            return candidate
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - does not raise without a home
    return None if start in home.parents or start == Path(start.anchor) else start
