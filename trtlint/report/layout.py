"""Text layout for terminals: shortened names and hanging indents.

A width is a number of terminal cells. The width None stands for output to a file or pipe. Text in a file or
pipe is never wrapped or shortened, so that users can search it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len, chop_cells
from rich.text import Text

from trtlint.report.names import last_component

ELLIPSIS = "…"
_ELIDED = 2
"""Width in cells of ``…/``, which replaces a folder path if no part of the path fits."""
_NARROWEST = 20
"""Smallest width of a text beside its label, in cells. With less room, the text is below the label."""
_MARGIN = 8
"""Indent of a text below its label, in cells."""


def shorten(names: Sequence[str], width: int | None) -> list[str]:
    """Shorten node paths to ``width`` cells, by removing parts in the middle.

    Paths with the same parent are shortened in the same way.

    >>> shorten(["/model/encoder/layers.0/attention/MatMul"], 30)
    ['/model/…/attention/MatMul']
    """
    if width is None or all(cell_len(name) <= width for name in names):
        return list(names)
    lasts = [last_component(name) for name in names]
    room = width - max(map(cell_len, lasts))
    short = []
    for name, last in zip(names, lasts, strict=True):
        folder = _folder(name[: len(name) - len(last)], room)
        short.append(folder + shorten_middle(last, width - cell_len(folder)))
    return short


def _folder(path: str, width: int) -> str:
    """Shorten the parent path of a node: keep the first part, and as many of the last parts as fit."""
    if cell_len(path) <= width:
        return path
    parts = path.rstrip("/").split("/")
    first = 2 if path.startswith("/") else 1
    for begin in ("/".join(parts[:first]) + "/", ""):
        # Every part takes at least two cells, so only the last parts of a very long path can fit.
        for kept in range(max(first, len(parts) - width), len(parts)):
            folder = "/".join([begin + ELLIPSIS, *parts[kept + 1 :], ""])
            if cell_len(folder) <= width:
                return folder
    return f"{ELLIPSIS}/" if width >= _ELIDED else ""


def shorten_middle(text: str, width: int) -> str:
    """Shorten a text in the middle, because names usually differ at their ends."""
    if cell_len(text) <= width:
        return text
    room = max(width - cell_len(ELLIPSIS), 2)
    front = chop_cells(text, room - room // 2)[0]
    back = chop_cells(text[::-1], room // 2)[0][::-1]
    return f"{front}{ELLIPSIS}{back}"


def hang(first: Text, body: Text, width: int | None, *, rest: Text | None = None) -> list[Text]:
    """Wrap ``body`` after ``first``, with a hanging indent.

    A word longer than a line, such as a URL, is never broken, so users can copy it.

    Args:
        first: the text before the body on the first line.
        body: the text to wrap.
        width: cells of a line; None for one unlimited line.
        rest: the text before the body on further lines, as wide as ``first``; blanks by default.
    """
    indent = cell_len(first.plain)
    if width is None or indent + cell_len(body.plain) <= width:
        return [first + body]
    rest = Text(" " * indent) if rest is None else rest
    if width - indent < _NARROWEST:
        margin = rest.copy()
        margin.truncate(min(indent, _MARGIN))
        return [first, *(margin + line for line in _wrap(body, max(width - _MARGIN, _NARROWEST)))]
    return [(rest if i else first) + line for i, line in enumerate(_wrap(body, width - indent))]


def _wrap(text: Text, width: int) -> list[Text]:
    """Break a text between words into lines of at most ``width`` cells. A longer word is not broken.

    :meth:`rich.text.Text.wrap` either breaks long words or does not wrap at all.
    """
    breaks, used = [], 0
    for word in _WORD.finditer(text.plain):
        if used and used + cell_len(word[0].rstrip()) > width:
            breaks.append(word.start())
            used = 0
        used += cell_len(word[0])
    lines = list(text.divide(breaks))
    for line in lines:
        line.rstrip()
    return lines


_WORD = re.compile(r"\S+\s*")
