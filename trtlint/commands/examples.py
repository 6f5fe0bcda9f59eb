"""``trtlint test``: the examples of rule files, of what parsers refuse, and of bad releases."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import click

from trtlint.engine.conditionexamples import run_condition_examples
from trtlint.engine.examples import run_examples as run_all
from trtlint.engine.knownbadexamples import run_known_bad_examples
from trtlint.engine.rule import RuleError
from trtlint.engine.rulebook import builtin_rules, load_rules
from trtlint.facts.blocks.conditions import entries
from trtlint.facts.blocks.knownbad import entries as bad_releases
from trtlint.fixes import names
from trtlint.fixes.examples import run_fixed_examples
from trtlint.report.counts import plural
from trtlint.report.escape import clean
from trtlint.runs.exits import Exit


def run_examples(paths: Sequence[str]) -> int:
    """Run the examples of rule files or folders, write those that fail, return the exit code.

    Without a path, of trtlint's own rules and of its tables of what parsers and builders refuse and of
    releases that are bad at something.
    """
    try:
        rules = load_rules(map(Path, paths) if paths else [builtin_rules()])
        ran = failed = 0
        tables = () if paths else chain(run_condition_examples(), run_known_bad_examples(tuple(rules)))
        for result in chain(run_all(rules, names()), run_fixed_examples(rules), tables):
            ran += result.got != "missing"
            if not result.ok:
                failed += 1
                print(clean(str(result)), flush=True)
    except RuleError as error:
        raise click.UsageError(str(error)) from None
    ran_in_words = f"{plural(ran, 'example')} of {plural(len(rules), 'rule')}"
    if previews := sum(entry.status == "preview" for entry in rules.entries):
        ran_in_words += f" ({previews} in preview)"
    if not paths:
        ran_in_words += f", {plural(sum(1 for _ in entries()), 'refusal')}"
        ran_in_words += f" and {plural(sum(1 for _ in bad_releases()), 'bad release')}"
    if failed:
        print(f"{plural(failed, 'failure')} in {ran_in_words}")
        return Exit.FINDINGS
    print(f"{ran_in_words} {'holds' if ran == 1 else 'hold'}")
    return Exit.CLEAN
