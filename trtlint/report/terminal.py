"""The console that reports are written to."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console


class _Console(Console):
    """A console that leaves a closed pipe to its caller, who knows the exit code."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console(file: TextIO, width: int | None = None) -> Console:
    """A console for reports: colours if ``file`` is a terminal and the user has not refused them."""
    return _Console(file=file, width=width, highlight=False, markup=False, emoji=False)
