"""Why a trial cannot be made."""

from __future__ import annotations

from trtlint.errors import ExperimentError


class WheelError(ExperimentError, ValueError):
    """The wheels cannot be used; the text says what to install."""


class DryBuildError(ExperimentError, ValueError):
    """A model that no dry build can be made of; the text says why."""
