"""Console for reports."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console


class _Console(Console):
    """Console that raises an error for a closed pipe; the caller sets the exit code."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console(file: TextIO, width: int | None = None) -> Console:
    """Return a console, with colours if ``file`` is a terminal and the user allows them."""
    return _Console(file=file, width=width, highlight=False, markup=False, emoji=False)
