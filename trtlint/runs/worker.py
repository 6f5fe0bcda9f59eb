"""The part that runs in each process: one job in, one outcome out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from trtlint.dry_build.errors import WheelError
from trtlint.engine.finding import ModelReport
from trtlint.engine.rulebook import RuleEntry, with_builtin
from trtlint.files import lfs
from trtlint.files.limits import LimitError, limited
from trtlint.files.problem import Problem
from trtlint.runs import cache
from trtlint.runs.bugs import describe
from trtlint.runs.exits import Exit
from trtlint.runs.job import Job, Outcome, RuleSet
from trtlint.runs.judging import trials_of

_CHECKED: dict[RuleSet, tuple[RuleEntry, ...]] = {}


class OtherRulesError(Exception):
    """The rule files that a process finds are not those that the run began with."""


def describe_rules(folders: tuple[str, ...], entries: Iterable[RuleEntry]) -> RuleSet:
    """Name rules for other processes; this one keeps them as they are."""
    chosen = tuple(entries)
    ruleset = RuleSet(folders, tuple(entry.id for entry in chosen), cache.digest_of_rules(chosen))
    _CHECKED[ruleset] = chosen
    return ruleset


def lint_jobs(jobs: Iterable[Job]) -> list[Outcome]:
    """Lint files one after the other."""
    return [lint_job(job) for job in jobs]


def lint_job(job: Job) -> Outcome:
    """Lint one file; whatever happens is in the outcome."""
    if job.refused:
        return failed(job, job.refused, Exit.USAGE)
    try:
        pointer = job.far is None and lfs.is_pointer(job.path)
        with limited(job.path, *_build_files(job)):
            outcome = _skipped(job) if pointer else _lint(job)
    except LimitError as error:
        outcome = failed(job, error.message, Exit.UNREADABLE)
    except MemoryError:
        outcome = failed(job, "not enough memory to lint this file", Exit.UNREADABLE)
    except (OtherRulesError, WheelError) as error:
        outcome = failed(job, str(error), Exit.USAGE)
    except Exception as error:  # noqa: BLE001 - a bug met in one file must not hide the others
        outcome = failed(job, describe(error), Exit.BUG)
    return outcome


def failed(job: Job, message: str, code: Exit) -> Outcome:
    """The outcome of a job that could not be done."""
    problem = Problem(job.name, message)
    return Outcome(
        tuple(ModelReport(job.name, target.words, errors=(problem,)) for target in job.targets), code
    )


def finish(job: Job, reports: Iterable[ModelReport]) -> Outcome:
    """The outcome for reports that were made now or earlier, under the name that the user gave."""
    named = tuple(renamed(report, job.name) for report in reports)
    if job.revised:
        revision = cache.revision(job)
        named = tuple(replace(report, revision=revision) for report in named)
    if job.require_lfs:
        named = tuple(_requiring_data(report, job.path) for report in named)
    return Outcome(named, Exit.UNREADABLE if any(report.errors for report in named) else Exit.CLEAN)


def _build_files(job: Job) -> tuple[str, ...]:
    record = None if job.gathered is None else job.gathered.record
    return () if record is None else record.files


def _lint(job: Job) -> Outcome:
    # Imported here: a run whose results are all known lints nothing, and needs neither onnx nor numpy.
    from trtlint.runs.linting import lint_file

    elsewhere = None
    if job.far is not None:
        from trtlint.remote.model import RemoteModel

        elsewhere = RemoteModel(job.far)
    reports = lint_file(
        job.path,
        job.targets,
        _rules(job.rules),
        job.command,
        job.gathered,
        trials_of(job.path, job.targets, job.dry, job.measurement),
        weights=job.weights,
        elsewhere=elsewhere,
    )
    if job.store is not None:
        cache.keep(job.store, job.path, reports)
    return finish(job, reports)


def _skipped(job: Job) -> Outcome:
    if job.require_lfs:
        return failed(job, lfs.POINTER, Exit.UNREADABLE)
    notes = (f"skipped: {lfs.POINTER}",)
    return Outcome(
        tuple(ModelReport(job.name, target.words, notes=notes, skipped=True) for target in job.targets)
    )


def _rules(wanted: RuleSet) -> tuple[RuleEntry, ...]:
    """The rules, found once; a worker of a cluster may live longer than a version of their files."""
    if wanted not in _CHECKED:
        book = with_builtin(map(Path, wanted.folders))
        ids = frozenset(wanted.ids)
        chosen = tuple(entry for entry in book.entries if entry.id in ids)
        if cache.digest_of_rules(chosen) != wanted.digest:
            raise OtherRulesError("the rule files changed, or are others where the linting is done")
        _CHECKED[wanted] = chosen
    return _CHECKED[wanted]


def renamed(report: ModelReport, name: str) -> ModelReport:
    """A report, and the errors in it, under another name."""
    if report.path == name:
        return report
    errors = tuple(replace(problem, path=name) for problem in report.errors)
    return replace(report, path=name, errors=errors)


def _requiring_data(report: ModelReport, model: Path) -> ModelReport:
    """The report with an error for each file of external data that Git LFS has not fetched."""
    missing = tuple(
        Problem(report.path, f"external data {name!r} are {lfs.POINTER}")
        for name in report.data_files
        if lfs.is_pointer(model.parent / name)
    )
    return replace(report, errors=report.errors + missing) if missing else report
