"""``trtlint upgrade``: what moving models from one version to another changes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import click

from trtlint.commands.plan import Plan, Planner
from trtlint.engine.upgrade import Upgrade, reports, targets, upgrade
from trtlint.facts.facts import Facts
from trtlint.files.expand import expand
from trtlint.files.problem import Problem
from trtlint.knowledge.releases import Product, minors
from trtlint.model.errors import ModelError
from trtlint.model.load import load
from trtlint.policy.options import LintOptions, TargetOptions
from trtlint.policy.review import Review
from trtlint.runs.exits import Exit
from trtlint.target.parsing import TargetError
from trtlint.target.target import Target


@dataclass(frozen=True, slots=True)
class UpgradeOptions:
    """What ``trtlint upgrade`` was asked for; ``last`` None is the newest known version."""

    paths: tuple[str, ...]
    first: str
    last: str | None
    product: Product
    target: TargetOptions
    build: str | None = None
    rules: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    as_json: bool = False
    show_conditional: bool = False


def run_upgrade(options: UpgradeOptions) -> int:
    """Write the report for each model to standard output and return the exit code."""
    last = options.last or minors(options.product)[-1]
    _check(Target(product=options.product), options.first, last)
    planner = Planner(
        LintOptions(
            paths=options.paths,
            target=options.target,
            build=options.build,
            rules=options.rules,
            select=options.select,
            ignore=options.ignore,
        )
    )
    plans = planner.plans(expand(options.paths))
    results = _results(plans, options.product, options.first, last)
    problems = _write_json(results) if options.as_json else _write_text(results, options.show_conditional)
    return Exit.UNREADABLE if problems else Exit.CLEAN


def _check(base: Target, first: str, last: str) -> None:
    try:
        found = targets(base, first, last)
    except TargetError as error:
        raise click.UsageError(str(error)) from None
    if len(found) < 2:
        raise click.UsageError(f"--from {first} and --to {last} are one release line: nothing is upgraded")


def _results(plans: list[Plan], product: Product, first: str, last: str) -> Iterator[Upgrade | Problem]:
    review = Review()
    for plan in plans:
        path = str(plan.file)
        if plan.problem:
            yield Problem(path, plan.problem)
            continue
        try:
            facts = Facts(load(plan.file), command=plan.command)
        except (ModelError, OSError) as error:
            yield Problem.of(path, error)
            continue
        rules = tuple(entry.read() for entry in plan.entries)
        for base in _bases(plan, product):
            builds = targets(base, first, last)
            found = review.apply(plan.file, reports(facts, builds, rules), plan.policy)
            yield upgrade(facts, builds, found, rules)


def _bases(plan: Plan, product: Product) -> list[Target]:
    """What is known of the builds of a model besides the version."""
    known = (replace(target, product=product, version=None, previous=None) for target in plan.targets)
    return list(dict.fromkeys(known))


def _write_text(results: Iterator[Upgrade | Problem], show_conditional: bool) -> bool:
    """Write reports as they come; whether a file could not be read."""
    from trtlint.report.upgrade import UpgradeReport

    report = UpgradeReport(sys.stdout, show_conditional=show_conditional)
    problems = False
    for result in results:
        if isinstance(result, Problem):
            problems = True
            report.problem(result)
        else:
            report.add(result)
    return problems


def _write_json(results: Iterator[Upgrade | Problem]) -> bool:
    from trtlint.report.upgradejson import dumps

    upgrades: list[Upgrade] = []
    problems: list[Problem] = []
    for result in results:
        if isinstance(result, Problem):
            problems.append(result)
        else:
            upgrades.append(result)
    print(dumps(upgrades, problems))
    return bool(problems)
