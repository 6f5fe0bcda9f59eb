"""Errors in files that a build wrote."""

from __future__ import annotations

from pathlib import Path

from trtlint.files.problem import UnreadableError, reason_of
from trtlint.files.regular import is_pipe


class BuildFileError(UnreadableError):
    """Error: a log, layer file, profile or engine file cannot be read."""


def unreadable(path: Path, error: OSError) -> BuildFileError:
    """Return the error for a file that cannot be opened. For a pipe, the message contains advice."""
    way = "; pipe a log into trtlint --log -" if is_pipe(path) else ""
    return BuildFileError(f"{reason_of(error)}{way}")
