"""``trtlint test``: run the examples that test rules, and the examples of the built-in tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from trtlint.commands.streams import complain
from trtlint.engine.rule import RuleError
from trtlint.engine.rulebook import Rulebook, builtin_rules, load_rules
from trtlint.errors import SettingError
from trtlint.examples.conditions import run_condition_examples
from trtlint.examples.fixed import run_fixed_examples
from trtlint.examples.known_bad import run_known_bad_examples
from trtlint.examples.rules import Begin, ExampleResult
from trtlint.examples.rules import run_examples as run_all
from trtlint.facts.blocks.conditions import entries
from trtlint.facts.blocks.knownbad import entries as bad_releases
from trtlint.fixes import names
from trtlint.report.counts import plural
from trtlint.report.escape import clean
from trtlint.runs.examples import BugError, RuleFileError, run_limited
from trtlint.runs.exits import Exit
from trtlint.runs.progress import with_progress


def _results(rules: Rulebook, begin: Begin, *, tables: bool) -> Iterator[ExampleResult]:
    """Run the examples of rules and, if ``tables`` is true, the examples of the built-in tables."""
    yield from run_all(rules, names(), begin)
    yield from run_fixed_examples(rules, begin)
    if tables:
        yield from run_condition_examples()
        yield from run_known_bad_examples(tuple(rules))


def run_examples(paths: Sequence[str]) -> int:
    """Run the examples of rule files or folders, print the failures, and return the exit code.

    Without a path, run the examples of the built-in rules and of the built-in tables.
    """
    try:
        rules = load_rules(map(Path, paths) if paths else [builtin_rules()])
        ran = failed = 0
        broken = False
        results = run_limited(partial(_results, rules, tables=not paths))
        for result in with_progress(results, None, "running examples"):
            ran += result.got != "missing"
            broken = broken or result.got == "broken"
            if not result.ok:
                failed += 1
                print(clean(str(result)), flush=True)
    except (RuleError, RuleFileError) as error:
        raise SettingError(str(error)) from None
    except BugError as error:
        complain(str(error))
        return Exit.BUG
    ran_in_words = f"{plural(ran, 'example')} of {plural(len(rules), 'rule')}"
    if previews := sum(entry.status == "preview" for entry in rules.entries):
        ran_in_words += f" ({previews} in preview)"
    if not paths:
        ran_in_words += f", {plural(sum(1 for _ in entries()), 'refusal')}"
        ran_in_words += f" and {plural(sum(1 for _ in bad_releases()), 'bad release')}"
    if failed:
        print(f"{plural(failed, 'failure')} in {ran_in_words}")
        return Exit.USAGE if broken else Exit.FINDINGS
    print(f"{ran_in_words} {'holds' if ran == 1 else 'hold'}")
    return Exit.CLEAN
