"""Why a file could not be read, or only in part."""

from __future__ import annotations

import os

from trtlint.errors import FileError
from trtlint.lean import dataclass

LONGEST = 1000
"""Characters of a name, or of a reason, that are said; a model can name a node in ten megabytes."""


def shortened(text: str) -> str:
    """A text, or the beginning of one that is longer than any that is read.

    >>> len(shortened("n" * 10_000_000))
    1001
    """
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


class UnreadableError(FileError):
    """A file that cannot be read, with the place in it where that shows.

    ``offset`` is a byte offset in the file, ``line`` a line number from 1, ``node`` the path of a node of a
    model; each None where it has no sense.
    """

    def __init__(
        self, message: str, *, offset: int | None = None, line: int | None = None, node: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.line = line
        self.node = node


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that kept a file, or a part of it, from being linted."""

    path: str
    message: str
    offset: int | None = None
    """Byte offset in the file, where known."""
    node: str | None = None

    def __post_init__(self) -> None:
        """Keep it one line that can be read."""
        object.__setattr__(self, "message", shortened(self.message))
        if self.node is not None:
            object.__setattr__(self, "node", shortened(self.node))

    @classmethod
    def of(cls, path: str | os.PathLike[str], error: UnreadableError | OSError) -> Problem:
        """What an exception says of a file, whose name the text of the exception need not repeat."""
        name = os.fspath(path)
        if isinstance(error, UnreadableError):
            return cls(name, error.message.removeprefix(f"{name}: "), error.offset, error.node)
        return cls(name, error.strerror or str(error))

    def __str__(self) -> str:
        place = "" if self.offset is None else f" at byte {self.offset}"
        node = "" if self.node is None else f" at node {self.node}"
        return f"{self.path}: {self.message}{place}{node}"
