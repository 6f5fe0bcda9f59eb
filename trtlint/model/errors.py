"""What can be wrong with a model file."""

from __future__ import annotations

from trtlint.files.problem import UnreadableError


class ModelError(UnreadableError):
    """A model that cannot be linted."""
