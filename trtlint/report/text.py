"""Report for a terminal, with findings drawn like compiler messages.

Colours are used if the console supports them.  Lines are wrapped only on a terminal.  The findings of a file
are printed as soon as the file is linted.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, TextIO

from rich.cells import cell_len
from rich.text import Text

from trtlint.engine.caveats import caveats
from trtlint.engine.finding import ModelReport, Report
from trtlint.engine.targets import MergedFinding, changes, labels, merge, seen_for, span
from trtlint.files.problem import Problem
from trtlint.model.sources import repository
from trtlint.report.closing import ReportFooter, examined
from trtlint.report.counts import gone_notes, no_findings, places_in_baseline, plural
from trtlint.report.drawing import draw
from trtlint.report.escape import clean
from trtlint.report.findinglines import (
    SEVERITY_STYLES,
    ShownExplanations,
    block,
    details,
    marks,
    model_line,
    where,
)
from trtlint.report.formats import ReportWriter, Style
from trtlint.report.layout import hang
from trtlint.report.locations import shown_source
from trtlint.report.manual import rule_page
from trtlint.report.partition import lines_of_targets
from trtlint.report.ruletable import RuleTable

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

_FRAME = "bold blue"
ANY_VERSION = "(any version)"
"""Text in place of the version, for a target whose version is unset."""
_UNSOURCED = "to see lines of your Python code, export the model with torch.onnx.export(..., dynamo=True)"
"""Hint for models without the metadata of source lines.
https://docs.pytorch.org/docs/stable/onnx_export.html
"""
_CLEAN = 10
"""In a run with more files than this number, files without findings get no line."""


def render(report: Report, file: TextIO) -> None:
    """Write the findings of all files, and the closing lines, to ``file``."""
    groups = [list(group) for _, group in groupby(report.models, key=lambda model: model.path)]
    text = TextReport(file, files=len(groups), root=repository())
    for models in groups:
        text.add(models)
    text.close(report.notes)


def writer(file: TextIO, style: Style) -> ReportWriter:
    """Return a writer for this format."""
    return TextReport(
        file,
        files=style.files,
        show_conditional=style.show_conditional,
        quiet=style.quiet,
        table=not style.statistics,
        root=style.root,
    )


class TextReport:
    """Text report: the findings file by file, and closing lines.

    Args:
        file: the output stream.
        files: the number of files.
        show_conditional: true to show findings that depend on unset options.
        quiet: true to write only findings and errors, or one line for each model if there are several models.
        table: true to end a report about several models with a table of rules.
        root: the repository, for relative paths of source lines.
    """

    def __init__(
        self,
        file: TextIO,
        *,
        files: int = 1,
        show_conditional: bool = False,
        quiet: bool = False,
        table: bool = True,
        root: Path | None = None,
    ) -> None:
        self._file = file
        self._root = root
        self._console = _console(file)
        self._width = self._console.width if self._console is not None and file.isatty() else None
        self._files = files
        self._show_conditional = show_conditional
        self._quiet = quiet
        self._sourced = False
        self._unsourced = False
        self._closing = ReportFooter()
        self._problems = 0
        self._rule = ""
        self._explained = ShownExplanations() if files > 1 else None
        self._after_line = False
        self._table = RuleTable() if table and files > 1 and not quiet else None

    def _print(self, *lines: Text) -> None:
        if self._console is None or not self._console.is_terminal:
            # Here, no styles and no wrapping are needed. The console would only write the text more slowly.
            self._file.write("".join(f"{line.plain}\n" for line in lines))
            return
        for line in lines:
            self._console.print(line, soft_wrap=True)

    def add(self, models: Sequence[ModelReport]) -> None:
        """Write the findings of one file.

        Args:
            models: the reports of the file, one for each target.
        """
        problems = list(dict.fromkeys(problem for model in models for problem in model.errors))
        for problem in problems:
            self._problem(problem)
        self._problems += bool(problems)
        self._closing.accept(models)
        for caveat in caveats(models):
            first = Text(f"{caveat.severity}: ", style=SEVERITY_STYLES[caveat.severity])
            self._print(*hang(first, Text(clean(f"{models[0].path}: {caveat.message}")), self._width))
        notes = dict.fromkeys(note for model in models for note in model.notes)
        for note in (*notes, *gone_notes(models)):
            self._note(f"{models[0].path}: {note}")
        linted = examined(models)
        if not linted:
            return
        self._unsourced = self._unsourced or any(map(_lacks_lines, linted))
        seen = merge([model.findings for model in linted])
        conditional = merge([model.conditional for model in linted])
        self._closing.add(
            linted,
            [item.finding for item in seen],
            [item.finding for item in conditional],
            shown=self._show_conditional,
        )
        shown = [*seen, *(conditional if self._show_conditional else ())]
        if self._table is not None:
            self._table.add(models[0].path, [item.finding for item in seen])
        if shown and self._quiet and self._files > 1:
            self._print(Text(model_line(models[0].path, [item.finding for item in shown])))
            return
        self._findings(shown if self._explained is None else self._explained.joined(shown), linted)
        if not seen:
            unsure = any(model.unsearched for model in linted)
            if not shown and not unsure and self._files <= _CLEAN and not self._quiet:
                self._print(_clean_line(linted))
        self._changes(linted)
        for line in lines_of_targets(linted):
            self._print(*hang(Text(), Text(clean(line)), self._width))

    def close(self, notes: Iterable[str] = ()) -> None:
        """Write the closing lines: counts, and the unset options that some findings depend on.

        Args:
            notes: notes about the whole run.
        """
        if self._quiet:
            return
        for note in notes:
            self._note(note)
        if self._after_line:
            self._print(Text())
        if self._closing.forms and (self._files > 1 or self._rule):
            self._print(Text(self._closing.counts(), style="bold"))
            if self._table is not None:
                self._print(*self._table.lines(self._width))
        if self._problems and self._files > 1:
            self._print(Text(f"{plural(self._problems, 'file')} could not be linted", style="bold red"))
        if line := self._closing.hidden:
            self._print(*hang(Text(), Text(line), self._width))
        room = None if self._width is None else self._width - len("next: ")
        for more in self._closing.further(room):
            self._print(*hang(Text("next: ", style="bold"), Text(more), self._width))
        if self._rule:
            self._print(Text(f"to explain a rule: trtlint rule {self._rule}", style="dim"))
            if self._unsourced and not self._sourced:
                self._print(*hang(Text(), Text(_UNSOURCED, style="dim"), self._width))

    def _note(self, note: str) -> None:
        if not self._quiet:
            line = Text(clean(note), style="dim")
            self._print(*hang(Text("note: ", style="dim"), line, self._width))

    def _problem(self, problem: Problem) -> None:
        first = Text.assemble(("error: ", SEVERITY_STYLES["error"]))
        self._print(*hang(first, Text(clean(str(problem))), self._width))

    def _findings(self, shown: Iterable[MergedFinding], models: Sequence[ModelReport]) -> None:
        names = labels([model.target for model in models])
        printed: dict[str, set[str]] = {}
        blocks: dict[object, list[MergedFinding]] = {}
        for item in shown:
            blocks.setdefault(block(item.finding), []).append(item)
        for items in blocks.values():
            for item in items:
                drawn = items if item is items[0] else []
                self._finding(item, drawn, models, names, printed.setdefault(item.finding.rule, set()))

    def _finding(
        self,
        item: MergedFinding,
        drawn: Sequence[MergedFinding],
        models: Sequence[ModelReport],
        names: Sequence[str],
        printed: set[str],
    ) -> None:
        """Write a finding.

        Args:
            item: the finding.
            drawn: all findings about the same nodes, beginning with ``item``; empty if the nodes are already
                drawn.
            models: the reports of the file.
            names: short names of the targets.
            printed: the lines about the rule that were already written for this file.
        """
        finding = item.finding
        self._rule = self._rule or finding.rule
        short = None if self._explained is None else self._explained.again(finding)
        if short is not None:
            self._short(item, short, models, names)
            return
        if self._after_line:
            self._print(Text())
            self._after_line = False
        style = SEVERITY_STYLES[finding.severity]
        # Terminals get a link to click; files and pipes get plain text.
        page = rule_page(finding.rule) if self._file.isatty() else ""
        named = (f"{finding.severity}[{finding.rule}]", f"{style} link {page}" if page else style)
        title = Text.assemble(named, " ", (finding.name, "bold"), ": ")
        message = Text(clean(finding.message), style="bold")
        lines = hang(Text(), title + message, self._width)
        place, others = where(models[0].path, finding.sites)
        others += "" if drawn else "  (drawn above)"
        arrow = Text.assemble(("  --> ", _FRAME), clean(models[0].path), place)
        if self._width and cell_len(arrow.plain + others) > self._width:
            lines += [arrow, *(hang(Text(" " * 6), Text(others.strip()), self._width) if others else ())]
        else:
            lines.append(arrow + Text(others))
        if finding.sites and drawn:
            site = finding.sites[0]
            self._sourced = self._sourced or site.source is not None
            if site.source is not None and str(site.source) != site.node:
                exported = Text(f"      exported from {clean(shown_source(site.source, self._root))}")
                lines += hang(Text(" " * 6), exported[6:], self._width)
            lines += draw(marks([other.finding for other in drawn]), self._width)
        self._print(*lines)
        several = len(models) > 1
        target = "" if several or ANY_VERSION in models[0].target else models[0].target
        self._facts(details(finding, target, several=self._files > 1), printed)
        if several:
            self._fact("seen for", seen_for(item.targets, names))
        self._print(Text())

    def _short(
        self, item: MergedFinding, message: str, models: Sequence[ModelReport], names: Sequence[str]
    ) -> None:
        """Write one line for a finding whose rule the report has already explained."""
        finding = item.finding
        title = Text.assemble(
            (f"{finding.severity}[{finding.rule}]", SEVERITY_STYLES[finding.severity]), f" {finding.name}: "
        )
        place, others = where(models[0].path, finding.sites)
        rest = f"{clean(models[0].path)}{place}{others}"
        rest += f" [{seen_for(item.targets, names)}]" if len(models) > 1 else ""
        rest += f": {clean(message)}" if message else ""
        self._print(*hang(title, Text(rest), self._width))
        self._after_line = True

    def _facts(self, lines: Iterable[tuple[str, str]], printed: set[str]) -> None:
        """Write the lines below a drawing.

        Lines about the rule that were already written for this file are replaced by ``as above``.
        """
        repeated = []
        for key, group in groupby(lines, key=lambda line: line[0]):
            values = [value for _, value in group]
            if printed.issuperset(values):
                repeated.append(key)
                continue
            printed.update(values)
            for value in values:
                self._fact(key, value)
        if repeated:
            self._fact(", ".join(repeated), "as above")

    def _fact(self, key: str, value: str) -> None:
        first = Text.assemble(("   = ", _FRAME), (f"{key}: ", "bold"))
        self._print(*hang(first, Text(clean(value)), self._width))

    def _changes(self, models: Sequence[ModelReport]) -> None:
        """Write the findings that each target adds or removes, compared with the previous target."""
        steps = changes(models)
        if not steps:
            return
        self._print(Text(f"{clean(models[0].path)}: changes from target to target", style="bold"))
        widest = max(len(f"{step.before} -> {step.after}") for step in steps)
        for step in steps:
            head = f"{step.before} -> {step.after}".ljust(widest)
            entries = [("-", "green", title) for title in step.gone]
            entries += [("+", "red", title) for title in step.new]
            for sign, style, title in entries:
                self._print(Text.assemble(f"  {head}  ", (f"{sign} {clean(title)}", style)))
                head = " " * widest
        self._print(Text())


def _lacks_lines(model: ModelReport) -> bool:
    """Return whether a model lacks source lines because the TorchScript exporter wrote the model.

    The other exporter of PyTorch (dynamo) records the lines in the metadata of the model.
    """
    found = (*model.findings, *model.conditional)
    return model.exporter == "torchscript" and not any(s.source for finding in found for s in finding.sites)


def _console(file: TextIO) -> Console | None:
    """Return a console of the package rich for a stream, or None if the stream gets plain text.

    rich treats a file as a terminal if some environment variables are set:
    https://rich.readthedocs.io/en/stable/console.html#environment-variables
    """
    if not file.isatty() and not {"FORCE_COLOR", "TTY_COMPATIBLE"} & os.environ.keys():
        return None
    from trtlint.report.terminal import console

    return console(file)


def _clean_line(models: Sequence[ModelReport]) -> Text:
    target = span([model.target for model in models])
    words = no_findings(places_in_baseline(models))
    return Text.assemble(f"{clean(models[0].path)}: ", (words, "green"), f" for {clean(target)}")
