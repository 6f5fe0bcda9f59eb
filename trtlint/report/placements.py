"""Table of the nodes of a model, each with the engine layers that compute the node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.cells import cell_len, set_cell_size

from trtlint.facts.of_build.placement import Placement
from trtlint.report.escape import clean
from trtlint.report.layout import shorten_middle

_WIDEST = (40, 20, 56, 9, 44, 10)
"""Largest width of each column, in cells."""
_HEAD = ("node", "operator", "layer", "precision", "format", "ms")
_NOTE = (
    "times are for the whole layer; '(in)' marks a node that only changes the layout, inside another layer; "
    "'shape' marks a node that computes sizes, outside the layers; '-' marks a node that no layer names, for "
    "example after constant folding"
)


def table(placements: Iterable[Placement]) -> Iterator[str]:
    """Yield the lines of the table, or nothing if there are no nodes."""
    rows = [_row(placement) for placement in placements]
    if not rows:
        return
    widths = [
        min(limit, max(cell_len(row[column]) for row in (_HEAD, *rows)))
        for column, limit in enumerate(_WIDEST)
    ]
    for row in (_HEAD, *rows):
        shown = ((shorten_middle(text, width), width) for text, width in zip(row, widths, strict=True))
        cells = (set_cell_size(text, width) for text, width in shown)
        yield "  ".join(cells).rstrip()
    yield _NOTE


def _row(placement: Placement) -> tuple[str, ...]:
    node = placement.node
    layer = placement.layers[-1] if placement.layers else "shape" if placement.shape else "-"
    if placement.absorbed:
        layer = f"(in) {layer}"
    more = f" +{len(placement.layers) - 1}" if len(placement.layers) > 1 else ""
    return (
        clean(placement.place),
        "" if node is None else clean(node.op),
        clean(shorten_middle(layer, _WIDEST[2] - len(more)) + more),
        placement.precision or "",
        clean(placement.format or ""),
        "" if placement.ms is None else f"{placement.ms:.4g}",
    )
