"""``trtlint test``: the examples of rule files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from trtlint.engine.examples import run_examples as run_all
from trtlint.engine.rule import RuleError
from trtlint.engine.rulebook import builtin_rules, load_rules
from trtlint.report.counts import plural
from trtlint.report.escape import clean
from trtlint.runs.exits import Exit


def run_examples(paths: Sequence[str]) -> int:
    """Run the examples of rule files or folders, write those that fail, return the exit code."""
    try:
        rules = load_rules(map(Path, paths) if paths else [builtin_rules()])
        ran = failed = 0
        for result in run_all(rules):
            ran += result.got != "missing"
            if not result.ok:
                failed += 1
                print(clean(str(result)), flush=True)
    except RuleError as error:
        raise click.UsageError(str(error)) from None
    ran_in_words = f"{plural(ran, 'example')} of {plural(len(rules), 'rule')}"
    if failed:
        print(f"{plural(failed, 'failure')} in {ran_in_words}")
        return Exit.FINDINGS
    print(f"{ran_in_words} {'holds' if ran == 1 else 'hold'}")
    return Exit.CLEAN
