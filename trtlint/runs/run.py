"""Jobs in, outcomes out, in the order of the jobs, whatever happens to one of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from pathlib import Path

from trtlint.errors import TrtlintError
from trtlint.lean import dataclass
from trtlint.runs import cache
from trtlint.runs.cache import Cache
from trtlint.runs.exits import Exit
from trtlint.runs.job import Job, Outcome
from trtlint.runs.pools import Pool, Pools
from trtlint.runs.worker import failed, finish, lint_job, lint_jobs

_WAITING = 4
"""Batches given to the executor for each that it can do at once, so that it never runs out of them."""
_AHEAD = 10_000
"""Outcomes that may wait for an earlier one."""
_LOOK_EVERY = 2.0
"""Seconds without an outcome after which it is looked whether there are workers."""
_PATIENCE = 20.0
"""Seconds without workers after which none is waited for; a cluster may replace those that died."""
_GONE = "the executor has no workers any more"
_DIED = "the process that linted this file died: not enough memory, or a crash in a library"
_TOGETHER = " (the file is one of {} that were sent together, and any of them may be the cause)"


@dataclass(frozen=True, slots=True)
class Runner:
    """How jobs are done.

    Attributes:
        pools: opens the executor, None to do all in this process.
        workers: how many of its workers to use at most.
        remote: whether its workers have another current folder, and do not reach the cache.
        batch: how many jobs are given to a worker together; what ends a worker costs so many.
    """

    pools: Pools | None = None
    workers: int = 1
    remote: bool = False
    batch: int = 1

    def outcomes(self, jobs: Iterable[tuple[Job, Cache | None]]) -> Iterator[Outcome]:
        """Do jobs and give their outcomes, in the same order.

        Args:
            jobs: each with the cache to use for it, None for none.

        Raises:
            ExecutorError: the executor cannot be used.
        """
        looked_up = map(_looked_up, jobs)
        if self.pools is None:
            return (lint_job(job) if found is None else found for job, found in looked_up)
        return self._spread(enumerate(looked_up), self.pools)

    def _spread(
        self, jobs: Iterator[tuple[int, tuple[Job, Outcome | None]]], pools: Pools
    ) -> Iterator[Outcome]:
        ready: dict[int, Outcome] = {}
        following, more = 0, True
        sent = _sent if self.remote else _as_it_is
        with _Queue(pools, self.workers, self.batch, sent) as queue:
            while more or queue.busy:
                if more and not queue.full and len(ready) < _AHEAD:
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


def _as_it_is(job: Job) -> Job:
    return job


def _sent(job: Job) -> Job:
    """The job as a worker with another current folder can do it, which does not reach the cache."""
    return replace(job, case=job.case.at(Path.cwd()), store=None)


def _looked_up(entry: tuple[Job, Cache | None]) -> tuple[Job, Outcome | None]:
    """The job, with the place for its result, and its outcome where that was kept."""
    job, kept = entry
    store = None if kept is None else kept.place(job)
    if kept is None or store is None:
        return job, None
    reports = kept.find(job, store)
    return replace(job, store=store), None if reports is None else finish(job, reports)


class _GoneError(TrtlintError):
    """Nobody is left to do a job."""


_Batch = list[tuple[int, Job]]


class _Queue:
    """Jobs that are under way in an executor, which is opened with the first."""

    def __init__(self, pools: Pools, most: int, batch: int, sent: Callable[[Job], Job]) -> None:
        self._pools = pools
        self._most = most
        self._size = batch
        self._sent = sent
        self._pool: Pool | None = None
        self._open = ExitStack()
        self._batch: _Batch = []
        self._waiting: dict[Future[list[Outcome]], _Batch] = {}
        self._gone = False

    def __enter__(self) -> _Queue:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def busy(self) -> bool:
        """Whether a job is under way."""
        return bool(self._waiting or self._batch)

    @property
    def full(self) -> bool:
        """Whether more jobs would only wait."""
        return self._pool is not None and len(self._waiting) >= max(1, self._pool.width) * _WAITING

    def submit(self, index: int, job: Job) -> None:
        """Take a job; a batch that is full is given to the executor."""
        self._batch.append((index, job))
        if len(self._batch) >= self._size:
            self._send()

    def _send(self) -> None:
        batch, self._batch = self._batch, []
        if self._pool is None:
            self._pool = self._open.enter_context(self._pools(self._most))
        future: Future[list[Outcome]]
        try:
            if self._gone:
                raise _GoneError
            future = self._pool.executor.submit(lint_jobs, [self._sent(job) for _, job in batch])
        except (BrokenExecutor, _GoneError) as error:
            future = Future()
            future.set_exception(error)
        self._waiting[future] = batch

    def collect(self) -> Iterator[tuple[int, Job, Outcome]]:
        """Wait until jobs are done."""
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
        """The batches that are done, once there are some; none where nobody is left to do any."""
        manned = time.monotonic()
        while True:
            done, _ = wait(self._waiting, _LOOK_EVERY, FIRST_COMPLETED)
            if done:
                return done
            if self._pool is None or self._pool.manned():
                manned = time.monotonic()
            elif time.monotonic() - manned > _PATIENCE:
                return set()

    def _recover(self) -> Iterator[tuple[int, Job, Outcome]]:
        """End what was under way after a process died: each file alone, so that one is to blame."""
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
                    alone = pool.executor.submit(lint_jobs, [self._sent(job)])
                    wait([alone])
                    yield from _outcomes(alone, [(index, job)])


def _error(future: Future[list[Outcome]]) -> BaseException | None:
    return None if future.cancelled() else future.exception()


def _outcomes(future: Future[list[Outcome]], batch: _Batch) -> Iterator[tuple[int, Job, Outcome]]:
    """What a finished future holds; a job itself never fails, so an exception is the executor's."""
    try:
        found = future.result()
    except _GoneError:
        reason = _GONE
    except BrokenExecutor:
        reason = _DIED
    except Exception as error:  # noqa: BLE001 - each executor has its own
        text = " ".join(f"{type(error).__name__}: {error}".split())
        reason = f"the executor could not lint this file: {text}"
        if len(batch) > 1:
            reason += _TOGETHER.format(len(batch))
    else:
        yield from ((index, job, outcome) for (index, job), outcome in zip(batch, found, strict=True))
        return
    for index, job in batch:
        yield index, job, failed(job, reason, Exit.UNREADABLE)
