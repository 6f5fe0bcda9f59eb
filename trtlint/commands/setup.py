"""From options to what the engine takes: targets and rules.  What is wrong is a usage error."""

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
    """The builds to lint for: one for each version named, oldest first, and each GPU.

    Without a version there is one of unknown version.

    Raises:
        click.UsageError: a version, GPU or setting that does not exist, or a contradiction.
    """
    try:
        return targets_of(options)
    except TargetError as error:
        raise click.UsageError(str(error)) from None


def build_commands(text: str | None) -> tuple[BuildCommand, ...]:
    """The commands that ``--build`` gives, none if it was not given.

    Raises:
        click.UsageError: there are none in it, or its file cannot be read.
    """
    try:
        return () if text is None else read_commands(text)
    except CommandError as error:
        raise click.UsageError(str(error)) from None


def provider_commands(options: EpOptions) -> tuple[BuildCommand, ...]:
    """The command that ``--ep`` and ``--ep-options`` give, none without a provider.

    Raises:
        click.UsageError: an option is not written as KEY=VALUE.
    """
    if options.provider is None:
        return ()
    from trtlint.buildcommand.providers import of_command_line

    try:
        return (of_command_line(options.provider, options.texts),)
    except CommandError as error:
        raise click.UsageError(str(error)) from None


def build_command(commands: Sequence[BuildCommand], model: Path) -> BuildCommand | None:
    """The command that builds a model; what is unclear about it is said on standard error.

    Where none is given, a model in a model repository of Triton is built as its configuration there says.

    Raises:
        click.UsageError: that configuration cannot be read.
    """
    if not commands:
        try:
            if (config := config_beside(model)) is not None:
                return read_config(config)
        except CommandError as error:
            raise click.UsageError(str(error)) from None
    found = commands_for(model, commands)
    if commands and not found:
        click.echo(f"trtlint: warning: no command of --build has --onnx={model.name}", err=True)
    if len(found) > 1:
        others = ", ".join(str(command.line) for command in found[1:])
        text = f"{found[0].place or '--build'} is taken for {model.name}; so could be line {others}"
        click.echo(f"trtlint: warning: {text}", err=True)
    return found[0] if found else None


def refuse_addresses(names: Sequence[str]) -> None:
    """Refuse what can only be done with models of this machine.

    Raises:
        click.UsageError: a model lies elsewhere.
    """
    for name in names:
        if is_address(name):
            raise click.UsageError(f"{name.partition('?')[0]}: this needs the model here: download it")


def rulebook(folders: Sequence[str]) -> Rulebook:
    """The rules that come with trtlint and those of the user's folders.

    Raises:
        click.UsageError: a rule file is wrong; the text begins with file and line.
    """
    try:
        return with_builtin(map(Path, folders))
    except RuleError as error:
        raise click.UsageError(str(error)) from None


def tell(where: str, selectors: Iterable[str], book: Rulebook) -> None:
    """Say on standard error which of the words are no longer ids or names of rules, or soon will be none.

    Args:
        where: the option, or file and key, that they were written at.
        selectors: the words.
        book: all rules.
    """
    for sentence in outdated(selectors, book.entries):
        click.echo(clean(f"trtlint: note: {where}: {sentence}"), err=True)
