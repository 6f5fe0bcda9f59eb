"""``trtlint lint --explain-miss``: why a rule does not fire at a node."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from trtlint.commands.plan import Plan
from trtlint.engine.explain import explain_miss
from trtlint.facts.facts import Facts
from trtlint.files.problem import Problem
from trtlint.model.errors import ModelError
from trtlint.model.load import load
from trtlint.report.escape import clean
from trtlint.runs.exits import Exit


def run_explain(plans: Sequence[Plan], asked: tuple[str, str]) -> int:
    """Write the reasons for each file and target, and return the exit code."""
    key, node = asked
    code = Exit.CLEAN
    for plan in plans:
        file = plan.file
        if plan.problem:
            print(clean(f"error: {file}: {plan.problem}"), file=sys.stderr)
            code = max(code, Exit.USAGE)
            continue
        try:
            rule = plan.book.rule(key)
        except LookupError as error:
            raise click.UsageError(str(error.args[0])) from None
        record = None if plan.gathered is None else plan.gathered.record
        alone = plan.gathered is not None and plan.gathered.alone
        try:
            facts = Facts(None if alone else load(file), command=plan.command, record=record)
        except ModelError as error:
            problem = Problem.of(file, error)
            print(clean(f"error: {problem}"), file=sys.stderr)
            code = Exit.UNREADABLE
            continue
        for target in plan.targets:
            print(clean(f"{file}, {target.words}:"))
            for line in explain_miss(rule, facts, target, node):
                print(f"  {clean(line)}")
    return code
