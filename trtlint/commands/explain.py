"""``trtlint lint --explain-miss``: why a rule does not fire at a node."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from trtlint.commands.plan import Plan
from trtlint.engine.explain import explain_miss
from trtlint.engine.finding import Problem
from trtlint.exits import Exit
from trtlint.facts import Facts
from trtlint.model.errors import ModelError
from trtlint.model.load import load
from trtlint.report.escape import clean


def run_explain(plans: Sequence[Plan], asked: tuple[str, str]) -> int:
    """Write the reasons for each file and target, and return the exit code."""
    key, node = asked
    code = Exit.CLEAN
    for plan in plans:
        file = plan.file
        try:
            rule = plan.book.rule(key)
        except LookupError as error:
            raise click.UsageError(str(error.args[0])) from None
        build = None if plan.evidence is None else plan.evidence.build
        alone = plan.evidence is not None and plan.evidence.alone
        try:
            facts = Facts(None if alone else load(file), command=plan.command, build=build)
        except ModelError as error:
            problem = Problem(str(file), error.message, error.offset, error.node)
            print(clean(f"error: {problem}"), file=sys.stderr)
            code = Exit.UNREADABLE
            continue
        for target in plan.targets:
            print(clean(f"{file}, {target.words}:"))
            for line in explain_miss(rule, facts, target, node):
                print(f"  {clean(line)}")
    return code
