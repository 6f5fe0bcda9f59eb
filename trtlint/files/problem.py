"""Represent problems with files that trtlint cannot read, or can read only in part."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

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


def first_few(texts: Sequence[str], most: int, between: str = ", ") -> str:
    """Join the first ``most`` texts, and add the number of further texts.

    >>> first_few(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return between.join(texts[:most]) + more


def reason_of(error: Exception) -> str:
    """Return the reason of an error, without the number and the file name of an error of the system.

    >>> reason_of(OSError(13, "Permission denied", "model.onnx"))
    'Permission denied'
    """
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


class UnreadableError(FileError):
    """Error: a file cannot be read. The exception has the position of the problem in the file.

    Attributes:
        message: the reason, and what the user can do.
        offset: byte offset in the file, or None.
        line: line number from 1, or None.
        node: path of a node in the model, or None.
    """

    def __init__(
        self, message: str, *, offset: int | None = None, line: int | None = None, node: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.line = line
        self.node = node


class Problem(Struct, frozen=True):
    """A problem with a file that trtlint could lint only in part, or not at all."""

    path: str
    message: str
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
        """Convert an exception to a problem.  The message does not contain the file name."""
        name = os.fspath(path)
        if isinstance(error, UnreadableError):
            return cls(name, error.message.removeprefix(f"{name}: "), error.offset, error.node)
        return cls(name, reason_of(error))

    def __str__(self) -> str:
        place = "" if self.offset is None else f" at byte {self.offset}"
        node = "" if self.node is None else f" at node {self.node}"
        return f"{self.path}: {self.message}{place}{node}"


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Return a context manager that adds the file name to the message of an :class:`UnreadableError`."""
    try:
        yield
    except UnreadableError as error:
        error.message = str(Problem.of(path, error))
        error.args = (error.message,)
        raise
