"""``trtlint rules`` and ``trtlint rule``: list and explain rules."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from trtlint.commands.reportoptions import require_outputs
from trtlint.commands.streams import notify
from trtlint.engine.rule import Rule
from trtlint.engine.rulebook import with_builtin
from trtlint.policy.selection import RuleLayer, choose, note_outdated, split
from trtlint.report.outputs import ReportOutput, write_all
from trtlint.report.rules import write_rule, write_table
from trtlint.report.rulestatistics import write_json, write_statistics
from trtlint.runs.exits import Exit


def run_rules(
    selectors: Sequence[str],
    folders: Sequence[str],
    *,
    outputs: Sequence[ReportOutput],
    statistics: bool = False,
) -> int:
    """Write the table of rules, or counts of rules, and return the exit code."""
    require_outputs(outputs, ())
    book = with_builtin(map(Path, folders))
    words = split(selectors)
    chosen = [entry.read() for entry in choose(book.entries, [RuleLayer(tuple(words))], preview=True)]
    note_outdated("RULE", words, book.entries, notify)
    write_all(outputs, lambda format, file: _write(chosen, format, file, statistics=statistics), ())
    return Exit.CLEAN


def _write(rules: Sequence[Rule], format: str, file: TextIO, *, statistics: bool) -> None:
    if format == "json":
        write_json(rules, file, statistics=statistics)
    elif format == "text":
        (write_statistics if statistics else write_table)(rules, file)
    else:
        from trtlint.report.document import render
        from trtlint.report.rulestatistics import page

        file.write(render(page(rules, statistics=statistics), format))


def run_rule(key: str, folders: Sequence[str]) -> int:
    """Write the explanation of one rule to standard output and return the exit code."""
    book = with_builtin(map(Path, folders))
    rule = book.rule(key)
    note_outdated("ID|NAME", [key], book.entries, notify)
    write_rule(rule, sys.stdout)
    return Exit.CLEAN
