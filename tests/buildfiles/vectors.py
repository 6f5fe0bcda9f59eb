"""Read logs with and without vectors."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO
from unittest.mock import patch

from trtlint.buildfiles import scan
from trtlint.buildfiles.log import read_log
from trtlint.buildfiles.records import Log


def read_with(source: str | Path | BinaryIO, *, vectorised: bool) -> Log:
    """Read a log with or without vectors, which trtlint otherwise uses only for large logs."""
    with patch.object(scan, "_SMALL", 0 if vectorised else scan.MOST):
        return read_log(source)
