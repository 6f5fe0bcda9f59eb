"""Standard output and standard error, whatever the caller made of them."""

from __future__ import annotations

import os
import sys

import click


def prepare_streams() -> None:
    """Make sure that there is a standard output, and that it takes whatever a model calls its nodes."""
    if sys.stdout is None:  # closed by the caller, as with `>&-`
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        # Names in a model can hold what the locale's encoding cannot write.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def discard_output() -> None:
    """Leave nothing for Python to flush, and complain of, at exit, where standard output takes nothing."""
    try:
        sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def complain(message: str) -> None:
    """Say in one line on standard error what is wrong, cut where it quotes more than is read."""
    from trtlint.files.problem import shorten
    from trtlint.report.escape import clean

    click.echo(f"trtlint: {clean(shorten(' '.join(message.split())))}", err=True)
