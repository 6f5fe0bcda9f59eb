"""Summary of many models on one screen: counts by rule, and unreadable files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TextIO

from msgspec import Struct, field
from rich.text import Text

from trtlint.engine.caveats import Caveat, caveats
from trtlint.engine.finding import SEVERITIES, Finding, ModelReport, Severity
from trtlint.engine.targets import merge, span
from trtlint.files.problem import Problem
from trtlint.report.accepted import Accepted
from trtlint.report.counts import by_severity, files_in_words, hidden_line, plural
from trtlint.report.escape import clean
from trtlint.report.findinglines import SEVERITY_STYLES
from trtlint.report.formats import ReportWriter, Style
from trtlint.report.layout import hang
from trtlint.report.terminal import console

SCREEN = 24
"""Lines of the smallest usual terminal: https://vt100.net/docs/vt100-ug/chapter1.html."""
_FIXED = 8
"""Number of summary lines that are neither rules nor files, plus one line for the prompt."""
_FILES = 4
"""Largest number of unreadable files that a summary on one screen names."""


class _Row(Struct):
    """The counts of the findings of one rule with one severity."""

    name: str
    models: int = 0
    places: int = 0


class Summary(Struct):
    """Counts of the findings in several files."""

    _rows: dict[tuple[Severity, str], _Row] = field(default_factory=dict)
    _findings: Counter[str] = field(default_factory=Counter)
    _folded: int = 0
    _conditional: list[Finding] = field(default_factory=list)
    _problems: list[Problem] = field(default_factory=list)
    _targets: dict[str, None] = field(default_factory=dict)
    _forms: Counter[str] = field(default_factory=Counter)
    _affected: int = 0
    _accepted: Accepted = field(default_factory=Accepted)
    _caveats: list[tuple[str, Caveat]] = field(default_factory=list)

    def add(self, models: Sequence[ModelReport]) -> None:
        """Count the findings of one file, from its reports for all targets."""
        problems = dict.fromkeys(problem for model in models for problem in model.errors)
        self._problems += problems
        done = [model for model in models if not model.skipped]
        linted = [model for model in done if not model.errors or model.findings or model.conditional]
        self._forms.update([linted[0].form] if linted else [])
        self._targets.update(dict.fromkeys(model.target for model in linted))
        seen = [item.finding for item in merge([model.findings for model in models])]
        self._affected += bool(seen)
        self._findings.update(finding.severity for finding in seen)
        self._folded += sum(len(finding.includes) for finding in seen)
        self._conditional += [item.finding for item in merge([model.conditional for model in models])]
        self._accepted.add(models)
        self._caveats += [(models[0].path, caveat) for caveat in caveats(models)]
        for key in {(finding.severity, finding.rule) for finding in seen}:
            found = [finding for finding in seen if (finding.severity, finding.rule) == key]
            row = self._rows.setdefault(key, _Row(found[0].name))
            row.models += 1
            row.places += sum(max(len(finding.sites), 1) for finding in found)

    def write(self, file: TextIO, *, height: int | None = None) -> None:
        """Write the counts by rule, the most severe rules first.

        Args:
            file: the stream to write to.
            height: lines of the screen. If not all rules fit, the last line counts the least severe and
                rarest rules. None to list all rules and all unreadable files.
        """
        out = console(file)
        width = out.width if file.isatty() else None
        for line in self._lines(height):
            for part in hang(Text(), line, width):
                out.print(part, soft_wrap=True)

    def _lines(self, height: int | None) -> Iterator[Text]:
        affected = files_in_words(self._forms, self._affected)
        target = f" for {clean(span(list(self._targets)))}" if self._targets else ""
        found = by_severity(self._findings) if self._findings else self._accepted.clean
        yield Text(f"{found} in {affected}{target}", style="bold")
        yield from self._table(height)
        shown = self._caveats if height is None else self._caveats[:_FILES]
        for path, caveat in shown:
            yield Text(f"{caveat.severity}: {clean(path)}: {clean(caveat.message)}")
        if len(shown) < len(self._caveats):
            more = plural(len(self._caveats) - len(shown), "more model")
            yield Text(f"and {more} with such notes")
        yield from self._unreadable(height)
        if line := hidden_line(self._conditional, self._accepted, self._folded):
            yield Text(line)

    def _table(self, height: int | None) -> Iterator[Text]:
        def rank(key: tuple[Severity, str]) -> tuple[int, int, int, str]:
            row = self._rows[key]
            return SEVERITIES.index(key[0]), -row.models, -row.places, key[1]

        keys = sorted(self._rows, key=rank)
        if not keys:
            return
        room = len(keys)
        if height is not None:
            files = sum(min(len(listed), _FILES + 1) for listed in (self._problems, self._caveats))
            room = max(height - _FIXED - files, 1)
            room = len(keys) if len(keys) <= room + 1 else room
        shown = keys[:room]
        wide = max(len(f"{severity}[{rule}]") for severity, rule in shown)
        names = max(len(self._rows[key].name) for key in shown)
        yield Text(f"{'':{wide}}  {'':{names}}  {'models':>7}  {'places':>7}", style="dim")
        for severity, rule in shown:
            row = self._rows[severity, rule]
            title = f"{severity}[{rule}]"
            yield Text.assemble(
                (f"{title:{wide}}", SEVERITY_STYLES[severity]),
                f"  {row.name:{names}}  {row.models:>7,}  {row.places:>7,}",
            )
        if rest := [self._rows[key] for key in keys[room:]]:
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
        if len(shown) < len(self._problems):
            yield Text(f"  and {plural(len(self._problems) - len(shown), 'more problem')}")


def writer(file: TextIO, style: Style) -> ReportWriter:
    """Return a writer for this format."""
    return SummaryWriter(file, all_rules=style.statistics)


class SummaryWriter:
    """Writer of the summary at the end of a run.

    Args:
        file: the stream to write to.
        apart: true to write an empty line first, because another format was written before.
        all_rules: true to list all rules; false to list only as many as fit on a screen.
    """

    def __init__(self, file: TextIO, *, apart: bool = False, all_rules: bool = True) -> None:
        self._file = file
        self._apart = apart
        self._height = None if all_rules else SCREEN
        self._summary = Summary()

    def add(self, models: Sequence[ModelReport]) -> None:
        """Count the findings of one file."""
        self._summary.add(models)

    def close(self, notes: Sequence[str]) -> None:  # noqa: ARG002
        """Write the summary."""
        if self._apart:
            print(file=self._file)
        self._summary.write(self._file, height=self._height)
