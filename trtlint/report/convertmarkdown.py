"""Report of a conversion as GitHub Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from trtlint.conversion.result import Conversion
from trtlint.facts.figures import figure
from trtlint.report import document
from trtlint.report.convert import narrow_words
from trtlint.report.document import Code, Document, DocumentTable, Items, Listing, Part, Words
from trtlint.report.modeldiff import shortened

_RANGES = 24
"""Largest number of listed ranges."""


def markdown(found: Conversion, diff: Sequence[str] = ()) -> str:
    """Return the report of a conversion as GitHub Markdown.

    Args:
        found: the conversion.
        diff: lines of the diff between the original and the converted model.
    """
    lead: list[Words] = [
        narrow_words(found),
        ["written to ", Code(found.output)] if found.output else "not written",
    ]
    if found.unchanged:
        lead = [f"nothing to convert: {found.unchanged}"]
    notes = [note for note in (*found.rewrites, *found.notes, found.advice) if note]
    parts = [
        _table("Proofs", ["Proof", "Verdict", "Result"], [[p.name, p.verdict, p.text] for p in found.proofs]),
        _table(
            "Operators in FP32",
            ["Operator", "Type", "Reason"],
            [[Code(each.node), each.op, each.reason] for each in found.kept],
        ),
        _table(
            "Casts",
            ["Tensor", "To", "Reason"],
            [[Code(each.tensor), each.to, each.reason] for each in found.casts],
        ),
        _table(
            "Stored tensors beyond the range",
            ["Tensor", "Result", "Reason"],
            [[Code(each.tensor), each.what, each.reason] for each in found.stored],
        ),
        _table(
            "Largest magnitudes in FP32",
            ["Operator", "Type", "Magnitude"],
            [[Code(each.node), each.op, figure(each.greatest)] for each in found.ranges[:_RANGES]],
        ),
        Part("Notes", [Items(notes)]),
    ]
    if found.command:
        parts.append(Part("Build command", [Listing(found.command, "console")]))
    if diff:
        parts.append(Part("Diff", [Listing(shortened(diff), "diff")]))
    return document.markdown(Document("convert", f"{found.path} in {found.type.upper()}", parts, lead))


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[Words]]) -> Part:
    return Part(title, [DocumentTable(heads, rows)])
