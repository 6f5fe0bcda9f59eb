"""Text drawing of the nodes of a finding: one line for each node, with carets under the marked nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.cells import cell_len
from rich.text import Text

from trtlint.engine.finding import Row
from trtlint.report.escape import clean
from trtlint.report.layout import hang, shorten
from trtlint.report.names import last_component

_ROWS = 8
"""Largest number of drawn rows. Rows with labels are always drawn, even above this limit."""
_GUTTER = "   |"
_GAP = "  "
LONGEST = 30
"""Largest number of characters of a dimension that is shown without a short name."""
_LONGEST_LEGEND = 160
"""Largest number of characters of a dimension in the legend."""
_SYMBOL = re.compile(r"[A-Za-z]")


class Marks(Struct, frozen=True):
    """The nodes that one finding marks in a drawing.

    Attributes:
        rows: the nodes of the drawing, each with the label that the finding gives it.
        style: style of carets and labels.
        name: prefix of the labels; empty if the drawing has the marks of only one finding.
    """

    rows: Sequence[Row]
    style: str
    name: str = ""


def draw(marks: Sequence[Marks], width: int | None) -> list[Text]:
    """Draw the nodes of findings as text, with an empty line above and below.

    Args:
        marks: the marks of one or more findings. All findings have the same nodes, in data-flow order.
        width: cells of a line; None for unlimited lines and full names.

    Returns:
        The lines, or an empty list if there are no nodes.
    """
    rows = marks[0].rows
    if not rows:
        return []
    names = [clean(row.node) for row in rows]
    shown = kept([any(each.rows[i].label for each in marks) for i in range(len(rows))], _ROWS)
    widest = None if width is None else max(16, (width - len(_GUTTER)) * 2 // 5)
    drawn = dict(zip(shown, shorten([names[i] for i in shown], widest), strict=True))
    names = [drawn.get(i, name) for i, name in enumerate(names)]
    telling = all(row.op.lower() in last_component(row.node).lower() for row in rows)
    drawn_types, legend = shortened([clean(rows[i].type) for i in shown])
    types = dict(zip(shown, drawn_types, strict=True))
    columns = [
        [name, *([] if telling else [clean(row.op)]), types.get(i, "")]
        for i, (name, row) in enumerate(zip(names, rows, strict=True))
    ]
    widths = [max(cell_len(columns[i][c]) for i in shown) for c in range(len(columns[0]))]
    lines = [_gutter()]
    previous = -1
    for i in shown:
        if i != previous + 1:
            lines.append(_gutter("..."))
        previous = i
        lines += _row(columns[i], widths, clean(rows[i].detail), width)
        for label, style in _labels(marks, i):
            lines += _carets(names[i], clean(label), width, style)
    if previous != len(rows) - 1:
        lines.append(_gutter("..."))
    for entry in legend:
        lines += hang(_gutter(_GAP), Text(entry, style="dim"), width)
    lines.append(_gutter())
    return lines


def _labels(marks: Sequence[Marks], index: int) -> Iterator[tuple[str, str]]:
    """Yield the labels of the row at ``index``, each with its style.

    If several findings have the same label, the label is yielded once, with the names of the findings.
    """
    alike: dict[str, list[Marks]] = {}
    for each in marks:
        if each.rows[index].label:
            alike.setdefault(each.rows[index].label, []).append(each)
    for label, having in alike.items():
        names = ", ".join(dict.fromkeys(each.name for each in having if each.name))
        yield f"{names}: {label}" if names else label, having[0].style


def kept(marked: Sequence[bool], most: int) -> list[int]:
    """Return the indexes of the rows to draw: the labelled rows, and the rows next to them.

    Args:
        marked: for each row, true if it has a label.
        most: largest number of rows to draw. Labelled rows are drawn even above this limit.
    """
    labelled = [i for i, mark in enumerate(marked) if mark]
    if len(marked) <= most:
        return list(range(len(marked)))
    anchors = labelled or [0, len(marked) - 1]
    nearest = sorted(range(len(marked)), key=lambda i: (min(abs(i - a) for a in anchors), i))
    return sorted(nearest[: max(most, len(labelled))])


def _gutter(text: str = "") -> Text:
    line = Text(_GUTTER, style="bold blue")
    if text:
        line = Text.assemble(line, f"{_GAP}{text}")
    return line


def _row(cells: Sequence[str], widths: Sequence[int], detail: str, width: int | None) -> list[Text]:
    line = _gutter()
    for cell, cells_wide in zip(cells, widths, strict=True):
        line = Text.assemble(line, f"{_GAP}{cell}", " " * (cells_wide - cell_len(cell)))
    if not detail:
        line.rstrip()
        return [line]
    first = Text.assemble(line, _GAP)
    rest = Text.assemble(_gutter(), " " * (cell_len(first.plain) - len(_GUTTER)))
    lines = hang(first, Text(detail, style="dim"), width, rest=rest)
    for line in lines:
        line.rstrip()
    return lines


def _carets(name: str, label: str, width: int | None, style: str) -> list[Text]:
    """Return the lines below a node of the drawing: carets under the end of its name, and its label."""
    last = cell_len(last_component(name))
    before = cell_len(name) - last
    first = Text.assemble(_gutter(), " " * (len(_GAP) + before), (f"{'^' * last} ", style))
    rest = Text.assemble(_gutter(), " " * (cell_len(first.plain) - len(_GUTTER)))
    return hang(first, Text(label, style=style), width, rest=rest)


def shortened(types: Sequence[str]) -> tuple[list[str], list[str]]:
    """Replace long symbolic dimensions by short names. Return the types and the lines of the legend.

    >>> shortened(["f32[b,4,(((((((height - 1)//2)) + 1 - 1)//2)) + 1)]"])
    (['f32[b,4,h1]'], ['h1 = (((((((height - 1)//2)) + 1 - 1)//2)) + 1)'])
    """
    names: dict[str, str] = {}
    shown = []
    for text in types:
        head, bracket, rest = text.partition("[")
        if not bracket or len(rest) <= LONGEST or not rest.endswith("]"):
            shown.append(text)
            continue
        sizes = [_name(size, names) if len(size) > LONGEST else size for size in _split(rest[:-1])]
        shown.append(f"{head}[{','.join(sizes)}]")
    return shown, [f"{name} = {_cut(size)}" for size, name in names.items()]


def _name(size: str, names: dict[str, str]) -> str:
    symbol = _SYMBOL.search(size)
    letter = symbol[0].lower() if symbol else "n"
    return names.setdefault(size, f"{letter}{len(names) + 1}")


def _cut(size: str) -> str:
    return size if len(size) <= _LONGEST_LEGEND else f"{size[:_LONGEST_LEGEND]} ..."


def _split(text: str) -> list[str]:
    """Split a text at its commas, except inside parentheses."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]]
