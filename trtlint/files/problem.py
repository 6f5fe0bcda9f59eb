"""Represent problems with files that trtlint cannot read, or can read only in part."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import force_setattr

from trtlint.errors import FileError

LONGEST = 1000
"""Largest length of a name or a reason in a message.  A model can contain a node name of 10 MB."""


def shorten(text: str) -> str:
    """Shorten a text that is too long for a message.

    >>> len(shorten("n" * 10_000_000))
    1001
    """
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def first_few(texts: Sequence[str], most: int) -> str:
    """Join the first ``most`` texts, and add the number of further texts.

    >>> first_few(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def reason_of(error: Exception) -> str:
    """Return the reason of an error, without the number and the file name of an error of the system.

    >>> reason_of(OSError(13, "Permission denied", "model.onnx"))
    'Permission denied'
    """
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


class UnreadableError(FileError):
    """Error: a file cannot be read. The text of the exception also has the file and the position.

    Attributes:
        message: the reason, and what the user can do.
        path: the file, or None until a caller adds it (:func:`named`).
        offset: byte offset in the file, or None.
        line: line number from 1, or None.
        node: path of a node in the model, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        offset: int | None = None,
        line: int | None = None,
        node: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.offset = offset
        self.line = line
        self.node = node

    def __str__(self) -> str:
        return self.message if self.path is None else str(Problem.of(self.path, self))


class Problem(Struct, frozen=True):
    """A problem with a file that trtlint could lint only in part, or not at all."""

    path: str
    message: str
    """The reason, and the line if it is known."""
    offset: int | None = None
    """Byte offset in the file, or None if it is unknown."""
    node: str | None = None

    def __post_init__(self) -> None:
        """Shorten the message and the path of the node if they are too long."""
        force_setattr(self, "message", shorten(self.message))
        if self.node is not None:
            force_setattr(self, "node", shorten(self.node))

    @classmethod
    def of(cls, path: str | os.PathLike[str], error: UnreadableError | OSError) -> Problem:
        """Convert an exception to a problem.  The message does not contain the file name.

        Args:
            path: the file, if ``error`` does not name one.
            error: the exception.
        """
        name = os.fspath(path)
        if not isinstance(error, UnreadableError):
            return cls(name, reason_of(error))
        line = "" if error.line is None else f" (line {error.line})"
        name = name if error.path is None else error.path
        return cls(name, f"{error.message}{line}", error.offset, error.node)

    @property
    def text(self) -> str:
        """The message and the position, without the file name."""
        place = "" if self.offset is None else f" at byte {self.offset}"
        node = "" if self.node is None else f" at node {self.node}"
        return f"{self.message}{place}{node}"

    def __str__(self) -> str:
        return f"{self.path}: {self.text}"


@contextmanager
def named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Return a context manager that adds the file to an :class:`UnreadableError` that names no file."""
    try:
        yield
    except UnreadableError as error:
        if error.path is None:
            error.path = os.fspath(path)
        raise
