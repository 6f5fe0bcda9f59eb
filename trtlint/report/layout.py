"""Fitting text into a terminal: shortened names, hanging indents.

A width is a number of terminal cells; None stands for output that is not a terminal and is never
wrapped or shortened, so that it can be searched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len, chop_cells
from rich.text import Text

from trtlint.report.names import last_component

ELLIPSIS = "…"
_ELIDED = 2
"""Cells of a folder of which nothing is left."""
_NARROWEST = 20
"""Cells that wrapped text gets at the least; below that it goes to lines of its own."""
_MARGIN = 8
"""Cells before text that got lines of its own."""


def shorten(names: Sequence[str], width: int | None) -> list[str]:
    """Node paths that fit into ``width`` cells, elided in the middle, their last parts kept.

    Paths of one folder are elided in the same way.

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
        short.append(folder + _middle(last, width - cell_len(folder)))
    return short


def _folder(path: str, width: int) -> str:
    """The path of a folder with its slash, its first and as many of its last parts as fit."""
    if cell_len(path) <= width:
        return path
    parts = path.rstrip("/").split("/")
    first = 2 if path.startswith("/") else 1
    for begin in ("/".join(parts[:first]) + "/", ""):
        # Every part takes a cell and a slash, so that of a path with very many only the last can stay.
        for kept in range(max(first, len(parts) - width), len(parts)):
            folder = "/".join([begin + ELLIPSIS, *parts[kept + 1 :], ""])
            if cell_len(folder) <= width:
                return folder
    return f"{ELLIPSIS}/" if width >= _ELIDED else ""


def _middle(text: str, width: int) -> str:
    """A text whose middle is left out where it is too long."""
    if cell_len(text) <= width:
        return text
    room = max(width - cell_len(ELLIPSIS), 2)
    front = chop_cells(text, room - room // 2)[0]
    back = chop_cells(text[::-1], room // 2)[0][::-1]
    return f"{front}{ELLIPSIS}{back}"


def hang(first: Text, body: Text, width: int | None, *, rest: Text | None = None) -> list[Text]:
    """The lines of ``first`` followed by ``body``, wrapped at ``width`` below its own beginning.

    A word longer than a line, such as a URL, is never broken, so that it can be copied.

    Args:
        first: what stands before the body on the first line.
        body: the text to wrap.
        width: cells of a line, None for one endless line.
        rest: what stands before the body on the other lines, in as many cells; blanks if not given.
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
    """The text broken between words into lines of at most ``width`` cells, where words allow it.

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
