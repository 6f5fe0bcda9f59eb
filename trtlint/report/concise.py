"""Report with one line for each finding, for editors and ``grep``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, TextIO

from trtlint.engine.caveats import caveats
from trtlint.engine.finding import Finding, ModelReport, Report
from trtlint.engine.targets import labels, merge, seen_for
from trtlint.model.sources import repository
from trtlint.report.accepted import Accepted, gone_notes
from trtlint.report.counts import hidden_line
from trtlint.report.escape import clean
from trtlint.report.formats import ReportWriter, Style
from trtlint.report.names import line_of
from trtlint.report.sourcelines import shown_path

if TYPE_CHECKING:
    from pathlib import Path


def lines(report: Report, *, show_conditional: bool = False) -> Iterator[str]:
    """Yield one line for each finding, and a closing line about hidden findings."""
    unseen: list[Finding] = []
    accepted = Accepted()
    for _, group in groupby(report.models, key=lambda model: model.path):
        models = list(group)
        yield from file_lines(models, show_conditional=show_conditional, root=repository())
        unseen += [] if show_conditional else conditional(models)
        accepted.add(models)
    yield from run_notes(report.notes)
    yield from closing(unseen, accepted)


def writer(file: TextIO, style: Style) -> ReportWriter:
    """Return a writer for this format."""
    return _ConciseWriter(file, style)


class _ConciseWriter:
    def __init__(self, file: TextIO, style: Style) -> None:
        self._file = file
        self._style = style
        self._unseen: list[Finding] = []
        self._accepted = Accepted()

    def add(self, models: Sequence[ModelReport]) -> None:
        shown = self._style.show_conditional
        for line in file_lines(
            models, show_conditional=shown, quiet=self._style.quiet, root=self._style.root
        ):
            print(line, file=self._file)
        self._unseen += [] if shown else conditional(models)
        self._accepted.add(models)

    def close(self, notes: Sequence[str]) -> None:
        if not self._style.quiet:
            for line in (*run_notes(notes), *closing(self._unseen, self._accepted)):
                print(line, file=self._file)


def file_lines(
    models: Sequence[ModelReport],
    *,
    show_conditional: bool = False,
    quiet: bool = False,
    root: Path | None = None,
) -> Iterator[str]:
    """Yield the lines about one file, from its reports for all targets.

    Args:
        models: the reports.
        show_conditional: true to show findings that depend on unset options.
        quiet: true to omit notes; caveats stay.
        root: the repository, for relative paths.
    """
    names = labels([model.target for model in models])
    for problem in dict.fromkeys(problem for model in models for problem in model.errors):
        yield clean(f"{problem.path}: error: {str(problem).removeprefix(f'{problem.path}: ')}")
    for caveat in caveats(models):
        yield clean(f"{models[0].path}: {caveat.severity}: {caveat.message}")
    notes = dict.fromkeys(note for model in models for note in model.notes)
    for note in () if quiet else (*notes, *gone_notes(models)):
        yield clean(f"{models[0].path}: note: {note}")
    found = [model.findings + (model.conditional if show_conditional else ()) for model in models]
    for item in merge(found):
        suffix = f" [{seen_for(item.targets, names)}]" if len(models) > 1 else ""
        yield _line(models[0].path, item.finding, root) + suffix


def conditional(models: Sequence[ModelReport]) -> list[Finding]:
    """Return the findings of one file that depend on unset options, without duplicates."""
    return [item.finding for item in merge([model.conditional for model in models])]


def closing(unseen: Iterable[Finding], accepted: Accepted) -> Iterator[str]:
    """Yield a line that counts the hidden findings, or nothing if none are hidden.

    Args:
        unseen: findings that the report hides because they depend on unset options.
        accepted: counts of suppressed findings and of findings in the baseline.
    """
    yield from filter(None, (hidden_line(unseen, accepted),))


def run_notes(notes: Iterable[str]) -> Iterator[str]:
    """Yield the notes about the whole run."""
    yield from (clean(f"note: {note}") for note in notes)


def _line(path: str, finding: Finding, root: Path | None) -> str:
    """Format a finding: ``net.py:17: warning[ACC101] ... (vit.onnx, blocks.0)``.

    If the source line is unknown, the text starts with the model and the module or node.
    """
    site = finding.sites[0] if finding.sites else None
    where = (site.module or site.node) if site is not None else ""
    line = "" if site is None else line_of(path, site.node)
    source = None if site is None else site.source
    suffix = ""
    if source is not None and source.found:
        place = f"{shown_path(source, root)}:{source.line}"
        suffix = f" ({path}, {where})" if where else f" ({path})"
    else:
        place = f"{path}:{line}" if line else f"{path}: {where}" if where else path
    more = len(finding.sites) - 1
    suffix += f" (+{more} more {'site' if more == 1 else 'sites'})" if more > 0 else ""
    if finding.depends:
        suffix += f" (depends on {', '.join(finding.depends)})"
    return clean(f"{place}: {finding.severity}[{finding.rule}] {finding.message}{suffix}")
