"""Lint one file: read it, state its facts, evaluate the rules."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from trtlint.buildcommand import BuildCommand
from trtlint.buildfiles.gathered import Gathered
from trtlint.engine.evaluate import Evaluation
from trtlint.engine.finding import ModelReport
from trtlint.engine.rule import PATTERN, Rule
from trtlint.engine.rulebook import RuleEntry
from trtlint.facts.facts import Facts
from trtlint.facts.trials import Trials
from trtlint.files.problem import Problem
from trtlint.model.errors import ModelError
from trtlint.model.load import Elsewhere, load
from trtlint.target.completion import complete_all
from trtlint.target.target import Target


def lint_file(
    path: Path,
    targets: Sequence[Target],
    rules: Iterable[Rule | RuleEntry],
    command: BuildCommand | None = None,
    gathered: Gathered | None = None,
    tried: Mapping[Target, Trials] | None = None,
    elsewhere: Elsewhere | None = None,
    *,
    weights: bool = False,
) -> tuple[ModelReport, ...]:
    """Lint one file for several targets: a report for each, in their order.

    What is wrong with the file is in the reports; any other exception is a bug in trtlint or in a
    rule, and is raised.

    Args:
        path: the file.
        targets: what it is built for.
        rules: what is looked for; an entry of a rulebook is read only where there is something to look at.
        command: the command line that it is built with, if it is known; what it says of the target is
            taken from ``targets``, not from it.
        gathered: what a build of it left behind, if there is something; what that settles of the target
            and ``targets`` leave open counts.
        tried: by target, what was found out of it by running it.
        elsewhere: the model, where it is not the file; ``path`` is what it is called then.
        weights: whether all weights may be read.
    """
    with _collection_held():
        return _lint_file(path, targets, rules, command, gathered, tried or {}, elsewhere, weights=weights)


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
    rules: Iterable[Rule | RuleEntry],
    command: BuildCommand | None,
    gathered: Gathered | None,
    tried: Mapping[Target, Trials],
    elsewhere: Elsewhere | None,
    *,
    weights: bool,
) -> tuple[ModelReport, ...]:
    record = None if gathered is None else gathered.record
    problems = () if gathered is None else gathered.problems
    settled = complete_all(targets, record)
    try:
        model = None if gathered is not None and gathered.alone else load(path, elsewhere)
    except (ModelError, OSError) as error:
        problems = (Problem.of(path, error), *problems)
    else:
        if model is not None or record is not None:
            # Targets of one dry build share its facts; without one, all do.
            distinct = {id(trials): trials for trials in map(tried.get, targets)}
            evaluations = {
                key: Evaluation(Facts(model, command=command, record=record, trials=trials, weights=weights))
                for key, trials in distinct.items()
            }
            chosen = tuple(needed(rules, [evaluation.facts for evaluation in evaluations.values()]))
            reports = []
            for target, each in zip(targets, settled, strict=True):
                trials = tried.get(target)
                report = evaluations[id(trials)].report(chosen, each.target)
                notes = report.notes + each.notes + (() if trials is None else trials.notes)
                reports.append(
                    replace(
                        report,
                        notes=_own(report.path, notes),
                        errors=problems,
                        dry_build=None if trials is None or trials.dry is None else trials.dry.result,
                    )
                )
            return tuple(reports)
    return tuple(ModelReport(str(path), each.target.words, errors=problems) for each in settled)


def needed(rules: Iterable[Rule | RuleEntry], known: Sequence[Facts]) -> Iterator[Rule]:
    """The rules that may find something: those of a kind of which there are no facts are not read."""
    for rule in rules:
        if isinstance(rule, Rule):
            yield rule
        elif rule.find == PATTERN or any(facts.of(rule.find) for facts in known):
            yield rule.read()


def _own(path: str, notes: Iterable[str]) -> tuple[str, ...]:
    """Notes of the report of a file, which need not begin with that file's name."""
    return tuple(note.removeprefix(f"{path}: ") for note in notes)
