"""Draw, as a bar and as text, the parts of a model that an execution provider of ONNX Runtime runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from trtlint.engine.finding import ModelReport
from trtlint.report.page.behind import PageData
from trtlint.report.page.markup import Markup, clipped, tag
from trtlint.report.partition import lines_of_targets, partition_in

_WIDTH, _HEIGHT = 1000, 22
_COLOURS = ("#2f6fb0", "#4f9a52", "#8a5fb5", "#c98a1b", "#2f9aa0", "#b0527f")
"""Colours that the parts get in turn, so that neighbouring parts have different colours."""
_LEFT = "#c0392b"
_MOST_SEGMENTS = 2000


def parts_of(reports: Sequence[ModelReport], behind: PageData | None) -> Markup | None:
    """Return a figure of the parts: a bar for the first target, and text for all targets.

    A part is a set of nodes that the execution provider runs. Return None if no provider was given.
    """
    lines = [*lines_of_targets(reports)]
    if not lines:
        return None
    segments = [*_segments(reports, behind)]
    total = sum(count for _, count in segments)
    rects, x = [], 0.0
    for colour, count in segments[:_MOST_SEGMENTS]:
        width = _WIDTH * count / total
        rects.append(tag("rect", x=round(x, 2), y=0, width=round(width, 2), height=_HEIGHT, fill=colour))
        x += width
    bar = tag("svg", rects, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_label="Parts", class_="strip")
    words = "Nodes in graph order: one colour for each part, red for nodes on another provider"
    listed = tag("ul", [tag("li", clipped(line.strip(), 400)) for line in lines], class_="notes")
    return tag("figure", bar, tag("figcaption", words), listed, class_="strip-box")


def _segments(reports: Sequence[ModelReport], behind: PageData | None) -> Iterator[tuple[str, int]]:
    """Yield the segments of the bar: colour, and number of nodes.

    A segment is a sequence of nodes in the same part of the model.
    """
    found = next((data for report in reports if (data := partition_in(report)) is not None), None)
    if found is None:
        return
    part_of = {path: number for number, part in enumerate(found["parts"]) for path in part}
    left = set(found["left"])
    if behind is None:
        order = [path for part in found["parts"] for path in part] + found["left"]
    else:
        order = [node.path for node in behind.nodes if node.path in part_of or node.path in left]
    for number, run in groupby(order, key=part_of.get):
        yield (_LEFT if number is None else _COLOURS[number % len(_COLOURS)]), len(list(run))
