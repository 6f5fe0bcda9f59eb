"""What a build leaves behind: logs, layer information, profiles and engine files, as typed data.

Nothing here knows rules or facts, and only :mod:`~trtlint.build.join` knows the ONNX graph.
"""

from __future__ import annotations

from trtlint.build.errors import BuildFileError

__all__ = ["BuildFileError"]
