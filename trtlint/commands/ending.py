"""Convert the result or the error of a command to an exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click

from trtlint.commands.group import ClosedPipeError
from trtlint.commands.stopping import tidying_up
from trtlint.commands.streams import complain, discard_output, prepare_streams
from trtlint.errors import SettingError
from trtlint.report.guard import guarded
from trtlint.runs.exits import Exit


def ended(command: Callable[[], int | None]) -> int:
    """Run a command and return its exit code.  Print an error as one line on standard error.

    At SIGTERM, the process ends after the command has deleted its temporary files.

    Args:
        command: function that runs the command and returns the exit code.
    """
    prepare_streams()
    with guarded(), tidying_up():
        return _ended(command)


def _ended(command: Callable[[], int | None]) -> int:
    try:
        code = command() or 0
        sys.stdout.flush()
        return int(code)
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except (BrokenPipeError, ClosedPipeError):
        discard_output()
        return Exit.BROKEN_PIPE
    except OSError as error:
        # Commands handle errors of reading files, so this is an error of writing the output.
        discard_output()
        complain(f"cannot write {error.filename or 'the output'}: {error.strerror or error}")
        return Exit.UNREADABLE
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return Exit.USAGE
    except (click.ClickException, SettingError) as error:
        complain(error.format_message() if isinstance(error, click.ClickException) else str(error))
        return Exit.USAGE
    except Exception as error:  # noqa: BLE001 - the user gets one line, not a traceback
        from trtlint.runs.bugs import describe

        complain(describe(error))
        return Exit.BUG
