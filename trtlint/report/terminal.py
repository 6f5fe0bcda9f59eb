"""Output of reports to a terminal or to a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from rich.console import Console
from rich.text import Text

from trtlint.files.problem import Problem
from trtlint.report.escape import clean
from trtlint.report.layout import hang


class _Console(Console):
    """A console of the package rich that raises an error if the output pipe is closed.

    The caller sets the exit code for this error.
    """

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class ConsoleReport:
    """Base of reports on a terminal.

    Args:
        file: the output stream.  Lines are wrapped only on a terminal.
    """

    def __init__(self, file: TextIO) -> None:
        self._console: Console = console(file)
        self._width = self._console.width if file.isatty() else None

    def problem(self, problem: Problem) -> None:
        """Write the reason why a file has no report."""
        self._hang(Text("error: ", style="bold red"), str(problem))

    def _print(self, *lines: Text) -> None:
        """Write lines.

        A line that is too long for the terminal is not broken, so users can copy a command.
        """
        for line in lines:
            self._console.print(line, soft_wrap=True)

    def _hang(self, first: Text, text: str, style: str = "") -> None:
        """Write a text with a hanging indent after ``first``."""
        self._print(*hang(first, Text(clean(text), style=style), self._width))

    def _wrapped(self, line: Text) -> Iterator[Text]:
        """Wrap one long line of text, and yield the shorter lines."""
        yield from hang(Text(), line, self._width)

    def _hung(self, mark: str, text: str, style: str = "") -> Iterator[Text]:
        """Yield the lines of a wrapped text.

        The first line begins with ``mark``. The following lines are indented by the width of ``mark``.
        """
        yield from hang(Text(mark, style="bold"), Text(clean(text), style=style), self._width)


def console(file: TextIO, width: int | None = None) -> Console:
    """Return a console, with colours if ``file`` is a terminal and the user allows them."""
    return _Console(file=file, width=width, highlight=False, markup=False, emoji=False)
