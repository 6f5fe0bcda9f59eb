"""The ``trtlint`` command, which runs ``lint`` if no other command is named."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trtlint.commands.optiongroups import GroupedCommand, write_groups
from trtlint.errors import TrtlintError
from trtlint.knowledge.nearest import nearest

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


_ALIASES = {"check": "lint", "explain": "rule", "version": "--version", "help": "--help"}
"""Names of commands in other linters, each with its name in trtlint.

If a file with such a name exists, trtlint lints the file.
"""


class ClosedPipeError(TrtlintError):
    """Error: the reader of standard output, such as ``head``, closed the pipe.

    Without this class, click would handle the BrokenPipeError and exit with its own code.
    """


class Main(click.Group):
    """The ``trtlint`` command, which runs ``lint`` if the arguments name no other command."""

    command_class = GroupedCommand

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the command ``lint`` if the arguments name no command."""
        _refuse_ambiguous(args)
        own = {"-h", "--help", "--version"}
        if args and args[0] in _ALIASES and not Path(args[0]).exists():
            args = [_ALIASES[args[0]], *args[1:]]
        if args and args[0] not in self.commands and args[0] not in own:
            self._refuse_misspelt(args[0])
            args = ["lint", *args]
        return super().parse_args(ctx, args)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Parse the command line. For ``--help``, click prints the help in this step.

        Raises:
            ClosedPipeError: the reader closed the pipe.
        """
        try:
            return super().make_context(*args, **extra)
        except BrokenPipeError as error:
            raise ClosedPipeError from error

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that the arguments name.

        Raises:
            ClosedPipeError: the reader closed the pipe.
        """
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ClosedPipeError from error

    def _refuse_misspelt(self, word: str) -> None:
        """Raise an error for a word like ``rulse``, which is no file, but resembles the name of a command."""
        if not word.isidentifier() or Path(word).exists():
            return
        if near := nearest(word, self.commands, count=2, cutoff=0.6):
            commands = " or ".join(f"`trtlint {name}`" for name in near)
            raise click.UsageError(f"{word!r} is neither a file nor a command; did you mean {commands}?")

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return completions for the shell: commands, and the options and files of the command ``lint``."""
        from click.shell_completion import CompletionItem

        found = super().shell_complete(ctx, incomplete)
        default = self.commands["lint"]
        inner = click.Context(default, parent=ctx, info_name=default.name)
        found += default.shell_complete(inner, incomplete)
        if not incomplete.startswith("-"):
            found.append(CompletionItem(incomplete, type="file"))
        return list({item.value: item for item in found}.values())

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the usage with a command and the usage without a command."""
        formatter.write_usage("trtlint", "PATH... [OPTIONS]")
        formatter.write_usage("trtlint", "COMMAND [ARGS]...", prefix=" " * len("Usage: "))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, and the options of the command ``lint``."""
        self.format_commands(ctx, formatter)
        write_groups([*self.commands["lint"].params, *self.params], ctx, formatter)


def _refuse_ambiguous(args: list[str]) -> None:
    """Raise an error for an option that is also the name of an existing file.

    Shell globs and Git hooks pass file names to ``trtlint``. Without this check, a file with the name
    ``--baseline=known.json`` would be parsed as an option and hide findings.
    """
    for word in args:
        if word == "--":
            return
        if len(word) > 1 and word.startswith("-") and os.path.lexists(word):
            raise click.UsageError(
                f"{word!r} is both an option and a file; write ./{word}, or put -- before files"
            )
