"""``trtlint upgrade``: report changes between versions of TensorRT, or of Torch-TensorRT for scripts."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from msgspec import Struct
from msgspec.structs import replace

from trtlint.commands.reportoptions import require_outputs
from trtlint.commands.streams import notify
from trtlint.engine.causes import folded
from trtlint.engine.upgrade import Upgrade, targets, upgrade
from trtlint.errors import SettingError
from trtlint.files.expand import expand
from trtlint.files.limits import limit_work
from trtlint.files.problem import Problem, UnreadableError
from trtlint.knowledge.releases import Product, minors
from trtlint.knowledge.torchreleases import TorchRelease, TorchReleaseError, torch_range
from trtlint.policy.failing import grave
from trtlint.policy.options import FailOn, LintOptions
from trtlint.policy.review import Review
from trtlint.policy.settings import SettingsReader
from trtlint.process.collection import collect_seldom
from trtlint.remote.addresses import require_local
from trtlint.report.outputs import ReportOutput, write_all
from trtlint.runs.evidence import ModelEvidence
from trtlint.runs.exits import Exit
from trtlint.runs.progress import with_progress
from trtlint.runs.task import Task
from trtlint.runs.torchinputs import PROGRAM, is_torch
from trtlint.target.target import Target

if TYPE_CHECKING:
    from trtlint.engine.evidence.torch import TorchScriptEvidence
    from trtlint.engine.torchupgrade import TorchUpgrade


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

    The command fails in two cases: the last version does not support the GPU, or the model has findings about
    the graph that reach ``fail_on`` for the last version.
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


def has_torch(paths: Sequence[str]) -> bool:
    """Return whether the paths are scripts or programs for Torch-TensorRT.

    Raises:
        SettingError: only some of the paths are scripts or programs.
    """
    mine = [path for path in paths if is_torch(path)]
    others = [path for path in paths if not is_torch(path)]
    if mine and others:
        raise SettingError(
            f"{mine[0]} needs releases of Torch-TensorRT for --from and --to, but {others[0]} needs "
            "releases of TensorRT; run trtlint upgrade separately for each file"
        )
    return bool(mine)


def run_torch_upgrade(options: UpgradeOptions) -> int:
    """Write the report for each script and program and return the exit code."""
    try:
        releases = torch_range(options.first, options.last)
    except TorchReleaseError as error:
        raise SettingError(f"--from {options.first} --to {options.last or 'newest'}: {error}") from None
    build = options.lint.build
    if build is not None or options.product != "tensorrt":
        name = "--product" if build is None else "--build"
        raise SettingError(f"{name} does not apply to scripts and programs of Torch-TensorRT")
    paths = [Path(path) for path in dict.fromkeys(options.lint.paths)]
    require_outputs(options.outputs, paths)
    reader = SettingsReader(options.lint, notify)
    found = list(
        with_progress(
            (_compared(path, reader, releases) for path in paths),
            len(paths),
            "comparing releases for",
            lambda index: paths[index].name,
        )
    )
    quiet = options.lint.quiet
    write_all(options.outputs, lambda format, file: _write_torch(found, format, file, quiet=quiet), paths)
    if any(isinstance(each, Problem) for each in found):
        return Exit.UNREADABLE
    severe = grave(options.fail_on)
    last = len(releases) - 1
    failed = any(
        last in call.releases and call.finding.severity in severe and call.finding.confidence != "low"
        for each in found
        if not isinstance(each, Problem)
        for call in each.calls
    )
    return Exit.FINDINGS if failed else Exit.CLEAN


def _compared(path: Path, reader: SettingsReader, releases: Sequence[TorchRelease]) -> TorchUpgrade | Problem:
    """Compare the releases for a script or program, or return the reason why they cannot be compared."""
    from trtlint.engine.evidence.torch import script_evidence
    from trtlint.engine.torchupgrade import program_upgrade
    from trtlint.torch_tensorrt.program import read_program

    try:
        if path.name.lower().endswith(PROGRAM):
            return program_upgrade(read_program(path, releases[-1].version), releases)
        return _script(path, script_evidence(path, releases[0].version), reader, releases)
    except (UnreadableError, OSError) as error:
        return Problem.of(path, error)
    except MemoryError:
        return Problem(str(path), "not enough memory to compare the releases for this file")


def _script(
    path: Path, evidence: TorchScriptEvidence, reader: SettingsReader, releases: Sequence[TorchRelease]
) -> TorchUpgrade:
    from trtlint.engine.torchupgrade import script_upgrade
    from trtlint.torch_tensorrt.options import for_release

    settings = reader.settings_of(path)
    review, found = Review(), []
    for release in releases:
        own = replace(evidence, script=replace(evidence.script, release=release.version))
        case = Task.of(settings, ModelEvidence((own,)), alone=True).case
        # Each release has its own TensorRT version. The configured version is for ONNX models.
        targets = tuple(replace(each, version=None, previous=None) for each in case.targets[:1])
        case = replace(case, targets=for_release(targets, release))
        found.append([finding for report in case.report(review) for finding in report.findings])
    return script_upgrade(str(path), releases, found, evidence.notes)


def _write_torch(found: Sequence[TorchUpgrade | Problem], format: str, file: TextIO, *, quiet: bool) -> None:
    upgrades = [each for each in found if not isinstance(each, Problem)]
    problems = [each for each in found if isinstance(each, Problem)]
    if format == "json":
        from trtlint.report.torchupgrade import dumps

        file.write(dumps(upgrades, problems) + "\n")
        return
    if format in ("markdown", "html"):
        from trtlint.report.document import render
        from trtlint.report.torchupgrade import page

        file.write(render(page(upgrades, problems), format))
        return
    from trtlint.report.torchupgrade import TorchUpgradeReport

    report = TorchUpgradeReport(file, quiet=quiet)
    for each in found:
        if isinstance(each, Problem):
            report.problem(each)
        else:
            report.add(each)
