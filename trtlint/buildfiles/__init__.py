"""What a build leaves behind: logs, layer information, profiles and engine files, as typed data.

Nothing here knows rules or facts, and only :mod:`~trtlint.buildfiles.join` knows the ONNX graph.
"""

from __future__ import annotations

from trtlint.buildfiles.errors import BuildFileError

__all__ = ["BuildFileError"]
