"""Fitting text into a terminal: shortened names, hanging indents.

A width is a number of terminal cells; None stands for output that is not a terminal and is never
wrapped or shortened, so that it can be searched.
"""

from __future__ import annotations

import re

from rich.cells import cell_len, chop_cells
from rich.text import Text

from trtlint.report.names import last_component

ELLIPSIS = "…"
_NARROWEST = 20
"""Cells that wrapped text gets at the least; below that it goes to lines of its own."""
_MARGIN = 8
"""Cells before text that got lines of its own."""


def shorten(name: str, width: int | None) -> str:
    """A node path that fits into ``width`` cells, elided in the middle, its last part kept.

    >>> shorten("/model/encoder/layers.0/attention/self/MatMul", 24)
    '/model/encoder/…/MatMul'
    """
    if width is None or cell_len(name) <= width:
        return name
    last = last_component(name)
    parts = name[: len(name) - len(last)].rstrip("/").split("/")
    tail = f"{ELLIPSIS}/{last}"
    head = ""
    for part in parts:
        longer = f"{head}{part}/"
        if cell_len(longer + tail) > width:
            break
        head = longer
    if cell_len(head + tail) <= width:
        return head + tail
    room = max(width - cell_len(ELLIPSIS), 2)
    front, back = chop_cells(last, room - room // 2)[0], chop_cells(last[::-1], room // 2)[0][::-1]
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
