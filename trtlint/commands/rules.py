"""``trtlint rules`` and ``trtlint rule``: what is looked for, and why."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from trtlint.commands.setup import rulebook
from trtlint.policy.selection import SelectionError, choose
from trtlint.report.rules import write_rule, write_table
from trtlint.runs.exits import Exit


def run_rules(selectors: Sequence[str], folders: Sequence[str]) -> int:
    """Write the table of rules to standard output and return the exit code."""
    try:
        chosen = choose(rulebook(folders).entries, selectors)
    except SelectionError as error:
        raise click.UsageError(str(error)) from None
    write_table((entry.read() for entry in chosen), sys.stdout)
    return Exit.CLEAN


def run_rule(key: str, folders: Sequence[str]) -> int:
    """Write the explanation of one rule to standard output and return the exit code."""
    try:
        rule = rulebook(folders).rule(key)
    except LookupError as error:
        raise click.UsageError(str(error.args[0])) from None
    write_rule(rule, sys.stdout)
    return Exit.CLEAN
