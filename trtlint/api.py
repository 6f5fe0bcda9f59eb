"""Linting from Python."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from trtlint.buildcommand import BuildCommand, commands_for, read_commands
from trtlint.engine.evaluate import evaluate
from trtlint.engine.finding import ModelReport, Problem, Report
from trtlint.engine.rule import Rule
from trtlint.engine.rulebook import Entry, Rulebook, load_builtin, rules_on
from trtlint.evidence import Evidence, grounds_for
from trtlint.facts import Facts, Ground
from trtlint.files import expand
from trtlint.knowledge.releases import Product
from trtlint.model.errors import ModelError
from trtlint.model.load import load
from trtlint.review import Policy, Review, applicable, names
from trtlint.settled import settle_all
from trtlint.sources import Sources
from trtlint.target import Target

if TYPE_CHECKING:
    from trtlint.build.build import Build

AnyPath = str | os.PathLike[str]


def lint(
    path: AnyPath | Iterable[AnyPath],
    target: Target | Sequence[Target] | None = None,
    *,
    rules: Iterable[Rule] | None = None,
    build: str | None = None,
    evidence: Build | None = None,
) -> Report:
    """Lint ONNX files.

    Args:
        path: a file, a folder that is searched for ``*.onnx``, or several.
        target: what the engine is built for, or several; what is not given is unknown.
        rules: the rules to apply, as :func:`~trtlint.engine.rulebook.load_rules` gives them; those
            that come with trtlint if left out.
        build: the trtexec command that builds the models, or a file with such commands; where it says
            what ``target`` leaves open, that counts.
        evidence: what a build of the model left behind, from :func:`~trtlint.build.build.read_build`;
            without a model (``path`` empty) the build alone is looked at, and the command, if there is one.

    Returns:
        A report for each file and target.  A file that cannot be linted has its reason in
        ``errors``.  What a model's own metadata suppresses is in ``suppressed``; configuration
        files are for the command line only.

    Raises:
        RuleError: a rule file is wrong.
        CommandError: ``build`` holds no build command.
    """
    paths = [path] if isinstance(path, str | os.PathLike) else list(path)
    targets = [target or Target()] if target is None or isinstance(target, Target) else list(target)
    book = _builtin().entries if rules is None else tuple(map(Entry.of, rules))
    sources = Sources()
    review = Review()
    commands = read_commands(build) if build is not None else ()

    @cache
    def rules_for(found: frozenset[Ground]) -> tuple[tuple[Rule, ...], Policy]:
        chosen = rules_on(found, book)
        return chosen, Policy(ran=applicable(chosen, targets), known=names(book))

    def reports(file: Path, given: Evidence | None) -> Iterator[ModelReport]:
        command = next(iter(commands_for(file, commands)), None)
        chosen, policy = rules_for(grounds_for(given, command))
        found = lint_file(file, built_with(targets, command), chosen, command, given)
        yield from map(sources.locate, review.apply(file, found, policy))

    if evidence is not None and not paths:
        place = Path(next(iter(evidence.files), ""))
        return Report(tuple(reports(place, Evidence(place, evidence, alone=True))))
    return Report(
        tuple(
            report
            for file in expand(os.fspath(entry) for entry in paths)
            for report in reports(file, None if evidence is None else Evidence(file, evidence))
        )
    )


def built_with(targets: Iterable[Target], command: BuildCommand | None) -> list[Target]:
    """Targets with what they leave open taken from a build command."""
    if command is None:
        return list(targets)
    product: Product | None = "tensorrt-rtx" if command.tool == "tensorrt_rtx" else None
    return [target.completed(command.switches, product) for target in targets]


def lint_file(
    path: Path,
    targets: Sequence[Target],
    rules: Iterable[Rule],
    command: BuildCommand | None = None,
    evidence: Evidence | None = None,
) -> tuple[ModelReport, ...]:
    """Lint one file for several targets: a report for each, in their order.

    What is wrong with the file is in the reports; any other exception is a bug in trtlint or in a
    rule, and is raised.

    Args:
        path: the file.
        targets: what it is built for.
        rules: what is looked for.
        command: the command line that it is built with, if it is known; what it says of the target is
            taken from ``targets``, not from it.
        evidence: what a build of it left behind, if there is something; what that settles of the target
            and ``targets`` leave open counts.
    """
    with _collection_held():
        return _lint_file(path, targets, rules, command, evidence)


@contextmanager
def _collection_held() -> Iterator[None]:
    """Hold the cyclic garbage collector while many objects are made that all stay.

    It would visit the whole graph again and again as facts are found, so that the time of a lint
    would grow faster than its nodes.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _lint_file(
    path: Path,
    targets: Sequence[Target],
    rules: Iterable[Rule],
    command: BuildCommand | None,
    evidence: Evidence | None,
) -> tuple[ModelReport, ...]:
    build = None if evidence is None else evidence.build
    problems = () if evidence is None else evidence.problems
    settled = settle_all(targets, build)
    try:
        model = None if evidence is not None and evidence.alone else load(path)
    except ModelError as error:
        problems = (Problem(str(path), error.message, error.offset, error.node), *problems)
    except OSError as error:
        problems = (Problem(str(path), error.strerror or str(error)), *problems)
    else:
        if model is not None or build is not None:
            facts = Facts(model, command=command, build=build)
            chosen = tuple(rules)
            reports = ((evaluate(chosen, facts, each.target), each.notes) for each in settled)
            return tuple(
                replace(report, notes=_own(report.path, report.notes + notes), errors=problems)
                for report, notes in reports
            )
    return tuple(ModelReport(str(path), each.target.words, errors=problems) for each in settled)


def _own(path: str, notes: Iterable[str]) -> tuple[str, ...]:
    """Notes of the report of a file, which need not begin with that file's name."""
    return tuple(note.removeprefix(f"{path}: ") for note in notes)


@cache
def _builtin() -> Rulebook:
    return load_builtin()
