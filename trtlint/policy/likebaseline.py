"""Check an existing file before trtlint writes a baseline to its path."""

from __future__ import annotations

from pathlib import Path

from trtlint.files.regular import open_regular
from trtlint.policy.baseline import BaselineError

_HEAD = 512
"""Number of bytes that are checked at the start of the file."""


def require_like_baseline(file: Path) -> None:
    """Raise an error if an existing file does not look like a baseline.

    For example, the user may give a model by mistake as the value of ``--baseline``.  A damaged baseline, or
    a baseline with merge conflicts, may be overwritten.

    Raises:
        BaselineError: the file has other content.
        OSError: the file cannot be read.
    """
    try:
        with open_regular(file) as there:
            head = there.read(_HEAD).strip()
    except FileNotFoundError:
        return
    if head and not head.startswith((b"{", b"<<<<<<<")):
        raise BaselineError("this is not a baseline")
