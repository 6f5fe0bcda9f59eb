"""``trtlint lint``: files in, findings out, one exit code."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from trtlint.api import lint_file
from trtlint.commands.bugs import describe
from trtlint.commands.options import LintOptions
from trtlint.commands.setup import rulebook, targets
from trtlint.engine.finding import SEVERITIES, ModelReport, Problem, Report
from trtlint.engine.rulebook import Rule
from trtlint.exits import Exit
from trtlint.files import expand
from trtlint.selection import SelectionError, choose
from trtlint.target import Target


def run_lint(options: LintOptions) -> int:
    """Lint what was asked for, write the report to standard output, return the exit code."""
    builds = targets(options.target)
    for build in builds:
        if sentence := build.unsupported():
            click.echo(f"trtlint: warning: {sentence}", err=True)
    book = rulebook(options.rules)
    if options.explain_miss is not None:
        from trtlint.commands.explain import run_explain

        return run_explain(options, options.explain_miss, book, builds)
    try:
        rules = choose(book.rules, options.select, options.ignore)
    except SelectionError as error:
        raise click.UsageError(str(error)) from None
    files = list(expand(options.paths))
    _collect_seldom()
    run = _Run(rules, builds)
    _write(run.reports(files), len(files), options)
    if run.failure:
        return run.failure
    return Exit.FINDINGS if not options.exit_zero and fails(run.done, options.fail_on) else Exit.CLEAN


def _collect_seldom() -> None:
    """Let the collector see models only, and not while one of a few thousand nodes is read.

    What is loaded so far lives until the end.
    """
    gc.freeze()
    gc.set_threshold(50_000, 10, 10)
    gc.enable()


class _Run:
    """Lints file after file and remembers the reports and the gravest failure."""

    def __init__(self, rules: Sequence[Rule], builds: Sequence[Target]) -> None:
        self.rules = rules
        self.builds = builds
        self.done: list[ModelReport] = []
        self.failure = Exit.CLEAN

    def reports(self, files: Iterable[Path]) -> Iterator[tuple[ModelReport, ...]]:
        """The reports of each file, one for each target."""
        for file in files:
            reports = self._lint(file)
            self.done += reports
            yield reports

    def _lint(self, file: Path) -> tuple[ModelReport, ...]:
        try:
            reports = lint_file(file, self.builds, self.rules)
            if any(report.errors for report in reports):
                self.failure = max(self.failure, Exit.UNREADABLE)
            return reports
        except MemoryError:
            self.failure = max(self.failure, Exit.UNREADABLE)
            problem = Problem(str(file), "not enough memory to lint this file")
        except Exception as error:  # noqa: BLE001 - a bug met in one file must not hide the others
            self.failure = Exit.BUG
            problem = Problem(str(file), describe(error))
        return tuple(ModelReport(problem.path, build.words, errors=(problem,)) for build in self.builds)


def fails(reports: Iterable[ModelReport], fail_on: str) -> bool:
    """Whether a finding is grave and sure enough for exit code 1.

    Args:
        reports: what was found.
        fail_on: the mildest severity that counts, or ``never``.
    """
    if fail_on == "never":
        return False
    counted = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    return any(
        finding.severity in counted and finding.confidence != "low"
        for report in reports
        for finding in report.findings
    )


def _write(reports: Iterator[tuple[ModelReport, ...]], files: int, options: LintOptions) -> None:
    """Write reports as they come; JSON is one document, written at the end."""
    writers = {"full": _write_full, "concise": _write_concise, "json": _write_json}
    writers[options.format](reports, files, options.show_conditional)


def _write_full(reports: Iterator[tuple[ModelReport, ...]], files: int, show_conditional: bool) -> None:
    from trtlint.report.text import TextReport

    text = TextReport(sys.stdout, files=files, show_conditional=show_conditional)
    for models in reports:
        text.add(models)
    text.close()


def _write_concise(reports: Iterator[tuple[ModelReport, ...]], files: int, show_conditional: bool) -> None:
    from trtlint.report import concise

    unseen = []
    for models in reports:
        for line in concise.file_lines(models, show_conditional=show_conditional):
            print(line)
        unseen += [] if show_conditional else concise.conditional(models)
    for line in concise.closing(unseen):
        print(line)


def _write_json(reports: Iterator[tuple[ModelReport, ...]], files: int, show_conditional: bool) -> None:
    from trtlint.report.json import dumps

    print(dumps(Report(tuple(report for models in reports for report in models))))
