"""Errors that prevent a dry build."""

from __future__ import annotations

from trtlint.errors import ExperimentError


class WheelError(ExperimentError):
    """Error: the packages of TensorRT-RTX are missing or wrong. The message names the packages to install."""


class DryBuildError(ExperimentError):
    """Error: a dry build of the model is not possible.  The message is the reason."""
