"""Lint many models with a cache, in this or other processes, and yield the results in order."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import ExitStack
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import TracebackType

from msgspec import Struct
from msgspec.structs import replace

from trtlint.errors import SettingError, TrtlintError
from trtlint.policy.config import shown
from trtlint.policy.options import LintOptions
from trtlint.policy.review import Policy
from trtlint.policy.settings import Notify
from trtlint.runs import cache, pools
from trtlint.runs.cache import Cache, folder
from trtlint.runs.dryjob import DryJob
from trtlint.runs.exits import Exit
from trtlint.runs.job import Job, Outcome
from trtlint.runs.pools import Pool, Pools
from trtlint.runs.task import Task
from trtlint.runs.worker import failed, finish, lint_job, lint_jobs

_MOST_TOGETHER = 50
"""Largest number of jobs in one batch for a cluster.  If the cluster gives up a batch, all its jobs fail."""
_BATCHES = 40
"""Smallest number of batches.  With many batches, every worker gets some of them."""
_WAITING = 4
"""Number of batches that are queued for each worker, so that no worker waits."""
_MOST_UNSORTED = 10_000
"""Maximum number of finished outcomes that wait for the outcome of an earlier job."""
_LOOK_EVERY = 2.0
"""If no outcome arrives for this number of seconds, trtlint checks whether workers exist."""
_PATIENCE = 20.0
"""The run stops if there are no workers for this number of seconds. Until then, a cluster may replace them.
"""
_GONE = "the executor has no workers left"
_DIED = "the process that linted this file ended; it ran out of memory, or a library crashed"
_BATCH_DIED = " (the process linted {} files together, and any of these may be the cause)"
_Batch = list[tuple[int, Job]]


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


class JobRunner(Struct, frozen=True):
    """Settings of a run of jobs.

    Attributes:
        pools: function that opens the executor; None to run all jobs in this process.
        workers: largest number of workers to use.
        remote: True if the current folder of the workers differs, and the workers cannot use the cache.
        batch: number of jobs that a worker gets at once (a batch). If the worker dies, all jobs of the batch
            are repeated.
    """

    pools: Pools | None = None
    workers: int = 1
    remote: bool = False
    batch: int = 1

    def outcomes(self, jobs: Iterable[tuple[Job, Cache | None]]) -> Iterator[Outcome]:
        """Run jobs and yield their outcomes, in the order of the jobs.

        Args:
            jobs: pairs of a job and its cache.  The cache is None for a job without a cache.

        Raises:
            SettingError: the executor cannot be used.
        """
        looked_up = map(_find_cached, jobs)
        if self.pools is None:
            return (lint_job(job) if found is None else found for job, found in looked_up)
        return self._spread(enumerate(looked_up), self.pools)

    def _spread(
        self, jobs: Iterator[tuple[int, tuple[Job, Outcome | None]]], pools: Pools
    ) -> Iterator[Outcome]:
        ready: dict[int, Outcome] = {}
        following, more = 0, True
        with _Queue(pools, self) as queue:
            while more or queue.busy:
                if more and not queue.full and len(ready) < _MOST_UNSORTED:
                    entry = next(jobs, None)
                    if entry is None:
                        more = False
                    elif entry[1][1] is not None:
                        ready[entry[0]] = entry[1][1]
                    else:
                        queue.submit(entry[0], entry[1][0])
                else:
                    for index, job, outcome in queue.collect():
                        ready[index] = self._received(job, outcome)
                while following in ready:
                    yield ready.pop(following)
                    following += 1

    def _received(self, job: Job, outcome: Outcome) -> Outcome:
        if self.remote and job.store is not None:
            cache.keep(job.store, job.case.path, outcome.reports)
        return outcome


def _remote_job(job: Job) -> Job:
    """Return a copy of a job for a worker that has another current folder and cannot use the cache."""
    return replace(job, case=job.case.at(Path.cwd()), store=None)


def _find_cached(entry: tuple[Job, Cache | None]) -> tuple[Job, Outcome | None]:
    """Return a job with its cache entry, and its cached outcome.

    The outcome is None if the cache has no outcome. The job stays unchanged if it has no cache entry.
    """
    job, kept = entry
    store = None if kept is None else kept.place(job)
    if kept is None or store is None:
        return job, None
    reports = kept.find(job, store)
    return replace(job, store=store), None if reports is None else finish(job, reports)


class _GoneError(TrtlintError):
    """Error: the executor has lost all its workers."""


class _Queue:
    """The jobs that an executor is running.  The executor is opened for the first job."""

    def __init__(self, pools: Pools, settings: JobRunner) -> None:
        self._pools = pools
        self._settings = settings
        self._pool: Pool | None = None
        self._open = ExitStack()
        self._batch: _Batch = []
        self._waiting: dict[Future[list[Outcome]], _Batch] = {}
        self._gone = False

    def __enter__(self) -> _Queue:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.__exit__(kind, error, trace)

    @property
    def busy(self) -> bool:
        return bool(self._waiting or self._batch)

    @property
    def full(self) -> bool:
        """True if the executor has enough jobs, so that a further job would only wait."""
        return self._pool is not None and len(self._waiting) >= max(1, self._pool.width) * _WAITING

    def submit(self, index: int, job: Job) -> None:
        """Add a job.  A full batch is sent to the executor."""
        self._batch.append((index, job))
        if len(self._batch) >= self._settings.batch:
            self._send()

    def _send(self) -> None:
        batch, self._batch = self._batch, []
        if self._pool is None:
            self._pool = self._open.enter_context(self._pools(self._settings.workers))
        future: Future[list[Outcome]]
        try:
            if self._gone:
                raise _GoneError
            future = self._submit(self._pool, batch)
        except (BrokenExecutor, _GoneError) as error:
            future = Future()
            future.set_exception(error)
        self._waiting[future] = batch

    def _submit(self, pool: Pool, batch: _Batch) -> Future[list[Outcome]]:
        jobs = [_remote_job(job) if self._settings.remote else job for _, job in batch]
        return pool.executor.submit(lint_jobs, jobs)

    def collect(self) -> Iterator[tuple[int, Job, Outcome]]:
        """Wait until a batch is done, and yield its jobs, each with its index and outcome.

        If several batches are done, yield the jobs of all of them.
        """
        if self._batch:
            self._send()
        done = self._done()
        if not done:
            self._gone = True
            lost, self._waiting = self._waiting, {}
            for index, job in sorted(chain.from_iterable(lost.values()), key=lambda entry: entry[0]):
                yield index, job, failed(job, _GONE, Exit.UNREADABLE)
            return
        if any(isinstance(_error(future), BrokenExecutor) for future in done):
            yield from self._recover()
            return
        for future in done:
            yield from _outcomes(future, self._waiting.pop(future))

    def _done(self) -> set[Future[list[Outcome]]]:
        """Wait for finished batches.  Return an empty set if the executor has lost all its workers."""
        last_seen = time.monotonic()
        while True:
            done, _ = wait(self._waiting, _LOOK_EVERY, FIRST_COMPLETED)
            if done:
                return done
            if self._pool is None or self._pool.has_workers():
                last_seen = time.monotonic()
            elif time.monotonic() - last_seen > _PATIENCE:
                return set()

    def _recover(self) -> Iterator[tuple[int, Job, Outcome]]:
        """Run each job of the unfinished batches alone, to find the file that made a process die."""
        wait(self._waiting)
        self._open.close()
        self._pool = None
        lost, self._waiting = self._waiting, {}
        for future, batch in sorted(lost.items(), key=lambda item: item[1][0][0]):
            if not isinstance(_error(future), BrokenExecutor):
                yield from _outcomes(future, batch)
                continue
            for index, job in batch:
                with self._pools(1) as pool:
                    alone = self._submit(pool, [(index, job)])
                    wait([alone])
                    yield from _outcomes(alone, [(index, job)])


def _error(future: Future[list[Outcome]]) -> BaseException | None:
    return None if future.cancelled() else future.exception()


def _outcomes(future: Future[list[Outcome]], batch: _Batch) -> Iterator[tuple[int, Job, Outcome]]:
    """Yield the index, the job and the outcome of each job in a finished batch.

    An exception in ``future`` means that the executor failed to lint the batch.
    """
    try:
        found = future.result()
    except _GoneError:
        reason = _GONE
    except BrokenExecutor:
        reason = _DIED
    except Exception as error:  # noqa: BLE001 - each executor has its own exceptions
        text = " ".join(f"{type(error).__name__}: {error}".split())
        reason = f"the executor could not lint this file: {text}"
        if len(batch) > 1:
            reason += _BATCH_DIED.format(len(batch))
    else:
        yield from ((index, job, outcome) for (index, job), outcome in zip(batch, found, strict=True))
        return
    for index, job in batch:
        yield index, job, failed(job, reason, Exit.UNREADABLE)
