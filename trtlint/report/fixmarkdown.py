"""Report of ``trtlint fix`` as GitHub Markdown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from trtlint.engine.caveats import caveats
from trtlint.files.problem import Problem
from trtlint.fixes.costs import Costs
from trtlint.fixes.fixing import Fixed
from trtlint.fixes.outcome import AppliedFix, RefusedFix, proofs
from trtlint.fixes.verification import CheckResult
from trtlint.report import document
from trtlint.report.counts import plural
from trtlint.report.document import Block, Code, Document, DocumentTable, Items, Listing, Part
from trtlint.report.fixes import casts_note, difference
from trtlint.report.modeldiff import shortened
from trtlint.report.names import collapse

_PLACES = 3
"""Largest number of name patterns, such as ``blocks.*.attn``, in a table cell."""


class FixMarkdown:
    """Markdown report about the fixes of all models.

    Args:
        diff: true to show a diff of each model in the ONNX text format.
    """

    def __init__(self, *, diff: bool = False) -> None:
        self._diff = diff
        self._parts: list[Part] = []
        self._problems: list[str] = []
        self._rewritten = 0

    def problem(self, problem: Problem) -> None:
        """Add a file that could not be read or written."""
        self._problems.append(str(problem))

    def add(self, fixed: Fixed, written: Path | None, verdicts: Sequence[CheckResult], costs: Costs) -> None:
        """Add the fixes of a model, their costs (file size, run time), and the file that was written."""
        self._rewritten += len(fixed.outcome.applied)
        blocks = list(_blocks(fixed, written, verdicts, costs))
        if self._diff and (lines := list(difference(fixed))):
            blocks.append(Listing(shortened(lines), "diff"))
        self._parts.append(Part(Code(str(fixed.path)), blocks))

    def text(self) -> str:
        """Return the Markdown text."""
        title = f"{plural(self._rewritten, 'place')} rewritten in {plural(len(self._parts), 'model')}"
        parts = [Part("Errors", [Items(self._problems)]), *self._parts]
        return document.markdown(Document("fix", title, parts))


def _blocks(
    fixed: Fixed, written: Path | None, verdicts: Sequence[CheckResult], costs: Costs
) -> Iterator[Block]:
    outcome = fixed.outcome
    before, after = outcome.before.findings, outcome.after.findings
    counts = f"; {plural(len(before), 'finding')} before, {plural(len(after), 'finding')} after"
    yield ["not written", counts] if written is None else ["written to ", Code(str(written)), counts]
    yield DocumentTable(["Rule", "Rewrite", "Location", "Proof"], list(_applied(outcome.applied)))
    if outcome.refused:
        yield "Refused:"
        yield Items(list(_refused(outcome.refused)))
    reported = {refused.rule for refused in outcome.refused}
    if left := [finding for finding in after if finding.rule not in reported]:
        yield "Remaining findings:"
        yield Items([f"{each.severity} {each.rule} {each.name}: {each.message}" for each in left])
    yield Items(
        [f"{caveat.severity}: {caveat.message}" for caveat in caveats(outcome.after.reports)]
        + [f"{verdict.check}: {verdict.judgement}: {verdict.words}" for verdict in verdicts]
        + ([f"note: {note}"] if (note := casts_note(outcome)) else [])
        + [f"costs: {words}" for words in costs.words]
    )


def _applied(applied: Sequence[AppliedFix]) -> Iterator[list[str | Code]]:
    groups: dict[tuple[str, str, str, str], list[AppliedFix]] = defaultdict(list)
    for each in applied:
        groups[each.rule, each.severity, each.fix, each.title].append(each)
    for (rule, severity, fix, title), members in groups.items():
        places = _places([each.place for each in members])
        yield [f"{severity} {rule}" if rule else "", f"{fix}: {title}", places, "; ".join(proofs(members))]


def _refused(refused: Sequence[RefusedFix]) -> Iterator[list[str | Code]]:
    groups: dict[tuple[str, str, str | None, str], list[str]] = defaultdict(list)
    for each in refused:
        groups[each.rule, each.severity, each.fix, each.reason].append(each.place)
    for (rule, severity, fix, reason), places in groups.items():
        named = " ".join(filter(None, [severity if rule else "", rule, fix]))
        yield [f"{named}: {reason}: ", _places(places)]


def _places(places: Sequence[str]) -> Code:
    patterns = collapse(list(dict.fromkeys(filter(None, places))))
    return Code(", ".join(patterns[:_PLACES]) + (", ..." if len(patterns) > _PLACES else ""))
