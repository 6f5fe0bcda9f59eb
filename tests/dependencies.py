"""Dependencies of trtlint: links in test environments, and tests that need a recent version."""

from __future__ import annotations

import sysconfig
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from packaging.version import Version

_OWN = ("trtlint", "_editable_impl_trtlint", "pip", "__pycache__")


def is_older(package: str, first: str) -> bool:
    """Return whether an installed package is older than a version."""
    try:
        return Version(version(package)) < Version(first)
    except PackageNotFoundError:
        return False


RECENT_RUNTIME = pytest.mark.skipif(
    is_older("onnxruntime", "1.24"),
    reason="ONNX Runtime 1.23 (the last for Python 3.10) differs",
)


def link_dependencies(folder: Path) -> Path:
    """Link to all installed packages except trtlint and pip.

    pip treats packages on the import path as installed, and still checks every requirement.  ``.pth`` files
    only work in environment folders, so this function skips them.
    """
    folder.mkdir(parents=True)
    for place in dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib")):
        for entry in Path(place).iterdir():
            if not entry.name.startswith(_OWN) and entry.suffix != ".pth":
                (folder / entry.name).symlink_to(entry)
    return folder
