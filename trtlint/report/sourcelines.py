"""Locations in Python code, with paths relative to the current folder."""

from __future__ import annotations

import os
from pathlib import Path

from trtlint.model.source import Source


def shown_path(source: Source, root: Path | None) -> str:
    """Return the path of a source file, relative to the current folder.

    If the file was not found, return the path in ``source``.

    Args:
        source: a position: the path of a source file and a line number. If the file is in the repository,
            the path is relative to the repository.
        root: the repository; None if there is none.
    """
    if not source.found or root is None:
        return source.path
    try:
        return Path(os.path.relpath(root / source.path)).as_posix()
    except (OSError, ValueError):  # the current folder was deleted or is on another drive
        return source.path


def shown_source(source: Source, root: Path | None) -> str:
    """Format a source line with a path relative to the current folder: ``../net.py:17 in forward``."""
    return source.at(shown_path(source, root))
