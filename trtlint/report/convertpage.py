"""Report of conversions as one HTML page: types, ranges, groups of operators, Casts and checks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from trtlint.conversion.result import Conversion
from trtlint.facts.figures import figure
from trtlint.measurement.formats import FORMATS
from trtlint.report.convert import narrow_words
from trtlint.report.counts import plural
from trtlint.report.page.card import clipped
from trtlint.report.page.markup import Content, Markup, tag
from trtlint.report.page.shell import shell
from trtlint.report.page.tables import row, table

_ROWS = 400
"""Largest number of table rows."""
_WIDE, _HIGH, _LEFT = 640, 18, 260
"""Width of the chart, height of a row, and width of the column of names, in pixels."""
_DECADES = 12
"""Number of powers of ten on the axis of the chart."""
_LEAST = -4
"""Exponent of ten at the start of the axis."""


def page(found: Sequence[Conversion]) -> str:
    """Return the HTML page about conversions."""
    if len(found) == 1:
        return "\n".join(shell(_title(found[0]), _head(found[0], "h1"), _main(found[0]))) + "\n"
    title = f"{plural(len(found), 'model')} in {found[0].type.upper()}"
    sections = [tag("section", _head(each, "h2"), _main(each)) for each in found[:_ROWS]]
    return "\n".join(shell(title, [tag("h1", title)], sections)) + "\n"


def _title(found: Conversion) -> str:
    return f"{found.path} in {found.type.upper()}"


def _head(found: Conversion, heading: str) -> list[Markup]:
    written = f"written to {found.output}" if found.output else "not written"
    return [tag(heading, clipped(_title(found))), tag("p", narrow_words(found)), tag("p", clipped(written))]


def _main(found: Conversion) -> list[Content]:
    return [
        tag("p", found.unchanged) if found.unchanged else None,
        _table("Proofs", ["Proof", "Verdict", ""], [[p.name, p.verdict, p.text] for p in found.proofs]),
        _chart(found),
        _table(
            "Groups that TensorRT fuses (one type each)",
            ["Group", "First operator", "Operators", "Type"],
            [[each.kind, _code(each.first), each.operators, each.type] for each in found.islands],
        ),
        _table(
            "Operators in FP32",
            ["Operator", "", "Why"],
            [[_code(each.node), each.op, each.reason] for each in found.kept],
        ),
        _table(
            "Casts",
            ["Tensor", "To", "Why"],
            [[_code(each.tensor), each.to, each.reason] for each in found.casts],
        ),
        _table(
            "Stored tensors beyond the range",
            ["Tensor", "", ""],
            [[_code(each.tensor), each.what, each.reason] for each in found.stored],
        ),
        [
            tag("p", clipped(note), class_="notes")
            for note in (*found.rewrites, *found.notes, found.advice)
            if note
        ],
        tag("h2", "Build it"),
        tag("p", _code(found.command)),
    ]


def _code(words: str) -> Markup:
    return tag("code", clipped(words, 200))


def _table(words: str, heads: Sequence[str], rows: Sequence[Sequence[Content]]) -> Markup | None:
    if not rows:
        return None
    body = list(map(row, rows[:_ROWS]))
    more = f" (the first {_ROWS})" if len(rows) > _ROWS else ""
    return tag("section", tag("h2", f"{words}: {len(rows):,}{more}"), table(heads, body, words))


def _chart(found: Conversion) -> Markup | None:
    """Draw the largest magnitudes of tensors on a logarithmic scale, with the limit of the new type."""
    if not found.ranges:
        return None
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
    return tag(
        "section", tag("h2", f"Ranges of {plural(len(found.ranges), 'tensor')}"), tag("p", label), picture
    )


def _place(number: float) -> float:
    decade = math.log10(number) if number > 0 else _LEAST
    return _LEFT + (_WIDE - _LEFT) * min(1.0, max(0.0, (decade - _LEAST) / _DECADES))
