"""Determine the settings of each file, from the configuration and the command line."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from trtlint.buildcommand import BuildCommand, choose_command, read_commands
from trtlint.buildfiles.kinds import FILE_KINDS, BuildFiles
from trtlint.engine.finding import Confidence
from trtlint.engine.rulebook import Rulebook, with_builtin
from trtlint.engine.ruleset import RuleSet
from trtlint.errors import SettingError
from trtlint.policy.baseline import Baseline, BaselineError
from trtlint.policy.config import Choices, Configuration, Configurations, overlay, shown
from trtlint.policy.options import FailOn, LintOptions, TargetOptions
from trtlint.policy.review import Policy, names
from trtlint.policy.selection import RuleLayer, RuleName, choose, note_outdated, require, split
from trtlint.policy.targets import by_version, require_product, targets_of
from trtlint.target.target import Target

_Value = TypeVar("_Value")
_LOWEST: Confidence = "low"
Notify = Callable[[str], None]
"""Function that shows a note or a warning to the user."""


class FileSettings(Struct, frozen=True):
    """Settings of one file.

    Attributes:
        file: the model, or the file of a build without a model.
        targets: the targets.
        configuration: the configuration for the model.
        choices: the sections of the configuration that apply to the model.  The most specific section is
            last.
        command: the build command; None if unknown.
        book: all rules.
        rules: the selected rules.
        policy: severities, suppressions and baseline.
        fail_on: the lowest severity that gives exit code 1.
        problem: the reason why the configuration cannot be used; empty for a valid configuration.
        build_files: the build files that the configuration names for the model.
        weights: whether to read all weights.
    """

    file: Path
    targets: tuple[Target, ...]
    configuration: Configuration = field(default_factory=Configuration)
    choices: tuple[Choices, ...] = ()
    command: BuildCommand | None = None
    book: Rulebook = Rulebook(())
    rules: RuleSet = field(default_factory=RuleSet)
    policy: Policy = field(default_factory=Policy)
    fail_on: FailOn = "error"
    problem: str = ""
    build_files: BuildFiles = field(default_factory=dict)
    weights: bool = False


class SettingsReader:
    """Reads the settings of files.  The reader reads each configuration, rule file and baseline only once.

    Args:
        options: the command line, which overrides the configuration.
        notify: function that shows a note or a warning to the user.
        compare: whether to remove the findings that are in a baseline. Reports need True, and fixes need
            False.
    """

    def __init__(self, options: LintOptions, notify: Notify, *, compare: bool = True) -> None:
        self._options = options
        self._notify = notify
        self._compare = compare
        file = None if options.config is None else Path(options.config)
        self._configurations = Configurations(file, isolated=options.isolated)
        self._checked: set[Path | None] = set()
        self._books: dict[tuple[str, ...], Rulebook] = {}
        self._known: dict[tuple[str, ...], tuple[RuleName, ...]] = {}
        self._chosen: dict[tuple[tuple[str, ...], tuple[RuleLayer, ...], bool], RuleSet] = {}
        self._targets: dict[TargetOptions, tuple[Target, ...]] = {}
        self._commands = read_commands(options.build) or options.ep.commands
        self.baselines: dict[Path, Baseline] = {}

    def settings(self, files: Iterable[Path]) -> list[FileSettings]:
        """Return the settings of each file.

        If the configuration of a file is invalid, the error is stored in ``problem`` of the file's settings.

        Raises:
            SettingError: the configurations of all files are invalid.  The message is about the first
            file.
        """
        found = [self._tried(file) for file in files]
        errors = [error for _, error in found if error is not None]
        if errors and len(errors) == len(found):
            raise errors[0]
        return [settings for settings, _ in found]

    def _tried(self, file: Path) -> tuple[FileSettings, SettingError | None]:
        try:
            return self.settings_of(file), None
        except SettingError as error:
            # A file that cannot be linted has a report for the target without a version.
            return FileSettings(file, targets=(Target(),), problem=str(error)), error

    def settings_of(self, file: Path) -> FileSettings:
        """Return the settings of one file.

        Raises:
            SettingError: the configuration, a rule file, a baseline or an option cannot be used.
        """
        configuration = self._configurations.of(file)
        book = self._book(configuration)
        self._check(configuration, book)
        options = self._options
        sections = tuple(configuration.choices(file))
        layers = [choices.layer for choices in sections]
        layers.append(
            RuleLayer(
                tuple(split(options.select)),
                tuple(split(options.extend_select)),
                tuple(split(options.ignore)),
            )
        )
        preview = configuration.preview if options.preview is None else options.preview
        asked = _asked(sections, options.target)
        targets = by_version(target for each in asked for target in self._expanded(each))
        if options.ep.provider is not None:
            require_product(options.ep.provider, targets)
        return FileSettings(
            file=file,
            configuration=configuration,
            choices=sections,
            targets=targets,
            command=choose_command(file, self._commands, self._notify),
            book=book,
            policy=Policy(
                severity=tuple(pair for choices in sections for pair in choices.severity),
                min_confidence=options.min_confidence or _last(c.min_confidence for c in sections) or _LOWEST,
                suppress=configuration.suppressions(file),
                baseline=self._baseline(configuration, book),
                known=self._names(configuration, book),
                own=not options.isolated,
            ),
            fail_on=options.fail_on or _last(c.fail_on for c in sections) or "error",
            build_files={
                kind: path
                for kind in FILE_KINDS
                if (path := _last(c.build_files.get(kind) for c in sections)) is not None
            },
            weights=options.weights,
            rules=self._choose(configuration, book, tuple(layers), preview=preview),
        )

    def _check(self, configuration: Configuration, book: Rulebook) -> None:
        """Raise an error if a configuration names an unknown rule or target.

        Sections that match no file of the run are also checked.
        """
        if configuration.file in self._checked:
            return
        self._checked.add(configuration.file)
        for choices in (configuration.general, *(section.choices for section in configuration.sections)):
            choose(book.entries, [choices.layer])
            for key, selectors in choices.layer.parts():
                self._note_outdated(f"{choices.where}{key}", selectors, book)
            for selector, _ in choices.severity:
                require(selector, book.entries, f"{choices.where}severity: ")
            self._note_outdated(
                f"{choices.where}severity", [selector for selector, _ in choices.severity], book
            )
            for target in choices.targets:
                self._check_target(target, choices.where)
        for entry in configuration.suppress:
            for selector in entry.rules:
                require(selector, book.entries, f"{entry.suppression.where}.rule: ")
            self._note_outdated(f"{entry.suppression.where}.rule", entry.rules, book)

    def _check_target(self, target: TargetOptions, where: str) -> None:
        try:
            self._expanded(target)
        except SettingError as error:
            raise SettingError(f"{where}target: {error}") from None

    def _note_outdated(self, where: str, selectors: Iterable[str], book: Rulebook) -> None:
        note_outdated(where, selectors, book.entries, self._notify)

    def _book(self, configuration: Configuration) -> Rulebook:
        folders = self._folders(configuration)
        for folder in configuration.rules:
            if not os.path.exists(folder):  # noqa: PTH110 - exists() raises an error for a long name
                raise SettingError(f"{_of(configuration)}rules: {shown(folder)}: no such file or folder")
        if folders not in self._books:
            self._books[folders] = with_builtin(map(Path, folders))
        return self._books[folders]

    def _names(self, configuration: Configuration, book: Rulebook) -> tuple[RuleName, ...]:
        key = self._folders(configuration)
        if key not in self._known:
            self._known[key] = names(book.entries)
        return self._known[key]

    def _folders(self, configuration: Configuration) -> tuple[str, ...]:
        return (*map(str, configuration.rules), *self._options.rules)

    def _choose(
        self, configuration: Configuration, book: Rulebook, layers: tuple[RuleLayer, ...], *, preview: bool
    ) -> RuleSet:
        key = tuple(map(str, configuration.rules)), layers, preview
        if key not in self._chosen:
            chosen = choose(book.entries, layers, preview=preview)
            for option, selectors in layers[-1].parts():
                self._note_outdated(f"--{option}", selectors, book)
            self._chosen[key] = RuleSet(chosen)
        return self._chosen[key]

    def _expanded(self, asked: TargetOptions) -> tuple[Target, ...]:
        if asked not in self._targets:
            self._targets[asked] = tuple(targets_of(asked))
        return self._targets[asked]

    def _baseline(self, configuration: Configuration, book: Rulebook) -> Baseline | None:
        options = self._options
        named = options.write_baseline or options.baseline
        file = configuration.baseline if named is None else Path(named)
        if file is None or not self._compare:
            return None
        if file not in self.baselines:
            try:
                self.baselines[file] = Baseline(file) if options.write_baseline else Baseline.read(file)
            except BaselineError as error:
                where = f"{_of(configuration)}baseline: " if named is None else ""
                raise SettingError(f"{where}{error}") from None
            self._note_outdated(shown(file), self.baselines[file].rules, book)
        return self.baselines[file]


def _of(configuration: Configuration) -> str:
    """Return the file of a configuration, to put before an error about the configuration."""
    return "" if configuration.file is None else f"{shown(configuration.file)}: "


def _asked(sections: Sequence[Choices], given: TargetOptions) -> tuple[TargetOptions, ...]:
    """Return the target options of the last configuration section that sets any.

    Later sections are more specific.  Options on the command line take precedence over all sections.
    """
    named = _last(choices.targets for choices in sections) or (TargetOptions(),)
    plugins = tuple(dict.fromkeys(name for choices in sections for name in choices.plugins)) or None
    return tuple(dict.fromkeys(overlay(replace(target, plugins=plugins), given) for target in named))


def _last(values: Iterable[_Value | None]) -> _Value | None:
    """Return the last value that is set."""
    found = None
    for value in values:
        found = value or found
    return found
