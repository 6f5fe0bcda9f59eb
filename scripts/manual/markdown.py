"""Parts of Markdown for the dialect of the site."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

_FENCE = re.compile(r"^(?P<fence>`{3,})(?P<language>[\w-]+) +(?P<words>(?!title=).+)$")
_ITEM = re.compile(r"^(?:[-*] |\d+\. )")
_SPAN = re.compile(r"(`+[^`]*`+)")
_MARKS = re.compile(r"([\\*_<\[\]#])")


def plain(text: str) -> str:
    """Escape all markup in a text except code in backticks."""
    pieces = _SPAN.split(text)
    return "".join(piece if index % 2 else _MARKS.sub(r"\\\1", piece) for index, piece in enumerate(pieces))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table. Cells are Markdown without line ends."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(markdown: str) -> str:
    """Escape the vertical bars of a cell, except vertical bars in code."""
    pieces = _SPAN.split(markdown)
    return "".join(piece if index % 2 else piece.replace("|", "\\|") for index, piece in enumerate(pieces))


def portable(markdown: str) -> str:
    """Convert GitHub Markdown for the site.

    The text after the language of a code fence is removed, and lists get a blank line above them.
    """
    return "\n".join(_portable(markdown.splitlines())) + "\n"


def _portable(lines: Iterable[str]) -> Iterator[str]:
    fence, before = "", ""
    for line in lines:
        if fence:
            fence = "" if line.strip() == fence else fence
        elif match := _FENCE.match(line):
            fence = match["fence"]
            words = match["words"].replace('"', "'")
            line = f'{fence}{match["language"]} title="{words}"'
        elif line.startswith("```"):
            fence = line[: len(line) - len(line.lstrip("`"))]
        elif _ITEM.match(line) and before.strip() and not before.startswith(" ") and not _ITEM.match(before):
            yield ""
        yield line
        before = line
