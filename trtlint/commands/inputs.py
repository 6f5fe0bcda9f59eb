"""From paths and options to models, and to what builds of them left behind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trtlint.buildfiles.plan import is_plan
from trtlint.buildfiles.recognise import is_build_file
from trtlint.buildfiles.witnesses import BuildFiles, GivenAs
from trtlint.commands.drying import Drying
from trtlint.commands.tasks import Task, TaskFactory
from trtlint.files.expand import expand
from trtlint.policy.options import LintOptions
from trtlint.policy.review import Ran
from trtlint.remote.addresses import Address, AddressError, is_address, parse

if TYPE_CHECKING:
    from trtlint.buildfiles.gathered import Gathered


def tasks_of(factory: TaskFactory, options: LintOptions) -> list[Task]:
    """A task for each model; with files of a build, one for the model that was built, or for the build.

    Files of a build on the command line stand in place of all those in the configuration.

    Raises:
        click.UsageError: files of a build with several models, or as :meth:`TaskFactory.task` does.
    """
    models, files = sort(options.paths, options.left)
    here, elsewhere = _apart(models)
    found = factory.tasks([*expand(here), *(Path(address.name) for address in elsewhere)])
    found = [*found[: len(found) - len(elsewhere)], *_elsewhere(found, elsewhere)]
    if options.dry.level in ("parse", "build") or options.ranges or options.explain_miss is not None:
        require_here(found)
    if options.ranges:
        from trtlint.commands.ranges import with_ranges

        found = with_ranges(found, options.ranges)
    if not files:
        drying = Drying(options.dry, (task.file for task in found))
        return [task if task.far is not None else drying.add(_with_own(task)) for task in found]
    if options.dry.level in ("parse", "build"):
        raise click.UsageError(
            f"{files[0][0]} is of a real build, which says more than a dry one: give one of the two"
        )
    from trtlint.buildfiles.gather import by_itself

    if not found:
        return [_settled(factory.task(each.path), each) for each in by_itself(files)]
    if len(found) > 1:
        raise click.UsageError(
            f"{files[0][0]} is of one build, and {len(found)} models are given: lint its model alone"
        )
    return [_settled(found[0], gathered_of(found[0].file, files))]


def sort(paths: Sequence[str], given: BuildFiles) -> tuple[list[str], list[tuple[str, GivenAs]]]:
    """Models and folders, and the files of builds, each with what it was given as."""
    files: list[tuple[str, GivenAs]] = list(_roles(given))
    models = []
    for path in paths:
        if not is_address(path) and is_build_file(path):
            files.append((path, "any"))
        else:
            models.append(path)
    if sum(path == "-" for path, _ in files) > 1:
        raise click.UsageError("standard input can be one file only")
    return models, files


def require_here(tasks: Sequence[Task]) -> None:
    """Refuse what can only be done with models of this machine.

    Raises:
        click.UsageError: a model lies elsewhere.
    """
    for task in tasks:
        if task.far is not None:
            raise click.UsageError(f"{task.name}: this needs the model here: download it")


def _apart(models: Sequence[str]) -> tuple[list[str], list[Address]]:
    """The paths among the models, and the addresses."""
    try:
        addresses = {text: parse(text) for text in models if is_address(text)}
        if addresses:
            from trtlint.remote.file import require_packages

            for address in addresses.values():
                require_packages(address)
    except AddressError as error:
        raise click.UsageError(str(error)) from None
    return [text for text in models if text not in addresses], list(addresses.values())


def _elsewhere(tasks: Sequence[Task], addresses: Sequence[Address]) -> Iterator[Task]:
    """The last of some tasks, which are for models elsewhere."""
    for task, address in zip(tasks[len(tasks) - len(addresses) :], addresses, strict=True):
        yield replace(task, far=address)


def gathered_of(model: Path, files: Sequence[tuple[str, GivenAs]]) -> Gathered:
    """What the files say of the build of a model."""
    from trtlint.buildfiles.gather import of_model

    return of_model(model, files)


def _roles(given: BuildFiles) -> Iterator[tuple[str, GivenAs]]:
    return ((path, kind) for kind, path in given.items())


def _with_own(task: Task) -> Task:
    """A task with the files of a build that the configuration names for the model."""
    # TensorRT runs what an engine holds, so that one that came with a checkout is not loaded.
    files: list[tuple[str, GivenAs]] = [
        (path, "any" if is_plan(Path(path)) else role) for path, role in _roles(task.left)
    ]
    return _settled(task, gathered_of(task.file, files)) if files else task


def _settled(task: Task, gathered: Gathered) -> Task:
    from trtlint.target.completion import complete_all

    targets = tuple(dict.fromkeys(each.target for each in complete_all(task.targets, gathered.record)))
    settled = replace(task, gathered=gathered, targets=targets)
    return replace(settled, policy=replace(task.policy, ran=Ran(settled.entries, targets)))
