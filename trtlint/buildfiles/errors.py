"""What can be wrong with a file that a build left behind."""

from __future__ import annotations

from trtlint.files.problem import UnreadableError


class BuildFileError(UnreadableError):
    """A log, layer file, profile or plan that cannot be read."""
