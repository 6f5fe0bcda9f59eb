"""``trtlint suppress``: accept a finding in a copy of a model, with a reason."""

from __future__ import annotations

from pathlib import Path

import click

from trtlint.commands.streams import notify
from trtlint.engine.rulebook import with_builtin
from trtlint.errors import SettingError
from trtlint.files.problem import Problem
from trtlint.model.errors import ModelError
from trtlint.policy.schema import SchemaError
from trtlint.policy.selection import note_outdated
from trtlint.policy.suppressing import SuppressOptions, suppress
from trtlint.remote.addresses import require_local
from trtlint.report.escape import clean
from trtlint.runs.exits import Exit
from trtlint.runs.progress import Activity


def run_suppress(options: SuppressOptions) -> int:
    """Write a copy of the model with the suppression, and return the exit code."""
    require_local([options.model])
    book = with_builtin(map(Path, options.rules))
    note_outdated("RULE", [options.rule], book.entries, notify)
    try:
        with Activity(f"copying {Path(options.model).name}"):
            words = suppress(options, book)
    except SchemaError as error:
        raise SettingError(f"--{error}") from None
    except ModelError as error:
        notify(str(Problem.of(Path(options.model), error)))
        return Exit.UNREADABLE
    click.echo(clean(f"{options.output}: {words} is suppressed"))
    return Exit.CLEAN
