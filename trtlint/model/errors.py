"""Exceptions of model files."""

from __future__ import annotations

from trtlint.files.problem import UnreadableError


class ModelError(UnreadableError):
    """Error: trtlint cannot read or lint the model."""
