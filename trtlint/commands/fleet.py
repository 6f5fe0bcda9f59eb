"""From plans to outcomes: which processes lint the files, and where results of earlier runs are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from trtlint.commands.plan import Plan
from trtlint.policy.options import LintOptions
from trtlint.runs import pools
from trtlint.runs.cache import Cache, folder
from trtlint.runs.job import Job, Outcome, RuleSet
from trtlint.runs.run import Runner
from trtlint.runs.worker import describe_rules


def outcomes(plans: Sequence[Plan], options: LintOptions) -> Iterator[Outcome]:
    """Lint the file of each plan, and give the outcomes in the same order.

    Raises:
        click.UsageError: the executor cannot be used.
    """
    caches = _Caches(options)
    with _users():
        with_builds = any(plan.gathered is not None for plan in plans)
        runner = Runner() if with_builds else _runner(options, len(plans))
        yield from runner.outcomes(_jobs(plans, options, caches))
    caches.sweep()


def _runner(options: LintOptions, files: int) -> Runner:
    if options.executor is not None:
        if not options.executor.startswith(pools.SCHEME):
            raise click.UsageError(f"--executor {options.executor!r}: write it as {pools.SCHEME}HOST:PORT")
        return Runner(pools.dask(options.executor), remote=True)
    workers = min(options.jobs or pools.cores(), files)
    return Runner(pools.processes, workers) if workers > 1 else Runner()


def _jobs(plans: Sequence[Plan], options: LintOptions, caches: _Caches) -> Iterator[tuple[Job, Cache | None]]:
    rules: dict[tuple[tuple[str, ...], tuple[str, ...]], RuleSet] = {}
    for plan in plans:
        folders = (*map(str, plan.configuration.rules), *options.rules)
        key = folders, tuple(entry.id for entry in plan.entries)
        if key not in rules:
            rules[key] = describe_rules(folders, plan.entries)
        job = Job(
            path=plan.file,
            name=str(plan.file),
            targets=plan.targets,
            rules=rules[key],
            command=plan.command,
            require_lfs=options.require_lfs,
            gathered=plan.gathered,
        )
        # The cache knows models; what builds leave behind is read anew.
        yield job, caches.of(plan) if plan.gathered is None else None


class _Caches:
    """The caches of a run: beside each configuration one, unless told otherwise."""

    def __init__(self, options: LintOptions) -> None:
        self._named = None if options.cache_dir is None else Path(options.cache_dir)
        self._wanted = options.cache
        self._caches: dict[Path, Cache] = {}

    def of(self, plan: Plan) -> Cache | None:
        """The cache for a plan, None where none is wanted."""
        if not self._wanted:
            return None
        place = self._named or folder(plan.configuration.file)
        if place not in self._caches:
            self._caches[place] = Cache(place)
        return self._caches[place]

    def sweep(self) -> None:
        """Delete what nobody needs."""
        for cache in self._caches.values():
            cache.sweep()


@contextmanager
def _users() -> Iterator[None]:
    try:
        yield
    except pools.ExecutorError as error:
        raise click.UsageError(str(error)) from None
