"""``trtlint lint --explain-miss``: why a rule does not fire at a node."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from trtlint.commands.options import LintOptions
from trtlint.engine.explain import explain_miss
from trtlint.engine.finding import Problem
from trtlint.engine.rulebook import Rulebook
from trtlint.exits import Exit
from trtlint.facts import Facts
from trtlint.files import expand
from trtlint.model.errors import ModelError
from trtlint.model.load import load
from trtlint.report.escape import clean
from trtlint.target import Target


def run_explain(
    options: LintOptions, asked: tuple[str, str], book: Rulebook, builds: Sequence[Target]
) -> int:
    """Write the reasons for each file and target, and return the exit code."""
    key, node = asked
    try:
        rule = book.rule(key)
    except LookupError as error:
        raise click.UsageError(str(error.args[0])) from None
    code = Exit.CLEAN
    for file in expand(options.paths):
        try:
            facts = Facts(load(file))
        except ModelError as error:
            problem = Problem(str(file), error.message, error.offset, error.node)
            print(clean(f"error: {problem}"), file=sys.stderr)
            code = Exit.UNREADABLE
            continue
        for target in builds:
            print(clean(f"{file}, {target.words}:"))
            for line in explain_miss(rule, facts, target, node):
                print(f"  {clean(line)}")
    return code
