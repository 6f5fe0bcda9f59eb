"""Read commands in Windows scripts and JSON arrays, which are not shell scripts."""

from __future__ import annotations

import json
import re
from pathlib import PurePath

_WINDOWS = frozenset({".bat", ".cmd", ".ps1", ".psm1"})
DOCUMENTS = frozenset({".md", ".markdown", ".mdx", ".rst", ".ipynb"})
"""The suffixes of documents, whose code :mod:`~trtlint.buildcommand.documents` finds."""
SOURCES = frozenset({".c", ".cc", ".cpp", ".cs", ".cu", ".cuh", ".cxx", ".h", ".hh", ".hpp", ".java"})
"""The suffixes of programs that :mod:`~trtlint.buildcommand.csource` reads."""
_WINDOWS_PATH = re.compile(r"[\w.)%}]\\(?:trtexec|tensorrt_rtx)(?:\.exe)?(?=[\"'\s])", re.IGNORECASE)
"""Pattern of a path of Windows that ends in a known program."""
_REMARK = re.compile(r"^[ \t]*(?:@?rem\b|::).*$", re.IGNORECASE | re.MULTILINE)
"""Pattern of a comment in a batch file."""
_SPLATTED = re.compile(r"(?<=\s)@(\w+)")
"""Pattern of a variable of PowerShell whose elements become arguments, such as ``@flags``."""
PROGRAM = re.compile(r"trtexec|tensorrt_rtx", re.IGNORECASE)
"""Pattern of the programs whose commands trtlint reads."""
_CONTINUED = re.compile(r"(?<=\s)[`^]\s*$")


def is_windows(text: str, source: str) -> bool:
    """Return whether a backslash in a text separates the folders of a path.

    This is the case in scripts for PowerShell and cmd.exe, and in a text with the path of a Windows program.
    """
    return PurePath(source).suffix.casefold() in _WINDOWS or _WINDOWS_PATH.search(text) is not None


def as_shell(text: str, source: str) -> str:
    r"""Return a text of Windows with the backslashes and comments of a POSIX shell.

    A backslash at the end of a line stays as it is: ``C:\bin\trtexec --fp16 \`` may run in Git Bash.
    """
    batch = PurePath(source).suffix.casefold() in (".bat", ".cmd")
    text = _REMARK.sub("", text) if batch else _SPLATTED.sub(r"${\1}", text)
    lines = (line.replace("\\", "\\\\").removesuffix("\\") for line in text.splitlines())
    return "\n".join(f"{line[:-1]}\\" if batch and line.endswith("^") else line for line in lines)


def continued(line: str) -> str:
    r"""Return a line with a backslash in place of the continuation character of Windows.

    PowerShell continues a line with "`" and cmd.exe with "^". In a POSIX shell, "`" at the end of a line may
    close a command substitution. Then the line has an even number of these characters.
    """
    found = _CONTINUED.search(line)
    if found is None or (found.group().strip() == "`" and line.count("`") % 2 == 0):
        return line
    return f"{line[: found.start()]}\\" if line[: found.start()].strip() else line


def array_words(line: str) -> list[str] | None:
    """Return the words of a command in JSON, such as ``["trtexec", "--fp16"]`` in a Dockerfile.

    The result is None if the line is not an array of strings.
    https://docs.docker.com/reference/dockerfile/#exec-form
    """
    if not line.startswith("[") or PROGRAM.search(line) is None:
        return None
    try:
        words = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return words if all(isinstance(word, str) for word in words) else None
