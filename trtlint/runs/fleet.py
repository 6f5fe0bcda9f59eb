"""Lint many models with a cache: in this process, in worker processes or on a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from msgspec.structs import replace

from trtlint.errors import SettingError
from trtlint.policy.config import shown
from trtlint.policy.options import LintOptions
from trtlint.policy.review import Policy
from trtlint.policy.settings import Notify
from trtlint.runs import pools
from trtlint.runs.cache import Cache, folder
from trtlint.runs.dryjob import DryJob
from trtlint.runs.job import Job, Outcome
from trtlint.runs.run import JobRunner
from trtlint.runs.task import Task

_MOST_TOGETHER = 50
"""Largest number of jobs in one batch for a cluster.  If the cluster gives up a batch, all its jobs fail."""
_BATCHES = 40
"""Smallest number of batches.  With many batches, every worker gets some of them."""


def outcomes(tasks: Sequence[Task], options: LintOptions, notify: Notify) -> Iterator[Outcome]:
    """Lint the file of each task, and yield the outcomes in the order of the tasks.

    Args:
        tasks: the files to lint.
        options: the command line.
        notify: function that shows a warning to the user.

    Raises:
        SettingError: the executor cannot be used.
    """
    kept = _RunCache(options, notify)
    with_builds = any(task.has_build for task in tasks)
    runner = JobRunner() if with_builds else _runner(options, tasks)
    if runner.pools is not None:
        for task in tasks:
            task.case.rules.stamp()
    yield from runner.outcomes(_jobs(tasks, options, kept))
    kept.sweep()


def _runner(options: LintOptions, tasks: Sequence[Task]) -> JobRunner:
    if options.executor is not None:
        if not options.executor.startswith(pools.SCHEME):
            raise SettingError(f"--executor {options.executor!r}: write it as {pools.SCHEME}HOST:PORT")
        return JobRunner(pools.dask(options.executor), remote=True, batch=_batch(len(tasks)))
    workers = min(options.jobs or pools.cores(), len(tasks))
    if workers > 1:
        workers = min(workers, _fitting(tasks))
    return JobRunner(pools.processes, workers) if workers > 1 else JobRunner()


def _batch(count: int) -> int:
    """Return the number of jobs in a batch for a worker.  If a worker dies, only one batch is repeated.

    ``count`` is the number of all jobs.
    """
    return max(1, min(_MOST_TOGETHER, count // _BATCHES))


def _fitting(tasks: Sequence[Task]) -> int:
    """Return how many worker processes fit into memory.

    Each process is assumed to run the largest dry build that a task requests.
    """
    wanted = [(task.file, each) for task in tasks for each in task.case.evidence if isinstance(each, DryJob)]
    if not wanted:
        return len(tasks)
    from trtlint.dry_build.drybuild import roughly_needed
    from trtlint.runs.dry import available_memory

    largest = max(min(roughly_needed(file, dry.level), dry.limits.memory) for file, dry in wanted)
    return max(1, available_memory() // largest)


def _jobs(tasks: Sequence[Task], options: LintOptions, kept: _RunCache) -> list[tuple[Job, Cache | None]]:
    jobs: list[tuple[Job, Cache | None]] = []
    for task in tasks:
        evidence = tuple(
            replace(each, kept=kept.folder) if isinstance(each, DryJob) else each
            for each in task.case.evidence
        )
        job = Job(
            case=replace(task.case, evidence=evidence, policy=Policy()),
            name=task.name,
            require_lfs=options.require_lfs,
            refused=task.problem,
            revised=options.revisions,
        )
        # The cache is for models. Build files are read each time; dry builds have their own cache.
        apart = task.has_build or task.case.evidence or task.problem
        jobs.append((job, None if apart else kept.cache))
    return jobs


class _RunCache:
    """The cache for the results of a run.

    Attributes:
        folder: the folder of the cache; None if results are not cached.
    """

    def __init__(self, options: LintOptions, notify: Notify) -> None:
        self._notify = notify
        if options.cache_dir == "":
            raise SettingError("--cache-dir is empty; name a folder")
        self.folder: Path | None = None
        if options.cache:
            named = options.cache_dir
            self.folder = folder() if named is None else Path(os.path.realpath(named))

    @cached_property
    def cache(self) -> Cache | None:
        """The cache; None if caching is off, or if the folder is not a cache."""
        if self.folder is None:
            return None
        found = Cache(self.folder)
        if not found.usable:
            self._notify(f"warning: {shown(self.folder)}: not a trtlint cache; caching is off")
        return found if found.usable else None

    def sweep(self) -> None:
        if self.folder is not None:
            Cache(self.folder).sweep()
