"""Convert options to targets, build commands and rules.  Mistakes of the user become usage errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from trtlint.buildcommand import (
    BuildCommand,
    CommandError,
    commands_for,
    config_beside,
    read_commands,
    read_config,
)
from trtlint.engine.rule import RuleError
from trtlint.engine.rulebook import Rulebook, with_builtin
from trtlint.policy.options import EpOptions, TargetOptions
from trtlint.policy.selection import outdated
from trtlint.policy.targets import targets_of
from trtlint.remote.addresses import is_address
from trtlint.report.escape import clean
from trtlint.target.parsing import TargetError
from trtlint.target.target import Target


def targets(options: TargetOptions) -> list[Target]:
    """Return a target for each combination of a given version (oldest first) and a given GPU.

    If no version is given, the version of the targets is unknown.

    Raises:
        click.UsageError: a version, GPU or setting does not exist, or two settings contradict each other.
    """
    try:
        return targets_of(options)
    except TargetError as error:
        raise click.UsageError(str(error)) from None


def build_commands(text: str | None) -> tuple[BuildCommand, ...]:
    """Return the build commands in the value of ``--build``; empty if the option is not given.

    Raises:
        click.UsageError: the text contains no command, or the file cannot be read.
    """
    try:
        return () if text is None else read_commands(text)
    except CommandError as error:
        raise click.UsageError(str(error)) from None


def provider_commands(options: EpOptions) -> tuple[BuildCommand, ...]:
    """Return the options ``--ep`` and ``--ep-options`` as a build command; empty if they are not given.

    Raises:
        click.UsageError: a provider option is not written as KEY=VALUE.
    """
    if options.provider is None:
        return ()
    from trtlint.buildcommand.providers import of_command_line

    try:
        return (of_command_line(options.provider, options.texts),)
    except CommandError as error:
        raise click.UsageError(str(error)) from None


def build_command(commands: Sequence[BuildCommand], model: Path) -> BuildCommand | None:
    """Choose the command that builds a model, and warn if several commands match.

    If ``commands`` is empty and the model is in a Triton model repository, the ``config.pbtxt`` of the
    repository is used.

    Raises:
        click.UsageError: the configuration cannot be read.
    """
    if not commands:
        try:
            if (config := config_beside(model)) is not None:
                return read_config(config)
        except CommandError as error:
            raise click.UsageError(str(error)) from None
    found = commands_for(model, commands)
    if commands and not found:
        click.echo(
            f"trtlint: warning: the file of --build contains no command with --onnx={model.name}", err=True
        )
    if len(found) > 1:
        others = ", ".join(str(command.line) for command in found[1:])
        text = f"using {found[0].place or '--build'} for {model.name}; line {others} also matches"
        click.echo(f"trtlint: warning: {text}", err=True)
    return found[0] if found else None


def refuse_addresses(names: Sequence[str]) -> None:
    """Raise an error if a command that needs local models gets remote models.

    Raises:
        click.UsageError: a model is remote.
    """
    for name in names:
        if is_address(name):
            raise click.UsageError(
                f"{name.partition('?')[0]}: this is a remote model; download the file first"
            )


def rulebook(folders: Sequence[str]) -> Rulebook:
    """Return the built-in rules and the rules in folders of the user.

    Raises:
        click.UsageError: a rule file is invalid; the message starts with file and line.
    """
    try:
        return with_builtin(map(Path, folders))
    except RuleError as error:
        raise click.UsageError(str(error)) from None


def note_outdated(where: str, selectors: Iterable[str], book: Rulebook) -> None:
    """Print a note for each selector that names a deprecated, renamed or removed rule.

    Args:
        where: the option, or the file and key, that contains the selectors.
        selectors: the selectors.
        book: all rules.
    """
    for sentence in outdated(selectors, book.entries):
        click.echo(clean(f"trtlint: note: {where}: {sentence}"), err=True)
