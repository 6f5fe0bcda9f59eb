"""Make standard output and standard error safe: missing streams, unprintable text and closed pipes."""

from __future__ import annotations

import os
import sys

import click


def prepare_streams() -> None:
    """Ensure that standard output and standard error exist, and that they can print any node name."""
    for descriptor in range(3):
        _occupy(descriptor)
    if sys.stdout is None:  # closed by the caller, as with `>&-`
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        # Names in a model can have characters that the encoding of the locale lacks.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _occupy(descriptor: int) -> None:
    """Open the null device if the caller closed this file descriptor.

    Otherwise a model or a report can get the descriptor, and a C library prints its messages into this file.
    """
    try:
        os.fstat(descriptor)
    except OSError:
        os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def discard_output() -> None:
    """Discard unwritten text, so that Python reports no flush error at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def notify(message: str) -> None:
    """Print a note or a warning as one line on standard error."""
    from trtlint.report.escape import clean

    click.echo(clean(f"trtlint: {message}"), err=True)


def complain(message: str) -> None:
    """Print an error as one line on standard error.  A long message is shortened."""
    from trtlint.files.problem import shorten
    from trtlint.report.escape import clean

    click.echo(f"trtlint: {clean(shorten(' '.join(message.split())))}", err=True)
