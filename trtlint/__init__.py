"""trtlint: what NVIDIA TensorRT will do to a model, told before a GPU is touched.

The public API is small: :func:`lint` reads ONNX models and returns a :class:`Report` of
:class:`Finding` objects for a :class:`Target`; :func:`check` does so at the end of an export script and
raises where something is grave; :func:`fix` rewrites a model.  Names are loaded on first use, so that
importing the package (and ``trtlint --version``) costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from trtlint.api import CheckError, check, fix, lint
    from trtlint.engine.finding import Finding, Report
    from trtlint.target.target import Target

__all__ = ["CheckError", "Finding", "Report", "Target", "__version__", "check", "fix", "lint"]

_HOMES = {
    "CheckError": "trtlint.api",
    "check": "trtlint.api",
    "fix": "trtlint.api",
    "lint": "trtlint.api",
    "Finding": "trtlint.engine.finding",
    "Report": "trtlint.engine.finding",
    "Target": "trtlint.target.target",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
