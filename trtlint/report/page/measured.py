"""Tables of the measurements of a model: the slowest layers, and tensors outside the range of a type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trtlint.facts.figures import figure
from trtlint.report.counts import plural
from trtlint.report.page.markup import Content, Markup, clipped, scrolling, tag

if TYPE_CHECKING:
    from trtlint.measurement.measurement import Measurement
    from trtlint.report.page.behind import PageData

_ROWS = 12
"""Largest number of listed layers and tensors."""


def measured(behind: PageData) -> Iterator[Markup]:
    """Yield the tables, or nothing if the model was not measured."""
    if behind.layers:
        yield _layers(behind)
    found = behind.facts.measurement
    if found is not None:
        yield _ranges(found)


def _layers(behind: PageData) -> Markup:
    whole = sum(layer.ms or 0.0 for layer in behind.layers)
    rows: list[list[Content]] = [
        [
            tag("code", clipped(layer.name, 160)),
            layer.precision,
            _of_nodes(layer.nodes[0].path, len(layer.nodes)) if layer.nodes else None,
            tag("strong", figure(layer.ms or 0.0)),
            f"{layer.share:.0%}" if layer.share is not None else None,
        ]
        for layer in behind.layers[:_ROWS]
    ]
    words = f"{plural(len(behind.layers), 'layer')} take {figure(whole)} ms"
    return _folded(words, ["Layer", "Type", "Nodes", "ms", "Share"], rows, 3)


def _of_nodes(first: str, count: int) -> Content:
    return [tag("code", clipped(first, 120)), f" and {plural(count - 1, 'more node')}" if count > 1 else None]


def _ranges(found: Measurement) -> Markup:
    beyond = [site for site in found.sites if site.fits != "ok"]
    beyond.sort(key=lambda site: (not site.origin, -site.greatest))
    rows: list[list[Content]] = [
        [
            tag("code", clipped(site.node or site.tensor, 160)),
            site.op,
            "overflow begins here" if site.origin else None,
            site.fits,
            tag("strong", "not finite" if site.max_abs is None else figure(site.greatest)),
        ]
        for site in beyond[:_ROWS]
    ]
    leave = f"{len(beyond):,} of {plural(len(found.sites), 'tensor')} leave the range of {found.type.upper()}"
    words = f"{leave}, measured on {found.on}"
    return _folded(words, ["Node", "Operator", "", "Problem", "Greatest magnitude"], rows, 4)


def _folded(words: str, heads: list[str], rows: list[list[Content]], figures: int) -> Markup:
    """Return a table that the reader can collapse.  The columns from index ``figures`` on are numbers."""
    if not rows:
        return tag("p", words, class_="notes")

    def side(column: int) -> str | None:
        return "figure" if column >= figures else None

    head = tag("tr", [tag("th", text, scope="col", class_=side(column)) for column, text in enumerate(heads)])
    body = [
        tag("tr", [tag("td", cell, class_=side(column)) for column, cell in enumerate(row)]) for row in rows
    ]
    table = tag("table", tag("thead", head), tag("tbody", body))
    return tag(
        "details",
        tag("summary", words),
        scrolling(table, words, "region", "table"),
        open="",
    )
