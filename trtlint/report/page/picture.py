"""Picture of a finding's nodes as SVG, readable even without the style sheet of the page.

Colours are SVG presentation attributes. These attributes work even if a security policy forbids inline
styles.  The style sheet overrides the colours for dark themes and for printing.  The widths of texts are
estimates, which tend to be too large.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from trtlint.engine.finding import Severity
from trtlint.report.escape import clean
from trtlint.report.layout import shorten
from trtlint.report.page.block import Box, SiteDiagram, words
from trtlint.report.page.layers import Layout, generations, layout
from trtlint.report.page.markup import Content, Markup, tag

_MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
_SANS = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"
INK, MUTED, LINE, SURFACE, GROUND = "#1b2130", "#566074", "#c3cad6", "#ffffff", "#f4f6f9"
Colour = Severity | Literal["good"]
"""Meaning of a colour."""
COLOURS: Mapping[Colour, str] = {
    "error": "#b3261e",
    "warning": "#8a5200",
    "note": "#1f5fa8",
    "good": "#1c6b3c",
}
"""Colours on a light background."""
TINTS: Mapping[Colour, str] = {
    "error": "#fdeceb",
    "warning": "#fff3dc",
    "note": "#e8f1fc",
    "good": "#e4f4ea",
}
_NARROWEST, _WIDEST = 132.0, 248.0
"""Smallest and largest width of a box, in pixels."""
_WIDE = 900.0
"""Largest width, in pixels, of a picture that may shrink. A wider picture scrolls in its frame."""
_PAD = 10.0
"""Distance between the text and the edge of a box, in pixels."""
_MARGIN = 10.0
"""Distance between the boxes and the edge of the picture, in pixels."""
_MOST_LINES = 4
"""Largest number of lines of a text in a box."""
_LONGEST = 400
"""Largest number of characters of a text in a box."""
_LONGEST_DESC = 1200
"""Largest number of characters of the text description."""
_MOST_VIA = 3
"""Largest number of operators that the picture names on a line with hidden nodes."""


class _Font(Struct, frozen=True):
    """A font, with its size, its line height and the width of a character in pixels."""

    size: float
    height: float
    cell: float

    def width(self, text: str) -> float:
        from rich.cells import cell_len

        return cell_len(text) * self.cell

    def fitting(self, width: float) -> int:
        return int(width / self.cell)


_OP = _Font(13, 17, 8.1)
_NAME = _Font(11, 15, 6.65)
_DETAIL = _Font(11, 15, 6.2)
_LABEL = _Font(11.5, 16, 6.8)
_VIA = _Font(10.5, 14, 6.4)


class _DrawnBox(Struct, frozen=True):
    """A box with its lines of text and their fonts, and the size of the box in pixels."""

    kind: str
    title: str
    texts: tuple[tuple[_Font, str], ...]
    width: float
    height: float


def picture(block: SiteDiagram, colour: Colour, title: str, number: str) -> Markup:
    """Draw the nodes of a finding as SVG.

    Args:
        block: the boxes and lines.
        colour: colour of the marked boxes.
        title: title of the picture.
        number: prefix that makes the element ids unique on the page.
    """
    boxes, lines = _pieces(block)
    laid = layout(generations(len(boxes), lines), lines, [(box.width, box.height) for box in boxes])
    width, height = laid.width + 2 * _MARGIN, laid.height + 2 * _MARGIN
    described = words(block)
    if len(described) > _LONGEST_DESC:
        described = described[:_LONGEST_DESC] + " …"
    ends = list(_strokes(boxes, lines, laid))
    return tag(
        "svg",
        tag("title", title, id=f"{number}t"),
        tag("desc", described, id=f"{number}d"),
        tag("rect", width=_n(width), height=_n(height), rx=8, fill=GROUND, class_="g"),
        tag(
            "g",
            tag(
                "path",
                d=" ".join(line for line, _ in ends),
                fill="none",
                stroke="#6b7588",
                stroke_width=1.3,
                class_="e",
            ),
            tag("path", d=" ".join(head for _, head in ends if head), fill="#6b7588", class_="h"),
            [_box(box, laid.boxes[index], colour) for index, box in enumerate(boxes)],
            transform=f"translate({_n(_MARGIN)} {_n(_MARGIN)})",
        ),
        role="img",
        aria_labelledby=f"{number}t {number}d",
        width=_n(width),
        height=_n(height),
        viewBox=f"0 0 {_n(width)} {_n(height)}",
        font_family=_SANS,
        font_size=11,
        class_="wide" if width > _WIDE else None,
    )


def _pieces(block: SiteDiagram) -> tuple[list[_DrawnBox], list[tuple[int, int]]]:
    """Return the boxes and the lines to draw.

    If a line has hidden nodes, the line becomes two lines with a box between them. The box names the hidden
    operators.
    """
    boxes = [_drawn(box) for box in block.boxes]
    lines: list[tuple[int, int]] = []
    for line in block.lines:
        if not line.via:
            lines.append((line.source, line.target))
            continue
        ops = [clean(op) for op in line.via]
        shown = " · ".join(ops[:_MOST_VIA]) + (f" +{len(ops) - _MOST_VIA}" if len(ops) > _MOST_VIA else "")
        lines += [(line.source, len(boxes)), (len(boxes), line.target)]
        shown = _cut(shown, _VIA, _WIDEST)
        boxes.append(
            _DrawnBox("via", " · ".join(ops), ((_VIA, shown),), _VIA.width(shown) + 16, _VIA.height + 6)
        )
    return boxes, lines


def _drawn(box: Box) -> _DrawnBox:
    room = _WIDEST - 2 * _PAD
    name = shorten([clean(box.name)], _NAME.fitting(room))[0]
    texts: list[tuple[_Font, str]] = [(_OP, _cut(clean(box.op), _OP, room)), (_NAME, name)]
    if box.type:
        texts.append((_NAME, _cut(clean(box.type), _NAME, room)))
    for font, said in ((_DETAIL, box.detail), (_DETAIL, box.measured), (_LABEL, box.label)):
        texts += [(font, line) for line in _wrapped(clean(said), font, room)]
    widest = max(font.width(text) for font, text in texts)
    width = min(max(widest + 2 * _PAD, _NARROWEST), _WIDEST)
    kind = "mark" if box.label else box.kind
    height = sum(font.height for font, _ in texts) + 12
    return _DrawnBox(kind, clean(box.name), tuple(texts), width, height)


def _wrapped(text: str, font: _Font, room: float) -> list[str]:
    text = text[:_LONGEST]
    return textwrap.wrap(text, font.fitting(room), max_lines=_MOST_LINES, placeholder=" …") if text else []


def _cut(text: str, font: _Font, room: float) -> str:
    most = font.fitting(room)
    return text if font.width(text) <= room else f"{text[: most - 1]}…"


def _box(box: _DrawnBox, at: tuple[float, float], colour: Colour) -> Markup:
    """Draw a box with its texts.  ``at`` is the middle of the upper edge of the box."""
    x, y = at[0] - box.width / 2, at[1]
    place = f"translate({_n(x)} {_n(y)})"
    if box.kind == "via":
        ((font, text),) = box.texts
        return tag(
            "g",
            tag("title", box.title),
            tag(
                "rect",
                width=_n(box.width),
                height=_n(box.height),
                rx=10,
                fill=GROUND,
                stroke=LINE,
                class_="w",
            ),
            tag(
                "text",
                text,
                x=_n(box.width / 2),
                y=14,
                text_anchor="middle",
                fill=MUTED,
                font_size=font.size,
                class_="q",
            ),
            transform=place,
        )
    marked = box.kind == "mark"
    fill, stroke = (TINTS[colour], COLOURS[colour]) if marked else (SURFACE, LINE)
    frame = tag(
        "rect",
        width=_n(box.width),
        height=_n(box.height),
        rx=6,
        fill=fill if box.kind != "outside" else "none",
        stroke=stroke,
        stroke_width=2 if marked else 1,
        stroke_dasharray="4 3" if box.kind == "outside" else None,
        class_={"mark": "k", "outside": "s"}.get(box.kind, "b"),
    )
    return tag("g", tag("title", box.title), frame, _texts(box, COLOURS[colour]), transform=place)


def _texts(box: _DrawnBox, label: str) -> Iterator[Content]:
    y = 6.0
    for font, text in box.texts:
        y += font.height
        ink, class_ = (MUTED, "q") if font in (_NAME, _DETAIL) or box.kind == "outside" else (INK, "i")
        if font is _LABEL:
            ink, class_ = label, "c"
        yield tag(
            "text",
            text,
            x=_n(_PAD),
            y=_n(y - 4),
            fill=ink,
            font_size=None if font.size == 11 else font.size,
            font_family=_MONO if font is _NAME else None,
            font_weight=600 if font in (_OP, _LABEL) else None,
            class_=class_,
        )


def _strokes(
    boxes: Sequence[_DrawnBox], lines: Sequence[tuple[int, int]], laid: Layout
) -> Iterator[tuple[str, str]]:
    """Yield, for each line, the SVG path of the line and the SVG path of its arrow head.

    Several lines at one box are ordered from left to right, like the boxes at their other ends.
    """
    leave = _ports(boxes, lines, laid, 0)
    reach = _ports(boxes, lines, laid, 1)
    for line in lines:
        source, target = line
        x, y = leave[line], laid.boxes[source][1] + boxes[source].height
        path = [f"M{_n(x)} {_n(y)}"]
        end_x, end_y = reach[line], laid.boxes[target][1]
        pointed = boxes[target].kind != "via"
        stops = [*laid.lines[line], (end_x, end_y - (6 if pointed else 0), end_y)]
        for stop_x, top, bottom in stops:
            middle = (y + top) / 2
            path.append(f"C{_n(x)} {_n(middle)} {_n(stop_x)} {_n(middle)} {_n(stop_x)} {_n(top)}")
            if bottom > top and (stop_x, top, bottom) != stops[-1]:
                path.append(f"V{_n(bottom)}")
            x, y = stop_x, bottom
        head = f"M{_n(end_x)} {_n(end_y)}l-4 -7h8z" if pointed else ""
        yield "".join(path), head


def _ports(
    boxes: Sequence[_DrawnBox], lines: Sequence[tuple[int, int]], laid: Layout, end: int
) -> dict[tuple[int, int], float]:
    """Return the horizontal positions where lines leave (``end`` 0) or reach (``end`` 1) their boxes."""
    found: dict[tuple[int, int], float] = {}
    for index, box in enumerate(boxes):
        middle = laid.boxes[index][0]
        mine = [line for line in lines if line[end] == index]

        def towards(line: tuple[int, int]) -> float:
            passed = laid.lines[line]
            return passed[-1 if end else 0][0] if passed else laid.boxes[line[1 - end]][0]

        mine.sort(key=towards)
        step = min(26.0, (box.width - 24) / max(len(mine), 1))
        for place, line in enumerate(mine):
            found[line] = middle + (place - (len(mine) - 1) / 2) * step
    return found


def _n(number: float) -> str:
    """Format a length in pixels, rounded to tenths."""
    return f"{number:.1f}".removesuffix(".0")
