"""Readers of the files that a build writes: logs, layer information, profiles and engine files.

This package knows no rules or facts.  Only :mod:`~trtlint.buildfiles.join` knows the ONNX graph.
"""

from __future__ import annotations

from trtlint.buildfiles.errors import BuildFileError

__all__ = ["BuildFileError"]
