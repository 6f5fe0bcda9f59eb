"""Exit codes of ``trtlint``."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of ``trtlint``.

    If several codes below 5 apply to a run, the highest code is used.
    """

    CLEAN = 0
    """No findings at or above ``--fail-on``, not counting findings of low confidence."""
    FINDINGS = 1
    """Findings at or above ``--fail-on`` with medium confidence or more, failed rule examples, an error of
    ``measure`` that is not under the bound, or a result that could not be proven.
    """
    USAGE = 2
    """Wrong usage, configuration or rule file."""
    UNREADABLE = 3
    """A file that cannot be read, or output that cannot be written."""
    BUG = 4
    """A bug in trtlint."""
    INTERRUPTED = 130
    """Ctrl-C. Shells report the same code."""
    BROKEN_PIPE = 141
    """The program that reads the output has closed the pipe. Shells report the same code."""
