"""Errors that prevent a dry build."""

from __future__ import annotations

from trtlint.errors import ExperimentError


class WheelError(ExperimentError, ValueError):
    """Missing or wrong wheels; the text names the packages to install."""


class DryBuildError(ExperimentError, ValueError):
    """A model that does not allow a dry build; the text gives the reason."""
