"""Summary of many models on one screen: a table of rules, and unreadable files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TextIO

from rich.text import Text

from trtlint.engine.caveats import Caveat, caveats
from trtlint.engine.finding import SEVERITIES, ModelReport, Severity
from trtlint.engine.targets import merge, span
from trtlint.files.problem import Problem
from trtlint.report.closing import ReportFooter, examined
from trtlint.report.counts import left_out, plural
from trtlint.report.escape import clean
from trtlint.report.findinglines import SEVERITY_STYLES
from trtlint.report.formats import ReportWriter, Style
from trtlint.report.layout import hang
from trtlint.report.ruletable import RuleTable
from trtlint.report.terminal import console

SCREEN = 24
"""Lines of the smallest usual terminal: https://vt100.net/docs/vt100-ug/chapter1.html."""
_FIXED = 8
"""Number of summary lines that are neither rules nor files, plus one line for the prompt."""
_FILES = 4
"""Largest number of unreadable files that the summary names, so that it fits on one screen."""


def writer(file: TextIO, style: Style) -> ReportWriter:
    """Return a writer for this format."""
    return SummaryWriter(file, height=None if style.statistics else SCREEN)


class SummaryWriter:
    """Writer of the counts by rule at the end of a run, the most severe rules first.

    Args:
        file: the output stream.
        apart: true to write an empty line first, because another format was written before.
        height: lines of the screen. If not all rules fit, the last line counts the omitted rules, which are
            the least severe and rarest. None to list all rules and all unreadable files.
    """

    def __init__(self, file: TextIO, *, apart: bool = False, height: int | None = None) -> None:
        self._file = file
        self._apart = apart
        self._height = height
        self._rules = RuleTable()
        self._closing = ReportFooter()
        self._problems: list[Problem] = []
        self._caveats: list[tuple[str, Caveat]] = []

    def add(self, models: Sequence[ModelReport]) -> None:
        """Count the findings of one file, from its reports for all targets."""
        self._problems += dict.fromkeys(problem for model in models for problem in model.errors)
        self._caveats += [(models[0].path, caveat) for caveat in caveats(models)]
        self._closing.accept(models)
        seen, conditional = (
            [item.finding for item in merge(found)]
            for found in ([model.findings for model in models], [model.conditional for model in models])
        )
        if linted := examined(models):
            self._closing.add(linted, seen, conditional, shown=False)
        self._rules.add(models[0].path, seen)

    def close(self, notes: Sequence[str]) -> None:  # noqa: ARG002
        """Write the summary."""
        if self._apart:
            print(file=self._file)
        out = console(self._file)
        width = out.width if self._file.isatty() else None
        for line in self._lines(self._height):
            for part in hang(Text(), line, width):
                out.print(part, soft_wrap=True)

    def _lines(self, height: int | None) -> Iterator[Text]:
        closing = self._closing
        target = f" for {clean(span(list(closing.targets)))}" if closing.targets else ""
        yield Text(f"{closing.found} in {closing.files}{target}", style="bold")
        yield from self._table(height)
        shown = self._caveats if height is None else self._caveats[:_FILES]
        for path, caveat in shown:
            yield Text(f"{caveat.severity}: {clean(path)}: {clean(caveat.message)}")
        yield from map(Text, left_out(len(self._caveats), len(shown), "such note"))
        yield from self._unreadable(height)
        if closing.hidden:
            yield Text(closing.hidden)

    def _table(self, height: int | None) -> Iterator[Text]:
        rows = self._rules.rows

        def rank(key: tuple[Severity, str]) -> tuple[int, int, int, str]:
            row = rows[key]
            return SEVERITIES.index(key[0]), -len(row.models), -row.places, key[1]

        keys = sorted(rows, key=rank)
        if not keys:
            return
        room = len(keys)
        if height is not None:
            files = sum(min(len(listed), _FILES + 1) for listed in (self._problems, self._caveats))
            room = max(height - _FIXED - files, 1)
            room = len(keys) if len(keys) <= room + 1 else room
        shown = keys[:room]
        wide = max(len(f"{severity}[{rule}]") for severity, rule in shown)
        names = max(len(rows[key].name) for key in shown)
        yield Text(f"{'':{wide}}  {'':{names}}  {'models':>7}  {'places':>7}", style="dim")
        for severity, rule in shown:
            row = rows[severity, rule]
            title = f"{severity}[{rule}]"
            yield Text.assemble(
                (f"{title:{wide}}", SEVERITY_STYLES[severity]),
                f"  {row.name:{names}}  {len(row.models):>7,}  {row.places:>7,}",
            )
        if rest := [rows[key] for key in keys[room:]]:
            places = sum(row.places for row in rest)
            more = f"{plural(len(rest), 'less severe or rarer rule')} at {plural(places, 'place')}"
            yield Text(f"{more}: --statistics lists all rules", style="dim")

    def _unreadable(self, height: int | None) -> Iterator[Text]:
        if not self._problems:
            return
        files = len({problem.path for problem in self._problems})
        yield Text(f"{plural(files, 'file')} could not be linted", style=SEVERITY_STYLES["error"])
        shown = self._problems if height is None else self._problems[:_FILES]
        yield from (Text(f"  {clean(str(problem))}") for problem in shown)
        yield from (Text(f"  {line}") for line in left_out(len(self._problems), len(shown), "problem"))
