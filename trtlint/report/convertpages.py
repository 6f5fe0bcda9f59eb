"""Report of conversions as a document: types, ranges, groups of operators, Casts and checks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from trtlint.conversion.result import Conversion
from trtlint.facts.figures import figure
from trtlint.measurement.formats import FORMATS
from trtlint.report.convert import narrow_words
from trtlint.report.counts import plural
from trtlint.report.document import Code, Document, DocumentTable, Drawing, Items, Listing, Part, Words
from trtlint.report.modeldiff import shortened
from trtlint.report.page.markup import Content, Markup, clipped, tag

_WIDE, _HIGH, _LEFT = 640, 18, 260
"""Width of the chart, height of a row, and width of the column of names, in pixels."""
_DECADES = 12
"""Number of powers of ten on the axis of the chart."""
_LEAST = -4
"""Exponent of ten at the start of the axis."""


def page(found: Sequence[tuple[Conversion, Sequence[str]]]) -> Document:
    """Return the document about conversions.

    Args:
        found: each conversion, with the lines of the diff between the original and the converted model.
    """
    if len(found) == 1:
        ((conversion, diff),) = found
        return Document("convert", _title(conversion), list(_parts(conversion, diff)), _lead(conversion))
    title = f"{plural(len(found), 'model')} in {found[0][0].type.upper()}"
    parts = [
        part
        for conversion, diff in found
        for part in (Part(_title(conversion), _lead(conversion)), *_parts(conversion, diff))
    ]
    return Document("convert", title, parts)


def _title(found: Conversion) -> str:
    return f"{found.path} in {found.type.upper()}"


def _lead(found: Conversion) -> list[Words]:
    if found.unchanged:
        return [f"nothing to convert: {found.unchanged}"]
    return [narrow_words(found), ["written to ", Code(found.output)] if found.output else "not written"]


def _parts(found: Conversion, diff: Sequence[str]) -> Iterator[Part]:
    yield _table(
        "Proofs", ["Proof", "Verdict", "Result"], [[p.name, p.verdict, p.text] for p in found.proofs]
    )
    if found.ranges:
        rows: list[list[Words]] = [[Code(each.node), each.op, figure(each.greatest)] for each in found.ranges]
        table = DocumentTable(["Operator", "Type", "Magnitude"], rows)
        yield Part("Largest magnitudes in FP32", [Drawing(_chart(found)), table])
    yield _table(
        "Groups that TensorRT fuses (one type each)",
        ["Group", "First operator", "Operators", "Type"],
        [[each.kind, Code(each.first), each.operators, each.type] for each in found.islands],
    )
    yield _table(
        "Operators in FP32",
        ["Operator", "Type", "Reason"],
        [[Code(each.node), each.op, each.reason] for each in found.kept],
    )
    yield _table(
        "Casts",
        ["Tensor", "To", "Reason"],
        [[Code(each.tensor), each.to, each.reason] for each in found.casts],
    )
    yield _table(
        "Stored tensors beyond the range",
        ["Tensor", "Result", "Reason"],
        [[Code(each.tensor), each.what, each.reason] for each in found.stored],
    )
    yield Part("Notes", [Items([note for note in (*found.rewrites, *found.notes, found.advice) if note])])
    if found.command:
        yield Part("Build command", [Listing(found.command, "console")])
    if diff:
        yield Part("Diff", [Listing(shortened(diff), "diff")])


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[Words]]) -> Part:
    return Part(title, [DocumentTable(heads, rows)])


def _chart(found: Conversion) -> Markup:
    """Draw the largest magnitudes of tensors on a logarithmic scale, with the limit of the new type."""
    rows: list[Content] = []
    for index, each in enumerate(found.ranges):
        top = index * _HIGH
        width = max(1.0, _place(each.greatest) - _LEFT)
        beyond = each.greatest >= FORMATS[found.type].infinite_from
        name = f"{each.node} {figure(each.greatest)}"
        rows.append(tag("text", clipped(name, 40), x=0, y=top + 13, font_size=11))
        rows.append(
            tag(
                "rect",
                x=_LEFT,
                y=top + 3,
                width=round(width, 1),
                height=_HIGH - 6,
                opacity=1 if beyond else 0.45,
            )
        )
    end = _place(FORMATS[found.type].largest)
    height = len(found.ranges) * _HIGH
    rows.append(tag("line", x1=round(end, 1), x2=round(end, 1), y1=0, y2=height, stroke="currentColor"))
    label = f"Largest magnitudes in FP32; the line marks the largest value of {found.type.upper()}"
    picture = tag(
        "svg", rows, viewBox=f"0 0 {_WIDE} {height}", role="img", aria_label=label, fill="currentColor"
    )
    return tag("figure", picture, tag("figcaption", label))


def _place(number: float) -> float:
    decade = math.log10(number) if number > 0 else _LEAST
    return _LEFT + (_WIDE - _LEFT) * min(1.0, max(0.0, (decade - _LEAST) / _DECADES))
