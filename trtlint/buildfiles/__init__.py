"""Read the files that a build writes: logs, layer information, profiles and engine files.

This package does not use rules or facts.  Only :mod:`~trtlint.buildfiles.join` uses the ONNX graph.
"""

from __future__ import annotations

from trtlint.buildfiles.errors import BuildFileError

__all__ = ["BuildFileError"]
