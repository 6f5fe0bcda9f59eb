"""From paths and options to models, and to what builds of them left behind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trtlint.buildfiles.plan import is_plan
from trtlint.buildfiles.recognise import is_build_file
from trtlint.buildfiles.witnesses import BuildFiles, Role
from trtlint.commands.drying import Drying
from trtlint.commands.plan import Plan, Planner
from trtlint.files.addresses import Address, AddressError, is_address, parse
from trtlint.files.expand import expand
from trtlint.policy.options import LintOptions
from trtlint.policy.review import Ran

if TYPE_CHECKING:
    from trtlint.buildfiles.gathered import Gathered


def plans(planner: Planner, options: LintOptions) -> list[Plan]:
    """A plan for each model; with files of a build, one for the model that was built, or for the build.

    Files of a build on the command line stand in place of all those in the configuration.

    Raises:
        click.UsageError: files of a build with several models, or as :meth:`Planner.plan` does.
    """
    models, files = sort(options.paths, options.left)
    here, elsewhere = _apart(models)
    found = planner.plans([*expand(here), *(Path(address.name) for address in elsewhere)])
    found = [*found[: len(found) - len(elsewhere)], *_elsewhere(found, elsewhere)]
    if options.dry.level in ("parse", "build") or options.ranges or options.explain_miss is not None:
        require_here(found)
    if options.ranges:
        from trtlint.commands.ranges import with_ranges

        found = with_ranges(found, options.ranges)
    if not files:
        drying = Drying(options.dry)
        return [plan if plan.far is not None else drying.add(_with_own(plan)) for plan in found]
    if options.dry.level in ("parse", "build"):
        raise click.UsageError(
            f"{files[0][0]} is of a real build, which says more than a dry one: give one of the two"
        )
    from trtlint.buildfiles.gather import by_itself

    if not found:
        return [_settled(planner.plan(each.path), each) for each in by_itself(files)]
    if len(found) > 1:
        raise click.UsageError(
            f"{files[0][0]} is of one build, and {len(found)} models are given: lint its model alone"
        )
    return [_settled(found[0], gathered_of(found[0].file, files))]


def sort(paths: Sequence[str], given: BuildFiles) -> tuple[list[str], list[tuple[str, Role]]]:
    """Models and folders, and the files of builds, each with what it was given as."""
    files: list[tuple[str, Role]] = list(_roles(given))
    models = []
    for path in paths:
        if not is_address(path) and is_build_file(path):
            files.append((path, "any"))
        else:
            models.append(path)
    if sum(path == "-" for path, _ in files) > 1:
        raise click.UsageError("standard input can be one file only")
    return models, files


def require_here(plans: Sequence[Plan]) -> None:
    """Refuse what can only be done with models of this machine.

    Raises:
        click.UsageError: a model lies elsewhere.
    """
    for plan in plans:
        if plan.far is not None:
            raise click.UsageError(f"{plan.name}: this needs the model here: download it")


def _apart(models: Sequence[str]) -> tuple[list[str], list[Address]]:
    """The paths among the models, and the addresses."""
    try:
        addresses = {text: parse(text) for text in models if is_address(text)}
        if addresses:
            from trtlint.files.far import require_packages

            for address in addresses.values():
                require_packages(address)
    except AddressError as error:
        raise click.UsageError(str(error)) from None
    return [text for text in models if text not in addresses], list(addresses.values())


def _elsewhere(plans: Sequence[Plan], addresses: Sequence[Address]) -> Iterator[Plan]:
    """The last of some plans, which are for models elsewhere."""
    for plan, address in zip(plans[len(plans) - len(addresses) :], addresses, strict=True):
        yield replace(plan, far=address)


def gathered_of(model: Path, files: Sequence[tuple[str, Role]]) -> Gathered:
    """What the files say of the build of a model."""
    from trtlint.buildfiles.gather import of_model

    return of_model(model, files)


def _roles(given: BuildFiles) -> Iterator[tuple[str, Role]]:
    return ((path, kind) for kind, path in given.items())


def _with_own(plan: Plan) -> Plan:
    """A plan with the files of a build that the configuration names for the model."""
    # TensorRT runs what an engine holds, so that one that came with a checkout is not loaded.
    files: list[tuple[str, Role]] = [
        (path, "any" if is_plan(Path(path)) else role) for path, role in _roles(plan.left)
    ]
    return _settled(plan, gathered_of(plan.file, files)) if files else plan


def _settled(plan: Plan, gathered: Gathered) -> Plan:
    from trtlint.target.completion import complete_all

    targets = tuple(dict.fromkeys(each.target for each in complete_all(plan.targets, gathered.record)))
    settled = replace(plan, gathered=gathered, targets=targets)
    return replace(settled, policy=replace(plan.policy, ran=Ran(settled.entries, targets)))
