"""Check of a file that a baseline would overwrite."""

from __future__ import annotations

from pathlib import Path

from trtlint.files.regular import open_regular
from trtlint.policy.baseline import BaselineError

_HEAD = 512
"""Number of checked bytes."""


def require_like_baseline(file: Path) -> None:
    """Reject an existing file that does not look like a baseline.

    Such a file is a sign that an option lacks its value.

    A damaged or half-merged baseline may be overwritten.

    Raises:
        BaselineError: the file is something else.
        OSError: the file cannot be read.
    """
    try:
        with open_regular(file) as there:
            head = there.read(_HEAD).strip()
    except FileNotFoundError:
        return
    if head and not head.startswith((b"{", b"<<<<<<<")):
        raise BaselineError("this is not a baseline")
