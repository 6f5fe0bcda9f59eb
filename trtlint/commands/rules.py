"""``trtlint rules`` and ``trtlint rule``: list and explain rules."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from trtlint.commands.setup import note_outdated, rulebook
from trtlint.policy.selection import SelectionError, choose, split
from trtlint.report.rules import write_rule, write_table
from trtlint.report.rulestatistics import write_json, write_statistics
from trtlint.runs.exits import Exit


def run_rules(
    selectors: Sequence[str], folders: Sequence[str], *, statistics: bool = False, as_json: bool = False
) -> int:
    """Write the table of rules, or their statistics, and return the exit code."""
    book = rulebook(folders)
    words = split(selectors)
    try:
        chosen = [entry.read() for entry in choose(book.entries, words, preview=True)]
    except SelectionError as error:
        raise click.UsageError(str(error)) from None
    note_outdated("RULE", words, book)
    if as_json:
        write_json(chosen, sys.stdout, statistics=statistics)
    elif statistics:
        write_statistics(chosen, sys.stdout)
    else:
        write_table(chosen, sys.stdout)
    return Exit.CLEAN


def run_rule(key: str, folders: Sequence[str]) -> int:
    """Write the explanation of one rule to standard output and return the exit code."""
    book = rulebook(folders)
    try:
        rule = book.rule(key)
    except LookupError as error:
        raise click.UsageError(str(error.args[0])) from None
    note_outdated("ID|NAME", [key], book)
    write_rule(rule, sys.stdout)
    return Exit.CLEAN
