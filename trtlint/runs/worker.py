"""Lint the file of a job in a worker process, and return the outcome."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from trtlint.dry_build.errors import WheelError
from trtlint.engine.finding import ModelReport
from trtlint.engine.ruleset import OtherRulesError
from trtlint.files import lfs
from trtlint.files.limits import LimitError, limit_work
from trtlint.files.problem import Problem
from trtlint.measurement.inputs import InputsError
from trtlint.runs import cache
from trtlint.runs.bugs import describe
from trtlint.runs.exits import Exit
from trtlint.runs.job import Job, Outcome


def lint_jobs(jobs: Iterable[Job]) -> list[Outcome]:
    """Lint the files of several jobs, one after the other."""
    return [lint_job(job) for job in jobs]


def lint_job(job: Job) -> Outcome:
    """Lint the file of a job.  Errors are part of the outcome."""
    if job.refused:
        return failed(job, job.refused, Exit.USAGE)
    try:
        pointer = job.case.address is None and lfs.is_pointer(job.case.path)
        with limit_work(job.case.path, *job.case.build_files):
            outcome = _skipped(job) if pointer else _lint(job)
    except LimitError as error:
        outcome = failed(job, error.message, Exit.UNREADABLE)
    except MemoryError:
        outcome = failed(job, "not enough memory to lint this file", Exit.UNREADABLE)
    except (InputsError, OtherRulesError, WheelError) as error:
        outcome = failed(job, str(error), Exit.USAGE)
    except Exception as error:  # noqa: BLE001 - a bug must not hide the results of other files
        outcome = failed(job, describe(error), Exit.BUG)
    return outcome


def failed(job: Job, message: str, code: Exit) -> Outcome:
    """Return the outcome of a job that could not run, with an error message."""
    problem = Problem(job.name, message)
    return Outcome(
        tuple(ModelReport(job.name, target.words, errors=(problem,)) for target in job.case.built_for), code
    )


def finish(job: Job, reports: Iterable[ModelReport]) -> Outcome:
    """Return the outcome for the reports of a job.

    The reports are new or come from the cache. In the outcome, the file has the name that the user gave.
    """
    named = tuple(renamed(report, job.name) for report in reports)
    if job.revised:
        revision = cache.revision(job.case)
        named = tuple(replace(report, revision=revision) for report in named)
    if job.require_lfs:
        named = tuple(_requiring_data(report, job.case.path) for report in named)
    return Outcome(named, Exit.UNREADABLE if any(report.errors for report in named) else Exit.CLEAN)


def _lint(job: Job) -> Outcome:
    reports = job.case.evaluated()
    if job.store is not None:
        cache.keep(job.store, job.case.path, reports)
    return finish(job, reports)


def _skipped(job: Job) -> Outcome:
    if job.require_lfs:
        return failed(job, lfs.POINTER, Exit.UNREADABLE)
    notes = (f"skipped: {lfs.POINTER}",)
    return Outcome(
        tuple(ModelReport(job.name, target.words, notes=notes, skipped=True) for target in job.case.built_for)
    )


def renamed(report: ModelReport, name: str) -> ModelReport:
    """Return a copy of a report with ``name`` as the name of the model, in the report and its errors."""
    if report.path == name:
        return report
    errors = tuple(replace(problem, path=name) for problem in report.errors)
    return replace(report, path=name, errors=errors)


def _requiring_data(report: ModelReport, model: Path) -> ModelReport:
    """Add an error to a report for each external data file that Git LFS has not fetched."""
    missing = tuple(
        Problem(report.path, f"the external data file {name!r} is {lfs.POINTER}")
        for name in report.data_files
        if lfs.is_pointer(model.parent / name)
    )
    return replace(report, errors=report.errors + missing) if missing else report
