"""Read commands in documents: Markdown, reStructuredText and Jupyter notebooks.

Only code counts.  An apostrophe in prose is not a quotation mark of a shell.
https://spec.commonmark.org/0.31.2/#fenced-code-blocks
https://nbformat.readthedocs.io/en/latest/format_description.html
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from textwrap import dedent
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from trtlint.buildcommand.command import BuildCommand, tool_of
from trtlint.buildcommand.dialects import PROGRAM, continued
from trtlint.buildcommand.syntax import nodes_of

_FENCE = re.compile(r"[\s>]*(?:[-*+]\s+|\d+[.)]\s+)?(`{3,}(?!`)|~{3,}(?!~))(?=[^`]*$)\s*\{?\.?([\w-]*)")
"""Pattern of the first line of a code block in Markdown, with the name of the language."""
_INLINE = re.compile(r"(`+)(.+?)\1|<code>(.+?)</code>")
"""Pattern of code in a line of prose."""
_INDENTED = re.compile(r"(?: {3}|\t)\s*(?![-*+>]\s|\d+[.)]\s)\S")
"""Pattern of a line in an indented code block."""
_PROMPT = re.compile(r"^[\s>]*(?:[-*+]\s+|\d+[.)]\s+)?(?:\$\s+)?")
"""Pattern of the text before a command that is not in a code block."""
_LONGEST = 4000
"""Maximum length of a line of prose with code, in characters."""
_LONGEST_CELL = 10_000
"""Maximum distance between two lines of code in the text of a notebook, in characters."""
_CELLS = re.compile(r'"cells"\s*:\s*\[')
_NEXT_CELL = re.compile(r"[^\s,]")
_LANGUAGES = {
    "c": ".c",
    "cpp": ".cpp",
    "cs": ".cs",
    "csharp": ".cs",
    "java": ".java",
    "py": ".py",
    "python": ".py",
    "python3": ".py",
    "yaml": ".yml",
    "yml": ".yml",
}
"""For each language of a code block, the suffix of its files.  Other code counts as shell code."""
_SHELL_CELL = re.compile(r"%%(?:bash|sh|script|system|!|cmd)\b|%%!")
"""Pattern of the first line of a notebook cell that a shell runs."""

_ESCAPE = re.compile(r"(?P<target>[\w, ]+=\s*)?(?:(?P<shell>!)|%%?[A-Za-z])")
"""Pattern of the start of a line for a shell or of a magic command.

https://ipython.readthedocs.io/en/stable/interactive/python-ipython-diff.html
"""

Read = Callable[[str, str, str], tuple[BuildCommand, ...]]
"""Function that finds the commands in a text.  Its arguments are the text, the file and the suffix."""


class _CodeLines(Struct, frozen=True):
    """Lines of code in a document.

    Attributes:
        lines: the lines.
        numbers: the number of each line in the document, from 1.
        suffix: the suffix of files in the language; empty for a shell.
    """

    lines: Sequence[str]
    numbers: Sequence[int]
    suffix: str = ""


def commands_in_document(text: str, source: str, suffix: str, read: Read) -> tuple[BuildCommand, ...]:
    """Return the build commands in the code of a document, in order.

    Args:
        text: the document.
        source: the name of the file, for reports.
        suffix: the suffix of the file.
        read: the function that finds the commands in a piece of code.
    """
    parts = _notebook(text) if suffix == ".ipynb" else _prose(text.splitlines())
    found: list[BuildCommand] = []
    for part in filter(lambda each: each.numbers, parts):
        for each in read("\n".join(part.lines), source, part.suffix):
            place = min(each.line, len(part.numbers)) - 1
            found.append(replace(each, line=part.numbers[place]))
    return tuple(found)


def _prose(lines: Sequence[str]) -> Iterator[_CodeLines]:
    """Yield the code in a text with markup.

    Code is a fenced block, inline code, an indented line, or a line that begins with a known program.
    """
    block: list[tuple[int, str]] = []
    fence = language = ""
    for number, line in enumerate(lines, 1):
        if fence:
            if set(line.strip(" \t>")) == {fence[0]} and fence in line:
                yield _part(block, _LANGUAGES.get(language, ""))
                fence, block = "", []
            else:
                block.append((number, line.lstrip(" \t>") if language not in _LANGUAGES else line))
            continue
        opening = _FENCE.match(line)
        if opening is not None:
            yield _part(block)
            fence, language, block = opening.group(1), opening.group(2).casefold(), []
            continue
        for code in _code_in(line, block, number):
            block.append((number, code))
    yield _part(block, _LANGUAGES.get(language, "") if fence else "")


def _code_in(line: str, block: Sequence[tuple[int, str]], number: int) -> list[str]:
    """Return the pieces of code in a line outside of fenced blocks.

    Args:
        line: the line.
        block: the numbers and texts of the code before the line.
        number: the number of the line.
    """
    if block and block[-1][0] == number - 1 and continued(block[-1][1]).endswith("\\"):
        return [line]
    if PROGRAM.search(line) is None or len(line) > _LONGEST:
        return []
    spans = [found.group(2) or found.group(3) for found in _INLINE.finditer(line)]
    programs = [span.strip() for span in spans if PROGRAM.search(span)]
    if programs:
        return programs
    if _INDENTED.match(line):
        return [line]
    row = line.lstrip().startswith("|")
    return [each for each in map(_without_prompt, line.split("|") if row else [line]) if _is_call(each)]


def _without_prompt(text: str) -> str:
    return _PROMPT.sub("", text)


def _is_call(text: str) -> bool:
    words = text.split(maxsplit=1)
    return bool(words) and tool_of(words[0]) is not None


def _part(block: Sequence[tuple[int, str]], suffix: str = "") -> _CodeLines:
    code = dedent("\n".join(line for _, line in block)).split("\n")
    return _CodeLines(code, [number for number, _ in block], suffix)


def _notebook(text: str) -> Iterator[_CodeLines]:
    """Yield the code in the cells of a notebook: the lines of a shell, and the lines of Python."""
    decoder = json.JSONDecoder()
    ends = [found.start() for found in re.finditer("\n", text)]
    cells = _CELLS.search(text)
    end = len(text) if cells is None else cells.end()
    while (first := _NEXT_CELL.search(text, end)) is not None:
        start = first.start()
        try:
            cell, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):  # the end of the list, or no JSON
            return
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            # Outputs can contain the same key, but come before the code.
            place = max(text.rfind('"source"', start, end), start)
            yield from _cell(*_numbered(cell.get("source"), text, place, ends))


def python_of_notebook(text: str) -> str:
    """Return the Python code of a notebook.  Each line has the same number as in the notebook file.

    A cell that is not valid Python is left out.  If one line of the file contains several lines of code, the
    numbers of the later lines are too large.
    """
    lines: list[str] = []
    for part in _notebook(text):
        if part.suffix == ".py" and nodes_of("\n".join(part.lines)) is not None:
            for number, line in zip(part.numbers, part.lines, strict=True):
                lines += [""] * (number - 1 - len(lines))
                lines.append(line)
    return "\n".join(lines)


def _numbered(source: Any, text: str, position: int, ends: Sequence[int]) -> tuple[list[str], list[int]]:
    """Return the lines of code of a cell, and the number of each line in the notebook.

    Args:
        source: the code: a text, or a list of texts.
        text: the notebook.
        position: the position of the code in the notebook.
        ends: the positions of the ends of lines in the notebook.
    """
    pieces = [each for each in (source if isinstance(source, list) else [source]) if isinstance(each, str)]
    numbers: list[int] = []
    for piece in pieces:
        code = json.dumps(piece, ensure_ascii=False)
        found = text.find(code, position, position + len(code) + _LONGEST_CELL)
        position = position if found < 0 else found + len(code)
        numbers += [bisect_left(ends, position) + 1] * len(piece.splitlines())
    lines = "".join(pieces).splitlines()
    return lines, numbers[: len(lines)]


def _cell(lines: Sequence[str], numbers: Sequence[int]) -> Iterator[_CodeLines]:
    if lines and _SHELL_CELL.match(lines[0]):
        yield _CodeLines(lines[1:], numbers[1:])
        return
    shell: list[str] = []
    python: list[str] = []
    continues = False
    for line in lines:
        bare = line.lstrip()
        escape = None if continues else _ESCAPE.match(bare)
        of_shell = continues or (escape is not None and escape.group("shell") is not None)
        shell.append(bare[0 if escape is None else escape.end() :] if of_shell else "")
        if escape is not None:
            target = escape.group("target")
            python.append(line[: len(line) - len(bare)] + (f"{target}None" if target else "pass"))
        else:
            python.append("" if continues else line)
        continues = of_shell and line.rstrip().endswith("\\")
    yield _CodeLines(shell, numbers)
    yield _CodeLines(python, numbers, ".py")
