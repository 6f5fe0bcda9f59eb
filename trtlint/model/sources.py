"""Lines of the user's own Python code: from what an exporter noted to a line of this repository.

An exporter notes paths of the machine that it ran on, and the code may have moved since.  A line is
only given as found where the file is in the repository and still holds that line of code.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from trtlint.files.regular import read_bytes
from trtlint.model.source import Frame, Source

_LARGEST = 2 << 20
"""Bytes of a Python file at most; a longer one is not code that a person reads."""
_MOST_LOOKS = 20_000
"""Files that are looked for on behalf of one model, those that are not there included."""
_MOST_READ = 64 << 20
"""Bytes of all files that are read in one run."""
_MOST_PARTS = 32
"""Components of a path that are looked for; the first ones of a longer one are another machine's."""


class Sources:
    """Finds lines of code below a folder.

    Args:
        folder: where to begin, the current folder if not given.  The repository around it is
            searched, or the folder itself where there is none.
        source_root: a folder below which the code lies that was exported, for a layout that differs
            from the exporting machine's.

    Raises:
        ValueError: ``source_root`` is no folder of the repository.
    """

    def __init__(self, folder: Path | None = None, source_root: Path | None = None) -> None:
        self.root = repository(folder)
        self._bases: list[Path] = []
        if source_root is not None:
            below = Path(os.path.realpath(source_root))
            if not below.is_dir():
                raise ValueError(f"the source root {source_root} is not a folder")
            if self.root is None or not below.is_relative_to(self.root):
                raise ValueError(f"the source root {source_root} is outside the repository")
            self._bases.append(below)
        if self.root is not None and self.root not in self._bases:
            self._bases.append(self.root)
        self._looks, self._room = _MOST_LOOKS, _MOST_READ
        self._files: dict[Path, tuple[str, ...]] = {}
        self._known: dict[tuple[Frame, ...], Source | None] = {}

    def finder(self) -> Callable[[Source], Source]:
        """:meth:`find` for the sources of one model, which may look for so many files and no more."""
        self._looks = _MOST_LOOKS
        return self.find

    def find(self, source: Source) -> Source:
        """The line of the innermost frame that is in the repository; the source as it is if none is."""
        if not source.frames:
            return source
        if source.frames not in self._known:
            found = (self._frame(frame) for frame in source.frames)
            self._known[source.frames] = next((line for line in found if line is not None), None)
        own = self._known[source.frames]
        return replace(source, frames=()) if own is None else replace(own, via=source.via)

    def _frame(self, frame: Frame) -> Source | None:
        """The line of a frame: in the file with the longest end of its path that holds the code."""
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
        """Where the code of a frame is in a file now: the nearest line with the same text."""
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
    """The stripped lines of a file; none where there is no such file of at most so many bytes."""
    try:
        text = read_bytes(file, most).decode("utf-8", "replace")
    except OSError:  # unreadable, too large, no name that a file can have
        return ()
    return tuple(line.strip() for line in text.splitlines())


def repository(folder: Path | None = None) -> Path | None:
    """The repository that a folder lies in, else the folder.

    None for a folder that holds home directories: a path below it would name one.
    """
    try:
        start = (folder or Path.cwd()).resolve()
    except OSError:  # the current folder is gone
        return None
    for candidate in (start, *start.parents):
        if (candidate / ".git").exists():
            return candidate
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - which leaves it where nobody is at home
    return None if start in home.parents or start == Path(start.anchor) else start
