"""Read commands in texts that are not shell scripts: Windows scripts, YAML files and JSON arrays."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import PurePath

import yaml
from msgspec.structs import replace

from trtlint.buildcommand.command import BuildCommand, command, tool_of

_WINDOWS = frozenset({".bat", ".cmd", ".ps1", ".psm1"})
_WINDOWS_PATH = re.compile(r"[\w.)%}]\\(?:trtexec|tensorrt_rtx)(?:\.exe)?(?=[\"'\s])", re.IGNORECASE)
"""Pattern of a path of Windows that ends in a known program."""
_REMARK = re.compile(r"^\s*(?:@?rem\b|::).*$", re.IGNORECASE | re.MULTILINE)
"""Pattern of a comment in a batch file."""
_PROGRAM = re.compile(r"trtexec|tensorrt_rtx", re.IGNORECASE)
_CONTINUED = re.compile(r"(?<=\s)[`^]\s*$")
_DEEPEST = 60

Search = Callable[[str, str], Iterator[BuildCommand]]


def is_windows(text: str, source: str) -> bool:
    """Return whether a backslash in a text separates the folders of a path.

    This is the case in scripts for PowerShell and cmd.exe, and in a text with the path of a Windows program.
    """
    return PurePath(source).suffix.casefold() in _WINDOWS or _WINDOWS_PATH.search(text) is not None


def as_shell(text: str, source: str) -> str:
    r"""Return a text of Windows with the backslashes and comments of a POSIX shell.

    A backslash at the end of a line stays as it is: ``C:\bin\trtexec --fp16 \`` may run in Git Bash.
    """
    if PurePath(source).suffix.casefold() in (".bat", ".cmd"):
        text = _REMARK.sub("", text)
    return "\n".join(
        f"{line[:-1]}\\".replace("\\", "\\\\")[:-1] if line.endswith("\\") else line.replace("\\", "\\\\")
        for line in text.splitlines()
    )


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
    if not line.startswith("[") or _PROGRAM.search(line) is None:
        return None
    try:
        words = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return words if all(isinstance(word, str) for word in words) else None


def commands_in_yaml(text: str, source: str, search: Search) -> tuple[BuildCommand, ...] | None:
    """Return the commands in a YAML file, such as a workflow or a Compose file.

    A command is a scalar, or a list whose first entry is a program. The result is None if the text is not
    YAML.
    """
    if _PROGRAM.search(text) is None:
        return ()
    try:
        documents = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError, ValueError):
        return None
    found = [each for document in documents for each in _in_node(document, source, search, 0)]
    return tuple(sorted(found, key=lambda each: each.line))


def _in_node(node: yaml.Node | None, source: str, search: Search, depth: int) -> Iterator[BuildCommand]:
    if depth > _DEEPEST:
        return
    if isinstance(node, yaml.ScalarNode):
        # The text of a block (`|` or `>`) begins in the next line.
        first = node.start_mark.line + (2 if node.style in ("|", ">") else 1)
        for found in search(node.value, source):
            yield replace(found, line=first + found.line - 1)
    elif isinstance(node, yaml.SequenceNode):
        words = [each.value if isinstance(each, yaml.ScalarNode) else "" for each in node.value]
        tool = tool_of(words[0]) if words else None
        if tool is not None and len(words) > 1:
            yield command(words[1:], tool, source=source, line=node.value[0].start_mark.line + 1)
            return
        for each in node.value:
            yield from _in_node(each, source, search, depth + 1)
    elif isinstance(node, yaml.MappingNode):
        for _, value in node.value:
            yield from _in_node(value, source, search, depth + 1)
