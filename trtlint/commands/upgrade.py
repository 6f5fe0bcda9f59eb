"""``trtlint upgrade`` for models: report changes between two versions of TensorRT."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TextIO

from msgspec import Struct
from msgspec.structs import replace

from trtlint.commands.reportoptions import require_outputs
from trtlint.commands.streams import notify
from trtlint.commands.torchupgrade import has_torch, run_torch_upgrade
from trtlint.engine.causes import folded
from trtlint.engine.upgrade import Upgrade, targets, upgrade
from trtlint.errors import SettingError
from trtlint.files.expand import expand
from trtlint.files.limits import limit_work
from trtlint.files.problem import Problem, UnreadableError
from trtlint.knowledge.releases import Product, minors
from trtlint.policy.failing import grave
from trtlint.policy.options import FailOn, LintOptions
from trtlint.policy.review import Review
from trtlint.policy.settings import SettingsReader
from trtlint.process.collection import collect_seldom
from trtlint.remote.addresses import require_local
from trtlint.report.outputs import ReportOutput, write_all
from trtlint.runs.exits import Exit
from trtlint.runs.progress import with_progress
from trtlint.runs.task import Task
from trtlint.target.target import Target


class UpgradeOptions(Struct, frozen=True):
    """Options of ``trtlint upgrade``.

    Attributes:
        lint: the options that ``trtlint lint`` has, too.
        first: the current version.
        last: the new version; None for the newest known version.
        product: the product that both versions belong to.
        fail_on: lowest severity that makes the command fail.
        outputs: the reports to write.
    """

    lint: LintOptions
    first: str
    last: str | None
    product: Product
    fail_on: FailOn
    outputs: tuple[ReportOutput, ...]


def run_upgrade(options: UpgradeOptions) -> int:
    """Write the report for each model and return the exit code."""
    paths = options.lint.paths
    require_local(paths)
    if has_torch(paths):
        return run_torch_upgrade(options)
    reader = SettingsReader(options.lint, notify)
    first, last = options.first, options.last or minors(options.product)[-1]
    if len(targets(Target(product=options.product), first, last)) < 2:
        raise SettingError(
            f"--from {first} and --to {last} are the same release line; pass two different release lines"
        )
    tasks = [Task.of(settings) for settings in reader.settings(expand(paths))]
    read = [task.file for task in tasks]
    require_outputs(options.outputs, read)
    collect_seldom()
    results = with_progress(
        _results(tasks, options, last),
        len(tasks),
        "comparing versions for",
        lambda index: tasks[index].file.name,
    )
    stdout = ReportOutput("text")
    streamed = stdout in options.outputs
    # Text on standard output is written as soon as the result for a model is ready.
    found = list(_reported(results, sys.stdout, options, len(tasks) > 1) if streamed else results)
    others = (output for output in options.outputs if output != stdout)
    write_all(others, lambda format, file: _write(found, format, file, options), read)
    if any(isinstance(result, Problem) or _partly(result, options.fail_on) for result in found):
        return Exit.UNREADABLE
    failed = any(isinstance(result, Upgrade) and _fails(result, options.fail_on) for result in found)
    return Exit.FINDINGS if failed else Exit.CLEAN


def _fails(upgrade: Upgrade, fail_on: FailOn) -> bool:
    """Return whether the last version of the range makes the command fail.

    The command fails in two cases: the last version does not support the GPU, or it has findings about the
    graph that reach ``fail_on``.
    """
    if fail_on == "never":
        return False
    end = upgrade.lines[-1]
    return not end.supported or any(end.risks.get(severity, 0) for severity in grave(fail_on))


def _partly(upgrade: Upgrade, fail_on: FailOn) -> bool:
    """Return whether an unfinished search may have missed findings that would make the command fail."""
    return not upgrade.unsearched.isdisjoint(grave(fail_on))


def _results(tasks: list[Task], options: UpgradeOptions, last: str) -> Iterator[Upgrade | Problem]:
    review = Review()
    for task in tasks:
        path = str(task.file)
        if task.problem:
            yield Problem(path, task.problem)
            continue
        try:
            with limit_work(task.file):
                upgrades = list(_upgrades(task, review, options.product, options.first, last))
        except (UnreadableError, OSError) as error:
            yield Problem.of(path, error)
        except MemoryError:
            yield Problem(path, "not enough memory to compare the versions")
        else:
            yield from (each.with_options(options.lint.arguments) for each in upgrades)


def _upgrades(task: Task, review: Review, product: Product, first: str, last: str) -> Iterator[Upgrade]:
    opened = task.case.open()
    rules = [entry.read() for entry in task.case.applicable]
    for base in _bases(task, product):
        way = targets(base, first, last)
        found = task.case.reviewed(map(opened.evaluate, way), review)
        yield upgrade(opened.facts(), way, list(map(folded, found)), rules)


def _bases(task: Task, product: Product) -> list[Target]:
    """Return the targets of a model for a product, without versions and without duplicates."""
    known = (replace(target, product=product, version=None, previous=None) for target in task.case.built_for)
    return list(dict.fromkeys(known))


def _write(results: Sequence[Upgrade | Problem], format: str, file: TextIO, options: UpgradeOptions) -> None:
    upgrades = [result for result in results if isinstance(result, Upgrade)]
    problems = [result for result in results if isinstance(result, Problem)]
    if format == "json":
        from trtlint.report.upgradejson import dumps

        file.write(dumps(upgrades, problems) + "\n")
    elif format in ("markdown", "html"):
        from trtlint.report.document import render
        from trtlint.report.upgradepages import page

        file.write(render(page(upgrades, problems), format))
    else:
        for _ in _reported(iter(results), file, options, len(results) > 1):
            pass


def _reported(
    results: Iterator[Upgrade | Problem], file: TextIO, options: UpgradeOptions, several: bool
) -> Iterator[Upgrade | Problem]:
    """Yield the results.  Write the report of each result to ``file`` before the result is yielded."""
    from trtlint.report.upgrade import UpgradeReport

    lint = options.lint
    report = UpgradeReport(file, show_conditional=lint.show_conditional, several=several, quiet=lint.quiet)
    for result in results:
        if isinstance(result, Problem):
            report.problem(result)
        else:
            report.add(result)
        yield result
    report.close()
