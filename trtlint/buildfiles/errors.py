"""What can be wrong with a file that a build left behind."""

from __future__ import annotations

from pathlib import Path

from trtlint.files.problem import UnreadableError
from trtlint.files.regular import is_pipe


class BuildFileError(UnreadableError):
    """A log, layer file, profile or plan that cannot be read."""


def unreadable(path: Path, error: OSError) -> BuildFileError:
    """What is said of a file that cannot be opened, and of a pipe how its content is given."""
    way = "; pipe a log into trtlint --log -" if is_pipe(path) else ""
    return BuildFileError(f"cannot read {path}: {error.strerror or error}{way}")
