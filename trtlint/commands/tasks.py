"""What to do with each file: its configuration and the command line, made into rules and targets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from trtlint.buildcommand import BuildCommand
from trtlint.buildfiles.gathered import Gathered
from trtlint.buildfiles.witnesses import WITNESSES, BuildFiles
from trtlint.commands.setup import build_command, build_commands, rulebook, tell
from trtlint.commands.setup import targets as expand
from trtlint.engine.finding import Confidence
from trtlint.engine.rulebook import Rulebook, RuleEntry, looking_at
from trtlint.facts.kinds import Ground, grounds_for
from trtlint.lean import dataclass
from trtlint.policy.baseline import Baseline, BaselineError
from trtlint.policy.config import Choices, ConfigError, Configuration, Configurations, load, overlay, shown
from trtlint.policy.options import FailOn, LintOptions, TargetOptions
from trtlint.policy.review import Policy, Ran, names
from trtlint.policy.selection import Layer, RuleName, SelectionError, choose_by_layers, require, split
from trtlint.remote.addresses import Address
from trtlint.runs.dryjob import DryJob
from trtlint.target.completion import built_with
from trtlint.target.target import Target

if TYPE_CHECKING:
    from trtlint.facts.facts import Facts
    from trtlint.facts.trials import Trials
    from trtlint.measure.measurement import Measurement
    from trtlint.model.load import Model

_Value = TypeVar("_Value")
_LEAST_SURE: Confidence = "low"


@dataclass(frozen=True, slots=True)
class Task:
    """What to do with one file; :class:`trtlint.runs.job.Job` is the part that lints it, in any process.

    Attributes:
        file: the model.
        configuration: what counts for it.
        asked: the targets as asked for, before versions are expanded.
        targets: what to lint it for.
        command: the command line that builds it, None where it is not known.
        book: all rules.
        chosen: those that are wanted.
        policy: what to make of the findings.
        fail_on: the mildest finding that gives exit code 1.
        problem: why the file cannot be linted as its configuration wants; empty where it can.
        left: the files of a build that the configuration names for the model.
        gathered: what a build of it left behind, None where nothing was given.
        dry: what to ask of NVIDIA's parser and builder, None for nothing.
        measurement: what was measured of it, None where nothing was given.
        weights: whether all its weights are read.
        far: where it lies, if that is elsewhere; ``file`` is then a path that it would have.
    """

    file: Path
    configuration: Configuration
    asked: tuple[TargetOptions, ...]
    targets: tuple[Target, ...]
    command: BuildCommand | None
    book: Rulebook
    chosen: tuple[RuleEntry, ...]
    policy: Policy
    fail_on: FailOn
    problem: str = ""
    left: BuildFiles = field(default_factory=dict)
    gathered: Gathered | None = None
    dry: DryJob | None = None
    measurement: Measurement | None = None
    weights: bool = False
    far: Address | None = None

    @property
    def name(self) -> str:
        """What the model is called in reports."""
        return str(self.file) if self.far is None else self.far.name

    @property
    def there(self) -> frozenset[Ground]:
        """What there is to find facts in."""
        dry, measured = self.dry is not None, self.measurement is not None
        return grounds_for(self.gathered, self.command, dry=dry, measured=measured, weights=self.weights)

    @property
    def entries(self) -> tuple[RuleEntry, ...]:
        """The rules to run: the chosen ones that look at what is there."""
        return tuple(looking_at(self.there, self.chosen))

    def facts(self, model: Model | None, trials: Trials | None = None, *, built: bool = True) -> Facts:
        """Return the facts of the model with all that the command line gives beside it.

        Args:
            model: the model, None where there is a build alone.
            trials: what was found out of it by running it.
            built: whether what a build left behind is of this form of the model.
        """
        from trtlint.facts.facts import Facts

        record = None if self.gathered is None or not built else self.gathered.record
        return Facts(model, command=self.command, record=record, trials=trials, weights=self.weights)


class TaskFactory:
    """Makes tasks; every file that a task needs is read once.

    Args:
        options: the command line, which has the last word.

    Raises:
        click.UsageError: ``--config`` names a file that cannot be used.
    """

    def __init__(self, options: LintOptions) -> None:
        self._options = options
        self._configurations = Configurations()
        self._checked: set[Path | None] = set()
        self._books: dict[tuple[str, ...], Rulebook] = {}
        self._known: dict[tuple[str, ...], tuple[RuleName, ...]] = {}
        self._chosen: dict[tuple[tuple[str, ...], tuple[Layer, ...], bool], tuple[RuleEntry, ...]] = {}
        self._targets: dict[TargetOptions, tuple[Target, ...]] = {}
        self._ran: dict[tuple[int, bool, tuple[Target, ...]], Ran] = {}
        self._commands = build_commands(options.build)
        self._fixed: Configuration | None = None
        if options.isolated:
            self._fixed = Configuration()
        elif options.config is not None:
            with _users():
                self._fixed = load(Path(options.config))
        self.baselines: dict[Path, Baseline] = {}

    def tasks(self, files: Iterable[Path]) -> list[Task]:
        """What to do with each of some files.

        A configuration that cannot be used is the problem of the files that it is for.

        Raises:
            click.UsageError: none of the files has a task; the reason of the first.
        """
        found = [self._tried(file) for file in files]
        if found and all(error is not None for _, error in found) and found[0][1] is not None:
            raise found[0][1]
        return [task for task, _ in found]

    def _tried(self, file: Path) -> tuple[Task, click.UsageError | None]:
        try:
            return self.task(file), None
        except click.UsageError as error:
            return _without(file, error), error

    def task(self, file: Path) -> Task:
        """What to do with a file.

        Raises:
            click.UsageError: the configuration, a rule file, a baseline or an option cannot be used.
        """
        with _users():
            configuration = self._fixed or self._configurations.of(file)
        book = self._book(configuration)
        self._check(configuration, book)
        options = self._options
        told = list(configuration.choices(file))
        layers = [choices.layer for choices in told]
        layers.append(
            Layer(
                tuple(split(options.select)),
                tuple(split(options.extend_select)),
                tuple(split(options.ignore)),
            )
        )
        preview = configuration.preview if options.preview is None else options.preview
        chosen = self._choose(configuration, book, tuple(layers), preview=preview)
        asked = _asked(told, options.target)
        expanded = [target for each in asked for target in self._expanded(each)]
        command = build_command(self._commands, file)
        targets = tuple(dict.fromkeys(built_with(expanded, command)))
        task = Task(
            file=file,
            configuration=configuration,
            asked=asked,
            targets=targets,
            command=command,
            book=book,
            chosen=chosen,
            policy=Policy(
                severity=tuple(pair for choices in told for pair in choices.severity),
                min_confidence=options.min_confidence or _last(c.min_confidence for c in told) or _LEAST_SURE,
                suppress=configuration.suppressions(file),
                baseline=self._baseline(configuration, book),
                known=self._names(configuration, book),
                own=not options.isolated,
            ),
            fail_on=options.fail_on or _last(c.fail_on for c in told) or "error",
            left={
                kind: path
                for kind in WITNESSES
                if (path := _last(c.left.get(kind) for c in told)) is not None
            },
            weights=options.weights,
        )
        return replace(task, policy=replace(task.policy, ran=self._ran_for(task)))

    def _check(self, configuration: Configuration, book: Rulebook) -> None:
        """Refuse a configuration that names what does not exist, even where no model needs it."""
        if configuration.file in self._checked:
            return
        self._checked.add(configuration.file)
        with _users():
            for choices in (configuration.general, *(section.choices for section in configuration.sections)):
                choose_by_layers(book.entries, [choices.layer])
                for key, selectors in choices.layer.parts():
                    tell(f"{choices.where}{key}", selectors, book)
                for selector, _ in choices.severity:
                    require(selector, book.entries, f"{choices.where}severity: ")
                tell(f"{choices.where}severity", (selector for selector, _ in choices.severity), book)
                for target in choices.targets:
                    self._check_target(target, choices.where)
            for entry in configuration.suppress:
                for selector in entry.rules:
                    require(selector, book.entries, f"{entry.suppression.where}.rule: ")
                tell(f"{entry.suppression.where}.rule", entry.rules, book)

    def _check_target(self, target: TargetOptions, where: str) -> None:
        try:
            self._expanded(target)
        except click.UsageError as error:
            raise click.UsageError(f"{where}target: {error.message}") from None

    def _book(self, configuration: Configuration) -> Rulebook:
        folders = self._folders(configuration)
        if folders not in self._books:
            self._books[folders] = rulebook(folders)
        return self._books[folders]

    def _names(self, configuration: Configuration, book: Rulebook) -> tuple[RuleName, ...]:
        key = self._folders(configuration)
        if key not in self._known:
            self._known[key] = names(book.entries)
        return self._known[key]

    def _folders(self, configuration: Configuration) -> tuple[str, ...]:
        return (*map(str, configuration.rules), *self._options.rules)

    def _choose(
        self, configuration: Configuration, book: Rulebook, layers: tuple[Layer, ...], *, preview: bool
    ) -> tuple[RuleEntry, ...]:
        key = tuple(map(str, configuration.rules)), layers, preview
        if key not in self._chosen:
            with _users():
                self._chosen[key] = tuple(choose_by_layers(book.entries, layers, preview=preview))
            for key_, selectors in layers[-1].parts():
                tell(f"--{key_}", selectors, book)
        return self._chosen[key]

    def _ran_for(self, task: Task) -> Ran:
        # Equal choices are one object; comparing their rules would cost more than it saves.
        key = id(task.chosen), task.command is None, task.targets
        if key not in self._ran:
            self._ran[key] = Ran(task.entries, task.targets)
        return self._ran[key]

    def _expanded(self, asked: TargetOptions) -> tuple[Target, ...]:
        if asked not in self._targets:
            self._targets[asked] = tuple(expand(asked))
        return self._targets[asked]

    def _baseline(self, configuration: Configuration, book: Rulebook) -> Baseline | None:
        options = self._options
        named = options.write_baseline or options.baseline
        file = configuration.baseline if named is None else Path(named)
        if file is None:
            return None
        if file not in self.baselines:
            with _users():
                self.baselines[file] = Baseline(file) if options.write_baseline else Baseline.read(file)
            tell(shown(file), self.baselines[file].rules, book)
        return self.baselines[file]


def _without(file: Path, error: click.UsageError) -> Task:
    """The task for a file that cannot be linted."""
    return Task(
        file=file,
        configuration=Configuration(),
        asked=(),
        targets=(Target(),),
        command=None,
        book=Rulebook(()),
        chosen=(),
        policy=Policy(),
        fail_on="error",
        problem=error.message,
    )


def _asked(told: Sequence[Choices], given: TargetOptions) -> tuple[TargetOptions, ...]:
    """The targets of the innermost place that names some, with what the command line says of them."""
    named = _last(choices.targets for choices in told) or (TargetOptions(),)
    plugins = tuple(dict.fromkeys(name for choices in told for name in choices.plugins)) or None
    return tuple(dict.fromkeys(overlay(replace(target, plugins=plugins), given) for target in named))


def _last(values: Iterable[_Value | None]) -> _Value | None:
    """The last value that says something."""
    found = None
    for value in values:
        found = value or found
    return found


@contextmanager
def _users() -> Iterator[None]:
    """Make errors in what the user wrote usage errors."""
    try:
        yield
    except (ConfigError, BaselineError, SelectionError) as error:
        raise click.UsageError(str(error)) from None
