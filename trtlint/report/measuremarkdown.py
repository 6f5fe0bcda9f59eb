"""Report of a measurement as GitHub Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trtlint.facts.figures import figure
from trtlint.measurement.formats import FORMATS
from trtlint.measurement.measurement import Measurement
from trtlint.report import document
from trtlint.report.counts import plural
from trtlint.report.document import Block, Code, Document, DocumentTable, Items, Listing, Part
from trtlint.report.measureadvice import MeasurementAdvice, misfit
from trtlint.report.measureband import (
    WORDS,
    bearing,
    error_words,
    headline,
    output_words,
    type_lines,
    way_lines,
)
from trtlint.report.measuresites import remark, worst_sites

_SITES = 24
"""Largest number of listed tensors."""


def markdown(found: Measurement, advice: Sequence[MeasurementAdvice] = ()) -> str:
    """Return the report of a measurement as Markdown.

    Args:
        found: the measurement.
        advice: advice that follows from the measurement.
    """
    label = FORMATS[found.type].label
    parts = [
        Part("Error", list(_errors(found))),
        Part("Types", list(_types(found))),
        Part("Ranges", list(_ranges(found))),
        Part("Keep in FP32", list(_kept(found))),
        Part("Advice", [block for each in advice for block in _advice(each)]),
        Part("What this does not cover", [Items(found.limits)]),
    ]
    shown = [part for part in parts if part.blocks]
    return document.markdown(
        Document("measure", f"{found.path}: {label}: {headline(found)}", shown, [f"Measured on {found.on}"])
    )


def _errors(found: Measurement) -> Iterator[Block]:
    if lines := way_lines(found):
        worst = f"Largest {found.noun} error under each assumption about rounding"
        yield f"{worst}; accepted up to {found.bound:g}."
        rows = [[line.name, line.error, WORDS[line.verdict]] for line in lines]
        yield DocumentTable(["Rounding", "Error", "Verdict"], rows)
    if found.rehearsed and found.outputs:
        yield DocumentTable(
            [found.noun.capitalize(), "Error"],
            [[Code(output.name), output_words(output, found)] for output in found.outputs],
        )
    if found.rehearsed and found.compared:
        yield f"Note: {found.compared}."


def _types(found: Measurement) -> Iterator[Block]:
    if lines := type_lines(found):
        yield bearing(lines)
        yield DocumentTable(
            ["Type", "Every operator rounds", "Fused", "FP16 accumulators", "Verdict"],
            [[line.label, *line.errors, WORDS[line.verdict]] for line in lines],
        )


def _ranges(found: Measurement) -> Iterator[Block]:
    format_ = FORMATS[found.type]
    sites = worst_sites(found, _SITES)
    if sites:
        yield f"Tensors closest to the largest value of {format_.label}, {figure(format_.largest)}."
        yield DocumentTable(
            ["Node", "Operator", "Greatest magnitude", "Distance"],
            [
                [Code(site.node or site.tensor), site.op, figure(site.greatest), remark(site, format_)]
                for site in sites
            ],
        )


def _kept(found: Measurement) -> Iterator[Block]:
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
        yield "The search reached its limit; --thorough continues it."
    margin = frozenset(kept.margin)
    yield Items([[Code(node), " (for margin)" if node in margin else ""] for node in kept.nodes])


def _advice(advice: MeasurementAdvice) -> Iterator[Block]:
    yield advice.text
    if advice.command:
        yield Listing(advice.command, "console")
