"""Format the message for an internal error of trtlint."""

from __future__ import annotations

import os
import sys
import traceback

from trtlint.knowledge.projecturls import project_url

DEBUG = "TRTLINT_DEBUG"
"""Environment variable that turns on tracebacks."""


def describe(error: BaseException) -> str:
    """Return a message of one line about an unexpected exception.

    If ``TRTLINT_DEBUG`` is set, print the traceback on standard error.
    """
    if os.environ.get(DEBUG, "0") not in ("", "0"):
        traceback.print_exception(error, file=sys.stderr)
        hint = ""
    else:
        hint = f" ({DEBUG}=1 shows where)"
    text = " ".join(str(error).split())
    what = f"{type(error).__name__}: {text}" if text else type(error).__name__
    try:
        tracker = project_url("issues")
    except Exception:  # noqa: BLE001 - the error to report may be a lack of memory or of open files
        tracker = ""
    place = f" at {tracker}" if tracker else ""
    return f"a bug in trtlint: {what}{hint}; please report it{place}"
