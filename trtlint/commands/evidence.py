"""From paths and options to models, and to the builds that are evidence of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trtlint.build.recognise import is_build_file
from trtlint.commands.options import BuildFiles, LintOptions
from trtlint.commands.plan import Plan, Planner
from trtlint.files import expand
from trtlint.review import applicable

if TYPE_CHECKING:
    from trtlint.build.build import Role
    from trtlint.evidence import Evidence


def plans(planner: Planner, options: LintOptions) -> list[Plan]:
    """A plan for each model; with files of a build, one for the model that was built, or for the build.

    Files of a build on the command line stand in place of all those in the configuration.

    Raises:
        click.UsageError: files of a build with several models, or as :meth:`Planner.plan` does.
    """
    models, files = sort(options.paths, options.evidence)
    found = [planner.plan(file) for file in expand(models)]
    if not files:
        return [_with_own(plan) for plan in found]
    from trtlint.gathering import by_itself

    if not found:
        return [_settled(planner.plan(each.path), each) for each in by_itself(files)]
    if len(found) > 1:
        raise click.UsageError(
            f"{files[0][0]} is of one build, and {len(found)} models are given: lint its model alone"
        )
    return [_settled(found[0], evidence_of(found[0].file, files))]


def sort(paths: Sequence[str], given: BuildFiles) -> tuple[list[str], list[tuple[str, Role]]]:
    """Models and folders, and the files of builds, each with what it was given as."""
    files: list[tuple[str, Role]] = list(_given(given))
    models = []
    for path in paths:
        if is_build_file(path):
            files.append((path, "any"))
        else:
            models.append(path)
    if sum(path == "-" for path, _ in files) > 1:
        raise click.UsageError("standard input can be one file only")
    return models, files


def evidence_of(model: Path, files: Sequence[tuple[str, Role]]) -> Evidence:
    """What the files say of the build of a model."""
    from trtlint.gathering import of_model

    return of_model(model, files)


def _given(given: BuildFiles) -> Iterator[tuple[str, Role]]:
    if given.log is not None:
        yield given.log, "log"
    if given.layers is not None:
        yield given.layers, "layers"
    if given.profile is not None:
        yield given.profile, "profile"


def _with_own(plan: Plan) -> Plan:
    """A plan with the evidence of the files that the configuration names for the model."""
    files = list(_given(plan.left))
    return _settled(plan, evidence_of(plan.file, files)) if files else plan


def _settled(plan: Plan, evidence: Evidence) -> Plan:
    from trtlint.settled import settle_all

    targets = tuple(dict.fromkeys(each.target for each in settle_all(plan.targets, evidence.build)))
    settled = replace(plan, evidence=evidence, targets=targets)
    return replace(settled, policy=replace(plan.policy, ran=applicable(settled.rules, targets)))
