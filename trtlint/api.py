"""Linting from Python."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from trtlint.buildcommand import commands_for, read_commands
from trtlint.buildfiles.gathered import Gathered
from trtlint.engine.finding import ModelReport, Report
from trtlint.engine.rule import Rule
from trtlint.engine.rulebook import Entry, Rulebook, load_builtin, looking_at
from trtlint.facts.kinds import Ground, grounds_for
from trtlint.files.expand import expand
from trtlint.model.sources import Sources
from trtlint.policy.review import Policy, Ran, Review, names
from trtlint.runs.linting import lint_file
from trtlint.target.completion import built_with
from trtlint.target.target import Target

if TYPE_CHECKING:
    from trtlint.buildfiles.record import BuildRecord

AnyPath = str | os.PathLike[str]


def lint(
    path: AnyPath | Iterable[AnyPath],
    target: Target | Sequence[Target] | None = None,
    *,
    rules: Iterable[Rule] | None = None,
    command: str | None = None,
    record: BuildRecord | None = None,
) -> Report:
    """Lint ONNX files.

    Args:
        path: a file, a folder that is searched for ``*.onnx``, or several.
        target: what the engine is built for, or several; what is not given is unknown.
        rules: the rules to apply, as :func:`~trtlint.engine.rulebook.load_rules` gives them; those
            that come with trtlint if left out.
        command: the trtexec command that builds the models, or a file with such commands; where it says
            what ``target`` leaves open, that counts.
        record: what a build of the model left behind, from :func:`~trtlint.buildfiles.record.read_build`;
            without a model (``path`` empty) the build alone is looked at, and the command, if there is one.

    Returns:
        A report for each file and target.  A file that cannot be linted has its reason in
        ``errors``.  What a model's own metadata suppresses is in ``suppressed``; configuration
        files are for the command line only.

    Raises:
        RuleError: a rule file is wrong.
        CommandError: ``command`` holds no build command.
    """
    paths = [path] if isinstance(path, str | os.PathLike) else list(path)
    targets = [target or Target()] if target is None or isinstance(target, Target) else list(target)
    book = _builtin().entries if rules is None else tuple(map(Entry.of, rules))
    sources = Sources()
    review = Review()
    commands = read_commands(command) if command is not None else ()

    @cache
    def rules_for(found: frozenset[Ground]) -> tuple[tuple[Rule, ...], Policy]:
        entries = looking_at(found, book)
        policy = Policy(ran=Ran(entries, targets), known=names(book))
        return tuple(entry.read() for entry in entries), policy

    def reports(file: Path, given: Gathered | None) -> Iterator[ModelReport]:
        built = next(iter(commands_for(file, commands)), None)
        chosen, policy = rules_for(grounds_for(given, built))
        found = lint_file(file, built_with(targets, built), chosen, built, given)
        find = sources.finder()
        yield from (report.located(find) for report in review.apply(file, found, policy))

    if record is not None and not paths:
        place = Path(next(iter(record.files), ""))
        return Report(tuple(reports(place, Gathered(place, record, alone=True))))
    return Report(
        tuple(
            report
            for file in expand(os.fspath(entry) for entry in paths)
            for report in reports(file, None if record is None else Gathered(file, record))
        )
    )


@cache
def _builtin() -> Rulebook:
    return load_builtin()
