"""What can be wrong with a file that a build left behind."""

from __future__ import annotations


class BuildFileError(Exception):
    """A log, layer file, profile or plan that cannot be read, with the place where that shows.

    ``offset`` is a byte offset in the file, ``line`` a line number from 1; each None where it has no sense.
    """

    def __init__(self, message: str, *, offset: int | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.line = line
