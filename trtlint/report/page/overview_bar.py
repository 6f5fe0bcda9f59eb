"""Overview bar of a whole model: its nodes in topological order, with findings and times.

The number of cells in the bar is limited, so a cell can stand for several nodes.  Positions are percentages
of the page width, so the bar is as wide as the page. The texts in the bar have a fixed size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from trtlint.engine.finding import SEVERITIES, Severity
from trtlint.facts.figures import figure
from trtlint.model.origin import origin
from trtlint.report.counts import plural
from trtlint.report.escape import clean
from trtlint.report.page.markup import Markup, tag
from trtlint.report.page.picture import COLOURS, GROUND, LINE, MUTED

if TYPE_CHECKING:
    from trtlint.report.page.behind import PageData
    from trtlint.report.page.card import CardEntry

_CELLS = 200
"""Largest number of cells of a bar."""
_MOST_SITES = 20_000
"""Largest number of sites read from one finding."""
_DEEPEST = 4
"""Largest number of module path components that the label of a band shows."""
_LONGEST = 200
"""Largest number of characters of a module name."""
_MOSTLY = 0.7
"""A band that is wider than this share of the bar is divided into one band for each submodule."""
_CHARACTER = 0.6
"""Percentage of the bar that one character of a label takes on a page of usual width."""
_MARKS: Mapping[Severity, str] = {"error": COLOURS["error"], "warning": "#c47a00", "note": COLOURS["note"]}
"""Colours of cells with findings. These cells have no text."""
_BARS = 34
"""Height of the highest bar of the times, in pixels."""
_TRACK = 16
"""Height of the cells, in pixels."""
_BANDS = 18
"""Height of the bands of modules, in pixels."""
_GAP = 4


def strip(behind: PageData, marked: Sequence[CardEntry], number: str) -> Markup | None:
    """Draw the overview bar of a model as SVG. Return None for a model without nodes.

    Args:
        behind: data about the model.
        marked: the findings of the model, the most severe first.
        number: prefix that makes the element ids unique on the page.
    """
    nodes = len(behind.nodes)
    if not nodes:
        return None
    cells = min(nodes, _CELLS)
    times = _times(behind, cells)
    top = _BARS + _GAP if times else 0
    bands = list(_bands(behind, cells, top + _TRACK + _GAP))
    height = top + _TRACK + (_GAP + _BANDS if bands else 0)
    return tag(
        "svg",
        tag("title", "The whole model", id=f"{number}t"),
        tag("desc", _words(behind, marked, nodes), id=f"{number}d"),
        list(_bars(times, cells)),
        tag("rect", y=top, width="100%", height=_TRACK, rx=3, fill=GROUND, stroke=LINE, class_="w"),
        list(_cells(_gravest(marked, nodes, cells), cells, top)),
        bands,
        role="img",
        aria_labelledby=f"{number}t {number}d",
        width="100%",
        height=height,
        font_size=11,
        font_family="system-ui,sans-serif",
        class_="strip",
    )


def _words(behind: PageData, marked: Sequence[CardEntry], nodes: int) -> str:
    places = sum(len(each.finding.sites) for each in marked)
    timed = f"; the layers take {figure(sum(behind.times.values()))} ms" if behind.times else ""
    found = f"{plural(len(marked), 'finding')} at {plural(places, 'place')}"
    return f"{plural(nodes, 'node')} from the inputs on the left to the outputs on the right; {found}{timed}."


def _gravest(marked: Sequence[CardEntry], nodes: int, cells: int) -> dict[int, CardEntry]:
    """Map the number of each cell that has findings to the most severe finding in the cell."""
    found: dict[int, CardEntry] = {}
    for each in sorted(marked, key=lambda one: SEVERITIES.index(one.finding.severity)):
        for site in each.finding.sites[:_MOST_SITES]:
            rows = [row for row in site.rows if row.label] or site.rows
            for row in rows:
                if row.index is not None and 0 <= row.index < nodes:
                    found.setdefault(row.index * cells // nodes, each)
    return found


def _cells(found: Mapping[int, CardEntry], cells: int, top: float) -> Iterator[Markup]:
    """Draw the cells with findings.  Each cell links to its finding.

    Neighbouring cells with the same finding are drawn as one cell.
    """
    start = 0
    for each, run in groupby(map(found.get, range(cells))):
        length = sum(1 for _ in run)
        if each is not None:
            finding = each.finding
            place = tag(
                "rect",
                x=_percent(start, cells),
                y=top,
                width=_percent(length, cells),
                height=_TRACK,
                fill=_MARKS[finding.severity],
                class_=f"t-{finding.severity}",
            )
            title = tag("title", f"{finding.severity}: {finding.rule} {finding.name}")
            yield tag("a", title, place, href=f"#{each.id}", tabindex=-1)
        start += length


def _times(behind: PageData, cells: int) -> list[float]:
    """Return the time of the nodes in each cell in milliseconds, or an empty list if none was measured."""
    if not behind.times:
        return []
    found = [0.0] * cells
    for node, ms in behind.times.items():
        found[node.index * cells // len(behind.nodes)] += ms
    return found


def _bars(times: Sequence[float], cells: int) -> Iterator[Markup]:
    highest = max(times, default=0.0)
    for cell, ms in enumerate(times):
        tall = _BARS * ms / highest if highest else 0.0
        if tall >= 0.5:
            yield tag(
                "rect",
                x=_percent(cell, cells),
                y=f"{_BARS - tall:.1f}",
                width=_percent(0.85, cells),
                height=f"{tall:.1f}",
                fill="#6b7588",
                class_="h",
            )


def _bands(behind: PageData, cells: int, top: float) -> Iterator[Markup]:
    """Draw a band below the cells of each module, with the module's name if there is room."""
    model, nodes = behind.facts.model, behind.nodes
    modules = [
        tuple((origin(model, nodes[(2 * cell + 1) * len(nodes) // (2 * cells)]).module or "").split("."))
        for cell in range(cells)
    ]
    depth = 1
    while depth < _DEEPEST and _widest(modules, depth) > _MOSTLY * cells:
        depth += 1
    start = 0
    for band, (name, run) in enumerate(groupby(".".join(module[:depth]) for module in modules)):
        length = sum(1 for _ in run)
        x, width = _percent(start, cells), _percent(length, cells)
        start += length
        if not name:
            continue
        shown = clean(name[:_LONGEST])
        colour = GROUND if band % 2 else LINE
        yield tag(
            "rect",
            tag("title", shown),
            x=x,
            y=top,
            width=width,
            height=_BANDS,
            fill=colour,
            class_=f"n{band % 2}",
        )
        room = int(100 * length / cells / _CHARACTER) - 1
        label = next((words for words in (shown, shown.rpartition(".")[2]) if len(words) <= room), "")
        if label:
            yield tag("text", label, x=x, dx=4, y=top + 13, fill=MUTED, class_="q n")


def _widest(modules: Sequence[tuple[str, ...]], depth: int) -> int:
    """Return the largest number of neighbouring cells whose nodes are in the same module.

    Args:
        modules: the module of the nodes in each cell, as components of its path.
        depth: the number of components to compare.
    """
    return max(sum(1 for _ in run) for _, run in groupby(module[:depth] for module in modules))


def _percent(part: float, cells: int) -> str:
    return f"{100 * part / cells:.2f}%"
