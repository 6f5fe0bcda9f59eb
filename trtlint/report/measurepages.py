"""Report of a measurement as a document: verdict, errors, ranges, and nodes to keep in FP32."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from trtlint.case import facts_of
from trtlint.engine.evidence.ranges import RangeEvidence
from trtlint.engine.finding import Row
from trtlint.facts.figures import figure
from trtlint.measurement.band import Verdict
from trtlint.measurement.formats import FORMATS, Format, Range
from trtlint.measurement.measurement import KeptNodes, MeasuredTensor, Measurement
from trtlint.model.load import Model
from trtlint.report.counts import plural
from trtlint.report.document import Block, Code, Document, DocumentTable, Drawing, Items, Listing, Part, Words
from trtlint.report.measureadvice import MeasurementAdvice, misfit
from trtlint.report.measureband import (
    GENERATED,
    WORDS,
    bearing,
    error_words,
    headline,
    output_words,
    remark,
    type_lines,
    way_lines,
    worst_outputs,
    worst_sites,
)
from trtlint.report.page.behind import PageData
from trtlint.report.page.block import block
from trtlint.report.page.markup import Markup, scrolling, tag
from trtlint.report.page.picture import COLOURS, LINE, Colour, picture

_SITES = 24
"""Largest number of listed tensors."""
_OUTPUTS = 400
"""Largest number of listed outputs."""
_POWERS = 16
"""Number of powers of two that the chart shows on each side of the limit of the type."""
_CELL, _HEIGHT = 7.0, 12.0
"""Width of a bar for each power of two, and height of a bar, in pixels."""
_FITS: Mapping[Range, Colour] = {"overflow": "error", "underflow": "warning", "ok": "good"}
_COLOURS: Mapping[Verdict, Colour] = {"fine": "good", "broken": "error", "depends": "warning"}


def page(found: Measurement, model: Model, advice: Sequence[MeasurementAdvice] = ()) -> Document:
    """Return the document about a measurement.

    Args:
        found: the measurement.
        model: the measured model.
        advice: advice that follows from the measurement.
    """
    parts = [
        Part("Error", list(_errors(found))),
        Part("Types", list(_types(found))),
        Part("Ranges", list(_ranges(found))),
        Part("Keep in FP32", list(_kept(found, model))),
        Part("Advice", [block for each in advice for block in _advice(each)]),
        Part("What this does not cover", [Items(found.limits)]),
    ]
    lead = [f"Measured on {found.on}", *([] if found.files else [GENERATED.capitalize()])]
    return Document("measure", f"{found.path}: {FORMATS[found.type].label}: {headline(found)}", parts, lead)


def _errors(found: Measurement) -> Iterator[Block]:
    if not found.rehearsed:
        return
    if lines := way_lines(found):
        worst = f"Largest {found.noun} error under each assumption about rounding, relative to the largest"
        yield f"{worst} magnitude of the {found.noun}; accepted up to {found.bound:g}."
        rows: list[list[Words]] = [
            [line.name, _coloured(line.error, line.verdict), WORDS[line.verdict]] for line in lines
        ]
        yield DocumentTable(["Rounding", "Error", "Verdict"], rows)
    outputs = worst_outputs(found, _OUTPUTS)
    yield DocumentTable(
        [found.noun.capitalize(), "Error"],
        [[Code(output.name), output_words(output, found)] for output in outputs],
    )
    left = len(found.outputs) - _OUTPUTS
    if left > 0:
        yield f"and {plural(left, f'more {found.noun}')} with smaller errors"
    if found.compared:
        yield f"Note: {found.compared}."


def _coloured(words: str, verdict: Verdict) -> Drawing:
    return Drawing(tag("strong", words, class_=_COLOURS[verdict]), words)


def _types(found: Measurement) -> Iterator[Block]:
    if lines := type_lines(found):
        yield bearing(lines)
        rows: list[list[Words]] = [
            [line.label, *line.errors, _coloured(WORDS[line.verdict], line.verdict)] for line in lines
        ]
        yield DocumentTable(["Type", "Every operator rounds", "Fused", "FP16 accumulators", "Verdict"], rows)


def _ranges(found: Measurement) -> Iterator[Block]:
    format_ = FORMATS[found.type]
    sites = worst_sites(found, _SITES)
    if not sites:
        return
    yield f"Tensors closest to the largest value of {format_.label}, {figure(format_.largest)}."
    legend = (
        "The middle line of each bar is this value. A bar to the left shows by how many powers of two a "
        "tensor stays below this value. A bar to the right shows by how many powers of two a tensor exceeds "
        "this value."
    )
    yield Drawing(tag("p", legend))
    rows: list[list[Words]] = [
        [
            Code(site.node or site.tensor),
            site.op,
            figure(site.greatest),
            [Drawing(_bar(site, format_)), remark(site, format_)],
        ]
        for site in sites
    ]
    yield DocumentTable(["Node", "Operator", "Greatest magnitude", "Distance"], rows)


def _bar(site: MeasuredTensor, format_: Format) -> Markup:
    """Draw the distance between a tensor's magnitude and the limit of a type, in powers of two."""
    powers = max(-_POWERS, min(_POWERS, math.log2(site.greatest / format_.largest)))
    middle = _POWERS * _CELL
    width = max(1.0, abs(powers) * _CELL)
    shape = {"height": _HEIGHT, "y": 0}
    return tag(
        "svg",
        tag("title", remark(site, format_)),
        tag("rect", x=0, width=2 * middle, fill=LINE, fill_opacity=0.3, **shape),
        tag(
            "rect",
            x=f"{middle - (width if powers < 0 else 0):g}",
            width=f"{width:g}",
            fill=COLOURS[_FITS[site.fits]],
            **shape,
        ),
        tag("rect", x=middle - 0.5, width=1, fill="#6b7588", **shape),
        role="img",
        width=2 * middle,
        height=_HEIGHT,
        viewBox=f"0 0 {2 * middle:g} {_HEIGHT:g}",
    )


def _kept(found: Measurement, model: Model) -> Iterator[Block]:
    kept = found.kept
    if kept is None:
        return
    label = FORMATS[found.type].label
    if kept.error is None or not kept.verified:
        yield (
            f"The search found no set of nodes in FP32 that makes all {found.noun}s accurate enough, "
            f"with the other nodes in {label}."
        )
        return
    if not kept.fits:
        yield f"{label} is unsuitable for this model: {misfit(kept)}."
        return
    error = f"the worst {found.noun} error is then {error_words(kept.error)}"
    yield f"{plural(len(kept.nodes), 'node')}; {error}."
    if not kept.complete:
        yield "The search reached its limit; use --thorough to continue."
    margin = frozenset(kept.margin)
    yield Items([[Code(node), " (for margin)" if node in margin else ""] for node in kept.nodes])
    if margin:
        yield (
            "Each node marked (for margin) is optional: if you remove any one of these nodes from the list, "
            "the error stays under the bound."
        )
    yield from map(Drawing, _drawn(found, kept, model))


def _advice(advice: MeasurementAdvice) -> Iterator[Block]:
    yield advice.text[:1].upper() + advice.text[1:] + (":" if advice.command else ".")
    if advice.command:
        yield Listing(advice.command, "console")


def _drawn(found: Measurement, kept: KeptNodes, model: Model) -> Iterator[Markup]:
    """Draw the nodes to keep in FP32, together with their neighbours."""
    behind = PageData(facts_of(model, evidence=(RangeEvidence(found),)))
    wanted, margin = frozenset(kept.nodes), frozenset(kept.margin)
    rows = [
        Row(
            node.path,
            node.op,
            node.output.type_text if node.outputs else "",
            label="FP32, for margin" if node.path in margin else "FP32",
            index=index,
        )
        for index, node in enumerate(model.graph.nodes)
        if node.path in wanted
    ]
    drawing = block(rows, behind)
    if drawing is None:
        return
    caption = "The nodes to keep in FP32, with their producers and readers"
    left = f"; not drawn: {plural(drawing.left, 'more node')}" if drawing.left else ""
    yield tag(
        "figure",
        scrolling(picture(drawing, "warning", caption, "kept"), caption),
        tag("figcaption", caption + left),
    )
