"""Report of ``trtlint fix`` as GitHub Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from trtlint.engine.caveats import caveats
from trtlint.files.problem import Problem
from trtlint.fixes.outcome import FixOutcome, proofs
from trtlint.report import document
from trtlint.report.counts import plural
from trtlint.report.document import Block, Code, Document, DocumentTable, Items, Listing, Part, Words
from trtlint.report.fixes import FixResult, applied_groups, difference, refused_groups, remaining, remarks
from trtlint.report.modeldiff import shortened
from trtlint.report.names import collapse, few


class FixMarkdown:
    """Markdown report about the fixes of all models.

    Args:
        diff: true to show a diff of each model in the ONNX text format.
    """

    def __init__(self, *, diff: bool = False) -> None:
        self._diff = diff
        self._parts: list[Part] = []
        self._rewritten = 0

    def add(self, result: FixResult) -> None:
        """Add the result for one model."""
        self._rewritten += len(result.fixed.outcome.applied)
        blocks = list(_blocks(result))
        if self._diff and (lines := list(difference(result.fixed))):
            blocks.append(Listing(shortened(lines), "diff"))
        self._parts.append(Part(Code(str(result.fixed.path)), blocks))

    def content(self, problems: Sequence[Problem]) -> str:
        """Return the report. ``problems`` are the files that could not be read or written."""
        title = f"{plural(self._rewritten, 'place')} rewritten in {plural(len(self._parts), 'model')}"
        parts = [Part("Errors", [Items(list(map(str, problems)))]), *self._parts]
        return document.markdown(Document("fix", title, parts))


def _blocks(result: FixResult) -> Iterator[Block]:
    outcome, written = result.fixed.outcome, result.written
    before, after = outcome.before.findings, outcome.after.findings
    counts = f"; {plural(len(before), 'finding')} before, {plural(len(after), 'finding')} after"
    yield ["not written", counts] if written is None else ["written to ", Code(str(written)), counts]
    rows: list[list[Words]] = [
        [
            f"{severity} {rule}" if rule else "",
            f"{fix}: {title}",
            _places(each.place for each in members),
            "; ".join(proofs(members)),
        ]
        for (rule, severity, fix, title), members in applied_groups(outcome).items()
    ]
    yield DocumentTable(["Rule", "Rewrite", "Location", "Proof"], rows)
    if outcome.refused:
        yield "Refused:"
        yield Items(list(_refused(outcome)))
    if left := remaining(outcome):
        yield "Remaining findings:"
        yield Items([f"{each.severity} {each.rule} {each.name}: {each.message}" for each in left])
    yield Items(
        [f"{caveat.severity}: {caveat.message}" for caveat in caveats(outcome.after.reports)]
        + [f"{key}: {words}" for key, words in remarks(result)]
    )


def _refused(outcome: FixOutcome) -> Iterator[list[str | Code]]:
    for (rule, severity, fix, reason), places in refused_groups(outcome).items():
        named = " ".join(filter(None, [severity if rule else "", rule, fix]))
        yield [f"{named}: {reason}: ", _places(places)]


def _places(places: Iterable[str]) -> Code:
    return Code(few(collapse(filter(None, places))))
