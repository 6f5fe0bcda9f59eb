"""The reference page of the command line, generated from the commands."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator

import click

from scripts.manual.markdown import plain, table
from trtlint.cli import cli
from trtlint.commands.optiongroups import shown_groups

_DEFAULT = (
    "`trtlint PATH...` is short for `trtlint lint PATH...`. `trtlint COMMAND --help` prints the options of a "
    "command."
)


def command_page() -> str:
    """Return the page with the usage, help text and options of each command."""
    context = click.Context(cli, info_name="trtlint", **cli.context_settings)
    parts = ["# Commands", *_help(cli), _DEFAULT]
    for name, command in cli.commands.items():
        inner = click.Context(command, info_name=name, parent=context, **command.context_settings)
        usage = " ".join(("trtlint", name, *command.collect_usage_pieces(inner)))
        parts += [f"## trtlint {name}", f"```text\n{usage}\n```", *_help(command)]
        for group, options in shown_groups(command.get_params(inner)).items():
            if rows := list(_options(options, inner)):
                parts += [f"**{group}**", table(("option", "meaning"), rows)]
    return "\n\n".join(parts) + "\n"


def _help(command: click.Command) -> Iterator[str]:
    """Yield the paragraphs of a help text. A paragraph that click must not wrap becomes a code block."""
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        if paragraph.startswith("\b\n"):
            lines = inspect.cleandoc(paragraph.removeprefix("\b\n"))
            yield f"```text\n{lines}\n```"
        else:
            yield plain(" ".join(paragraph.split()))


def _options(options: Iterable[click.Option], context: click.Context) -> Iterator[tuple[str, str]]:
    for option in options:
        record = option.get_help_record(context)
        if record is not None:
            yield f"`{record[0]}`", plain(record[1])
