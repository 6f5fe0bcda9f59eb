"""Escape CI commands in printed text, to protect CI runners.

Names of nodes and files are untrusted text, and CI runners read commands from standard output. GitHub accepts
``::`` at the start of a line, even after blanks, and ``##[`` anywhere in a line. Azure Pipelines
accepts ``##vso[``, and TeamCity accepts ``##teamcity[``. The runners of GitHub and Azure compare text with
the culture rules of .NET. These rules ignore invisible characters. The set of invisible characters depends on
the operating system, so this module ignores all non-ASCII characters.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands

https://github.com/actions/runner/blob/main/src/Runner.Common/ActionCommand.cs

https://learn.microsoft.com/en-us/azure/devops/pipelines/scripts/logging-commands

https://www.jetbrains.com/help/teamcity/service-messages.html

https://learn.microsoft.com/en-us/dotnet/api/system.string.indexof#system-string-indexof(system-string)
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from functools import cache
from typing import Any, TextIO, cast

_NOTHING = r"[^\x20-\x7e\r\n]*"
"""Pattern of the characters that a runner may ignore inside a command."""
_MARKS = "|".join(_NOTHING.join(map(re.escape, mark)) for mark in ("#[", "#vso[", "#teamcity["))
_AT_START = re.compile(rf"(?:^|(?<=\r))((?:\x1b\[[0-9;]*m|[^\x21-\x7e\r\n])*):(?={_NOTHING}:)", re.MULTILINE)


def harmless(text: str) -> str:
    r"""Escape the first character of each CI command in a text of whole lines. JSON stays valid.

    >>> harmless("##[stop-commands]x")
    '\\u0023#[stop-commands]x'
    """
    return _AT_START.sub(r"\1\\u003a", without_marks(text))


def without_marks(text: str) -> str:
    """Escape the CI commands that a runner accepts anywhere in a line."""
    return _anywhere().sub(r"\\u0023", text) if "#" in text else text


@cache
def _anywhere() -> re.Pattern[str]:
    """Compile the pattern of the commands that a runner accepts anywhere in a line.

    Compiling takes 3 ms and few texts need the pattern, so it is compiled on first use.
    """
    return re.compile(f"#(?={_NOTHING}(?:{_MARKS}))", re.IGNORECASE)


class _GuardedStream:
    """Text stream that escapes CI commands and writes whole lines."""

    def __init__(self, file: TextIO) -> None:
        self.unguarded = file
        self._line = ""

    def write(self, text: str) -> int:
        lines = self._line + text
        end = max(lines.rfind("\n"), lines.rfind("\r")) + 1
        self._line = lines[end:]
        if end:
            self.unguarded.write(harmless(lines[:end]))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        line, self._line = self._line, ""
        if line:
            self.unguarded.write(harmless(line))
        self.unguarded.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unguarded, name)


def unguarded(file: TextIO) -> TextIO:
    """Return the stream that a guarded stream writes to.

    trtlint writes its own CI commands to this stream.
    """
    return cast("TextIO", getattr(file, "unguarded", file))


@contextmanager
def guarded() -> Iterator[None]:
    """Escape CI commands on standard output and standard error until the context ends."""
    out, err = (file and cast("TextIO", _GuardedStream(file)) for file in (sys.stdout, sys.stderr))
    with redirect_stdout(out), redirect_stderr(err):
        try:
            yield
        finally:
            for file in filter(None, (err, out)):
                with suppress(ValueError, OSError):  # the reader closed the pipe
                    file.flush()
