"""Table of rules at the end of a report on several models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct, field
from rich.text import Text

from trtlint.engine.finding import SEVERITIES, Finding, Severity
from trtlint.report.counts import left_out
from trtlint.report.escape import clean
from trtlint.report.layout import hang

_ROWS = 40
"""Largest number of listed rules. The table lists the most severe and frequent rules first."""
_NAMED = 3
"""Largest number of models that a row names."""
_LETTERS = {"error": "red", "warning": "yellow", "note": "cyan"}


class RuleRow(Struct):
    """The models and sites with findings of one rule and one severity."""

    name: str
    models: dict[str, None] = field(default_factory=dict)
    places: int = 0


class RuleTable:
    """Table of rules with the number of models and sites that each rule flags."""

    def __init__(self) -> None:
        self.rows: dict[tuple[Severity, str], RuleRow] = {}

    def add(self, path: str, findings: Iterable[Finding]) -> None:
        """Count the findings of one model."""
        for finding in findings:
            row = self.rows.setdefault((finding.severity, finding.rule), RuleRow(finding.name))
            row.models[path] = None
            row.places += max(len(finding.sites), 1)

    def lines(self, width: int | None) -> Iterator[Text]:
        """Yield the lines of the table, the most severe and frequent rules first.

        Yield nothing if there are no findings.

        Args:
            width: terminal cells of a line; None for unlimited lines.
        """
        ranked = sorted(
            self.rows.items(),
            key=lambda entry: (SEVERITIES.index(entry[0][0]), -len(entry[1].models), entry[0][1]),
        )
        if not ranked:
            return
        shown = ranked[:_ROWS]
        titles = [f"{severity}[{rule}]" for (severity, rule), _ in shown]
        wide, names = max(map(len, titles)), max(len(row.name) for _, row in shown)
        yield Text(f"{'rule':{wide}}  {'':{names}}  {'models':>6}  {'places':>6}", style="dim")
        for title, ((severity, _), row) in zip(titles, shown, strict=True):
            first = Text.assemble(
                (f"{title:{wide}}", _LETTERS[severity]),
                f"  {row.name:{names}}  {len(row.models):>6,}  {row.places:>6,}  ",
            )
            few = len(row.models) <= _NAMED
            rest = clean(", ".join(row.models)) if few else ""
            lines = hang(first, Text(rest, style="dim"), width)
            for line in lines:
                line.rstrip()
            yield from lines
        for rest in left_out(len(ranked), _ROWS, "rule"):
            yield Text(f"{rest}: use --format summary to see all rules", style="dim")
