"""``trtlint lint``: lint files, write the reports and return one exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from trtlint.commands.reportoptions import require_outputs
from trtlint.commands.streams import notify
from trtlint.commands.tasks import read_tasks
from trtlint.engine.causes import folded
from trtlint.engine.finding import ModelReport
from trtlint.errors import SettingError
from trtlint.model.sources import Sources
from trtlint.policy.baseline import Baseline, BaselineError, require_baseline_path
from trtlint.policy.config import shown
from trtlint.policy.failing import counts, fails, unsearched
from trtlint.policy.options import LintOptions
from trtlint.policy.review import Review
from trtlint.policy.settings import SettingsReader
from trtlint.policy.unmatched import unmatched
from trtlint.process.collection import collect_seldom
from trtlint.report.counts import plural
from trtlint.report.formats import Style
from trtlint.report.outputs import Outputs, ReportOutput
from trtlint.runs.exits import Exit
from trtlint.runs.fleet import outcomes
from trtlint.runs.progress import with_progress
from trtlint.runs.task import Task

if TYPE_CHECKING:
    from trtlint.facts.facts import Facts


_NOT_ALL = "this run did not read all its files"


def run_lint(options: LintOptions, outputs: Sequence[ReportOutput]) -> int:
    """Lint all files, write the reports to ``outputs`` and return the exit code."""
    _refuse_contradictions(options)
    reader = SettingsReader(options, notify)
    tasks = read_tasks(reader, options)
    _warn(tasks)
    if options.show_settings:
        from trtlint.commands.settings import run_settings

        return run_settings(tasks)
    if options.explain_miss is not None:
        from trtlint.commands.explain import run_explain

        return run_explain(tasks, options.explain_miss)
    if options.update_baseline and not reader.baselines:
        raise SettingError("--update-baseline needs --baseline FILE, or a baseline in the configuration")
    lost = _unmatched(tasks, options.paths)
    sources = Sources(source_root=None if options.source_root is None else Path(options.source_root))
    run = _Run(options, reader.baselines)
    protected = _read(tasks)
    if options.write_baseline is not None:
        require_baseline_path(Path(options.write_baseline), protected)
        require_outputs(outputs, protected, [Path(options.write_baseline)])
    style = _style(options, tasks, sources.root, [*protected, *reader.baselines])
    reports = Outputs(outputs, style, sys.stdout)
    collect_seldom()
    for task, found in zip(tasks, run.reports(tasks), strict=True):
        find = sources.finder()
        located = [folded(report).with_options(options.arguments).located(find) for report in found]
        reports.add(located, partial(counts, fail_on=task.settings.fail_on))
    reports.close((*run.notes(), *lost))
    _keep_baselines(reader.baselines.values(), options, protected, whole=run.whole)
    if run.failure:
        return run.failure
    return Exit.FINDINGS if run.found and not options.exit_zero else Exit.CLEAN


def _refuse_contradictions(options: LintOptions) -> None:
    """Raise an error if two options cannot be used together."""
    if options.isolated and options.config is not None:
        raise SettingError("--isolated cannot be used with --config")
    if options.write_baseline is not None and (options.baseline is not None or options.update_baseline):
        raise SettingError("--write-baseline cannot be used with --baseline or --update-baseline")


def _warn(tasks: Iterable[Task]) -> None:
    """Print one warning for each unsupported target."""
    for target in dict.fromkeys(target for task in tasks for target in task.case.built_for):
        if sentence := target.gpu_notice:
            click.echo(f"trtlint: warning: {sentence}", err=True)


def _read(tasks: Iterable[Task]) -> list[Path]:
    """Return the files that a run reads.  The run must not overwrite them."""
    files: dict[Path, None] = {}
    for task in tasks:
        files[task.file] = None
        if task.settings.configuration.file is not None:
            files[task.settings.configuration.file] = None
        files.update((Path(name), None) for name in task.case.build_files)
    return list(files)


def _unmatched(tasks: Iterable[Task], paths: Sequence[str]) -> tuple[str, ...]:
    """Return a note about each path in a configuration that matches no model."""
    local = [task for task in tasks if task.address is None and not task.case.alone]
    used = {task.settings.configuration.file: task.settings.configuration for task in local}
    return tuple(unmatched(used.values(), [task.file for task in local], paths))


def _keep_baselines(
    baselines: Iterable[Baseline], options: LintOptions, protected: Sequence[Path], *, whole: bool
) -> None:
    """Write or update the baselines, and print a message on standard error.

    If ``whole`` is false, the run did not read all its files. Then the entries of models that the run did not
    read are kept.
    """
    for baseline in baselines:
        name = shown(baseline.file)
        if options.write_baseline is not None:
            try:
                recorded = len(baseline)
                kept = 0 if whole else baseline.keep_unseen()
                if not whole and not baseline.models:
                    click.echo(f"trtlint: {name}: not written, because no file was read", err=True)
                    continue
                baseline.write(protected)
            except BaselineError as error:
                raise SettingError(str(error)) from None
            done = f"recorded {plural(recorded, 'place')}"
            if kept:
                done += f", kept {plural(kept, 'place')} of other models ({_NOT_ALL})"
            click.echo(f"trtlint: {name}: {done}; use it with --baseline {name}", err=True)
        elif options.update_baseline:
            dropped = plural(baseline.shrink(protected, whole=whole), "place")
            left = plural(len(baseline), "place")
            unseen = "" if whole or not baseline.missing else f"; kept missing models ({_NOT_ALL})"
            click.echo(f"trtlint: {name}: removed {dropped}, {left} left{unseen}", err=True)


class _Run:
    """Lints all files of a run.

    ``failure`` is the highest exit code of a file.  ``found`` is True if a finding makes the run fail.
    ``whole`` is False if a file was missing, unreadable or skipped.
    """

    def __init__(self, options: LintOptions, baselines: Mapping[Path, Baseline]) -> None:
        self.options = options
        self.baselines = baselines
        self.review = Review(recording=options.write_baseline is not None)
        self.found = False
        self.failure = Exit.CLEAN
        self.whole = True

    def reports(self, tasks: Sequence[Task]) -> Iterator[tuple[ModelReport, ...]]:
        """Yield the reports of each file, after the policy is applied.  Each target has one report."""
        done = with_progress(
            outcomes(tasks, self.options, notify), len(tasks), name=lambda index: tasks[index].file.name
        )
        for task, outcome in zip(tasks, done, strict=True):
            self.failure = max(self.failure, outcome.exit)
            if outcome.exit or any(report.errors or report.skipped for report in outcome.reports):
                self.whole = False
            reports = task.case.reviewed(outcome.reports, self.review)
            self.found = self.found or fails(reports, task.settings.fail_on)
            if unsearched(reports, task.settings.fail_on):
                self.failure = max(self.failure, Exit.UNREADABLE)
            if self.options.update_baseline:  # this run removes these entries
                reports = tuple(replace(report, gone=()) for report in reports)
            yield reports

    def notes(self) -> tuple[str, ...]:
        """Return the notes of the run (``Report.notes``), after all files are reported."""
        if self.options.write_baseline or self.options.update_baseline:
            return self.review.notes()
        return (*self.review.notes(), *(note for each in self.baselines.values() for note in each.notes()))


def _look(tasks: Mapping[str, Task], path: str) -> Facts | None:
    """Read a linted model again and return its facts.

    The result is None if the model cannot be read.
    """
    from trtlint.model.errors import ModelError

    task = tasks.get(path)
    if task is None or task.problem or task.case.alone or task.address is not None:
        return None
    try:
        return task.case.without_experiments().facts()
    except (ModelError, OSError):
        return None


def _style(
    options: LintOptions, tasks: Sequence[Task], root: Path | None, protected: Sequence[Path]
) -> Style:
    """Return the settings of the reports."""
    return Style(
        files=len(tasks),
        rules=list({entry.id: entry for task in tasks for entry in task.settings.rules}.values()),
        root=root,
        show_conditional=options.show_conditional,
        statistics=options.statistics,
        quiet=options.quiet,
        protected=protected,
        look=partial(_look, {str(task.file): task for task in tasks}),
    )
