"""Report of a measurement as one HTML page: verdict, errors, ranges, and nodes to keep in FP32."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from trtlint.case import facts_of
from trtlint.engine.evidence.ranges import RangeEvidence
from trtlint.engine.finding import Row
from trtlint.facts.figures import figure
from trtlint.measurement.band import Verdict
from trtlint.measurement.formats import FORMATS, Format
from trtlint.measurement.measurement import KeptNodes, MeasuredTensor, Measurement
from trtlint.model.load import Model
from trtlint.report.counts import plural
from trtlint.report.measureadvice import MeasurementAdvice, misfit
from trtlint.report.measureband import (
    GENERATED,
    WORDS,
    bearing,
    error_words,
    headline,
    output_words,
    type_lines,
    way_lines,
    worst_outputs,
)
from trtlint.report.measuresites import remark, worst_sites
from trtlint.report.page.behind import PageData
from trtlint.report.page.block import block
from trtlint.report.page.card import clipped
from trtlint.report.page.markup import Content, Markup, scrolling, tag
from trtlint.report.page.picture import COLOURS, LINE, Colour, picture
from trtlint.report.page.shell import shell
from trtlint.report.page.tables import row, table

_SITES = 24
"""Largest number of tensors in the chart."""
_OUTPUTS = 50
"""Largest number of listed outputs."""
_KEPT = 60
"""Largest number of nodes in the list of nodes to keep in FP32."""
_LONGEST = 160
"""Largest number of characters of a name."""
_POWERS = 16
"""Number of powers of two that the chart shows on each side of the limit of the type."""
_CELL, _HEIGHT = 7.0, 12.0
"""Width of a bar for each power of two, and height of a bar, in pixels."""
_COLOURS: Mapping[Verdict, Colour] = {"fine": "good", "broken": "error", "depends": "warning"}


def page(found: Measurement, model: Model, advice: Sequence[MeasurementAdvice] = ()) -> Iterator[str]:
    """Return the lines of the HTML page about a measurement.

    Args:
        found: the measurement.
        model: the measured model.
        advice: advice that follows from the measurement.
    """
    name = clipped(found.path, 300)
    header = [
        tag("p", "trtlint measure", class_="brand"),
        tag("h1", f"{FORMATS[found.type].label}: ", headline(found)),
        tag("p", f"{name}, on {found.on}", class_="target"),
    ]
    if not found.files:
        header.append(tag("p", GENERATED.capitalize(), class_="target"))
    return shell(f"trtlint measure: {name}", header, list(_main(found, model, advice)))


def _main(found: Measurement, model: Model, advice: Sequence[MeasurementAdvice]) -> Iterator[Markup]:
    sections: dict[str, Iterable[Markup]] = {
        "Error": _errors(found),
        "Types": _types(found),
        "Ranges": _ranges(found),
        "Keep in FP32": _kept(found, model, advice),
        "What this does not cover": [tag("ul", [tag("li", each) for each in found.limits])]
        if found.limits
        else [],
    }
    for title, content in sections.items():
        if parts := list(content):
            yield tag("section", tag("h2", title), parts, class_="overview")


def _errors(found: Measurement) -> Iterator[Markup]:
    if not found.rehearsed:
        return
    lines = way_lines(found)
    if found.compared:
        yield tag("p", f"Note: {found.compared}.")
    if lines:
        what = "a compared tensor" if found.compared else "an output"
        yield tag(
            "p",
            f"The largest error of {what} under each assumption about rounding, relative to the largest "
            f"magnitude of the {found.noun}. Errors up to {found.bound:g} are accepted.",
        )
        rows: list[list[Content]] = [
            [line.name, _coloured(line.error, line.verdict), WORDS[line.verdict]] for line in lines
        ]
        yield _table(["Rounding", "Error", "Verdict"], rows)
    outputs = worst_outputs(found, _OUTPUTS)
    if outputs:
        listed: list[list[Content]] = [
            [
                tag("code", clipped(output.name, _LONGEST)),
                output_words(output, found),
            ]
            for output in outputs
        ]
        yield _table([found.noun.capitalize(), "Error"], listed)
    left = len(found.outputs) - _OUTPUTS
    if left > 0:
        yield tag("p", f"and {plural(left, f'more {found.noun}')} with smaller errors", class_="notes")


def _table(heads: Sequence[str], rows: Sequence[Sequence[Content]]) -> Markup:
    return table(heads, list(map(row, rows)), heads[0])


def _coloured(words: str, verdict: Verdict) -> Markup:
    return tag("strong", words, class_=_COLOURS[verdict])


def _types(found: Measurement) -> Iterator[Markup]:
    lines = type_lines(found)
    if not lines:
        return
    rows: list[list[Content]] = [
        [line.label, *line.errors, _coloured(WORDS[line.verdict], line.verdict)] for line in lines
    ]
    yield tag("p", bearing(lines))
    yield _table(["Type", "Every operator rounds", "Fused", "FP16 accumulators", "Verdict"], rows)


def _ranges(found: Measurement) -> Iterator[Markup]:
    format_ = FORMATS[found.type]
    sites = worst_sites(found, _SITES)
    if not sites:
        return
    yield tag(
        "p",
        f"Tensors closest to the largest value of {format_.label}, {figure(format_.largest)} (middle line)."
        " A bar to the left shows by how many powers of two a tensor stays below this value. A bar to "
        "the right shows by how many powers of two a tensor exceeds this value.",
    )
    rows: list[list[Content]] = [
        [
            tag("code", clipped(site.node or site.tensor, _LONGEST)),
            site.op,
            figure(site.greatest),
            _bar(site, format_),
            remark(site, format_),
        ]
        for site in sites
    ]
    yield _table(["Node", "Operator", "Greatest magnitude", "Distance", ""], rows)


def _bar(site: MeasuredTensor, format_: Format) -> Markup:
    """Draw the distance between a tensor's magnitude and the limit of a type, in powers of two."""
    powers = max(-_POWERS, min(_POWERS, math.log2(site.greatest / format_.largest)))
    middle = _POWERS * _CELL
    width = max(1.0, abs(powers) * _CELL)
    colour = {"overflow": "error", "underflow": "warning", "ok": "good"}[site.fits]
    shape = {"height": _HEIGHT, "y": 0}
    return tag(
        "svg",
        tag("title", remark(site, format_)),
        tag("rect", x=0, width=2 * middle, fill=LINE, fill_opacity=0.3, **shape),
        tag(
            "rect",
            x=f"{middle - (width if powers < 0 else 0):g}",
            width=f"{width:g}",
            fill=COLOURS[colour],  # type: ignore[index]
            **shape,
        ),
        tag("rect", x=middle - 0.5, width=1, fill="#6b7588", **shape),
        role="img",
        width=2 * middle,
        height=_HEIGHT,
        viewBox=f"0 0 {2 * middle:g} {_HEIGHT:g}",
    )


def _kept(found: Measurement, model: Model, advice: Sequence[MeasurementAdvice]) -> Iterator[Markup]:
    kept = found.kept
    if kept is None:
        return
    if kept.error is None or not kept.verified:
        yield tag(
            "p",
            f"The search found no set of nodes in FP32 that makes all {found.noun}s accurate enough, "
            f"with the other nodes in {FORMATS[found.type].label}.",
        )
        return
    if not kept.fits:
        yield tag("p", f"{FORMATS[found.type].label} is unsuitable for this model: {misfit(kept)}.")
    else:
        error = f"the worst {found.noun} error is then {error_words(kept.error)}"
        words = f"{plural(len(kept.nodes), 'node')}; {error}"
        limit = "" if kept.complete else ". The search reached its limit; use --thorough to continue"
        yield tag("p", words + limit, ".")
        margin = frozenset(kept.margin)
        yield tag(
            "ul",
            [
                tag("li", tag("code", clipped(node, _LONGEST)), " (for margin)" if node in margin else "")
                for node in kept.nodes[:_KEPT]
            ],
        )
        if margin:
            text = (
                "Each node marked (for margin) is optional: if you remove any one of these nodes from the "
                "list, the error stays under the bound."
            )
            yield tag("p", text, class_="notes")
        if len(kept.nodes) > _KEPT:
            yield tag("p", f"and {len(kept.nodes) - _KEPT:,} more", class_="notes")
        yield from _drawn(found, kept, model)
    for each in advice:
        yield tag("p", each.text[:1].upper() + each.text[1:], ":" if each.command else ".")
        if each.command:
            yield tag("pre", each.command)


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
