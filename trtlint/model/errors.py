"""What can be wrong with a model file."""

from __future__ import annotations


class ModelError(Exception):
    """A file that cannot be linted, with the place in it where that shows.

    ``offset`` is a byte offset in the file, ``node`` a node path; each None where it has no sense.
    """

    def __init__(self, message: str, *, offset: int | None = None, node: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.node = node
