"""What the exit code of the command says."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of ``trtlint``; where several apply, the highest below 5 wins."""

    CLEAN = 0
    """Nothing found at or above ``--fail-on`` whose confidence is above low."""
    FINDINGS = 1
    """Findings at or above ``--fail-on`` whose confidence is above low, failed rule examples, or a fix that
    was to be proven and could not be."""
    USAGE = 2
    """Wrong usage, configuration or rule file."""
    UNREADABLE = 3
    """A file that cannot be read, or output that cannot be written."""
    BUG = 4
    """A bug in trtlint."""
    INTERRUPTED = 130
    """Ctrl-C, as shells report it."""
    BROKEN_PIPE = 141
    """The reader of the output has gone, as shells report it."""
