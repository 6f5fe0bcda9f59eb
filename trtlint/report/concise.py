"""Report with one line for each finding, for editors and ``grep``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from trtlint.engine.caveats import caveats
from trtlint.engine.finding import Finding, ModelReport
from trtlint.engine.targets import labels, merge, seen_for
from trtlint.report.counts import HiddenFindings, gone_notes, hidden_line
from trtlint.report.escape import clean
from trtlint.report.formats import ReportWriter, Style
from trtlint.report.locations import shown_path
from trtlint.report.names import line_of

if TYPE_CHECKING:
    from pathlib import Path


def writer(file: TextIO, style: Style) -> ReportWriter:
    """Return a writer for this format."""
    return _ConciseWriter(file, style)


class _ConciseWriter:
    def __init__(self, file: TextIO, style: Style) -> None:
        self._file = file
        self._style = style
        self._unseen: list[Finding] = []
        self._accepted = HiddenFindings()
        self._folded = 0

    def _print(self, line: str) -> None:
        print(clean(line), file=self._file)

    def add(self, models: Sequence[ModelReport]) -> None:
        path, style = models[0].path, self._style
        names = labels([model.target for model in models])
        for problem in dict.fromkeys(problem for model in models for problem in model.errors):
            self._print(f"{problem.path}: error: {problem.text}")
        for caveat in caveats(models):
            self._print(f"{path}: {caveat.severity}: {caveat.message}")
        notes = dict.fromkeys(note for model in models for note in model.notes)
        for note in () if style.quiet else (*notes, *gone_notes(models)):
            self._print(f"{path}: note: {note}")
        shown = [model.findings + (model.conditional if style.show_conditional else ()) for model in models]
        for item in merge(shown):
            suffix = f" [{seen_for(item.targets, names)}]" if len(models) > 1 else ""
            self._print(_line(path, item.finding, style.root) + suffix)
            self._folded += len(item.finding.includes)
        if not style.show_conditional:
            self._unseen += [item.finding for item in merge([model.conditional for model in models])]
        self._accepted.add(models)

    def close(self, notes: Sequence[str]) -> None:
        if self._style.quiet:
            return
        for note in notes:
            self._print(f"note: {note}")
        if line := hidden_line(self._unseen, self._accepted, self._folded):
            print(line, file=self._file)


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
    return f"{place}: {finding.severity}[{finding.rule}] {finding.message}{suffix}"
