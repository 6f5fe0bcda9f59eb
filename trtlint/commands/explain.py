"""``trtlint lint --explain-miss``: explain why a rule does not report a node."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from trtlint.engine.explain import explain_miss
from trtlint.files.limits import limit_work
from trtlint.files.problem import Problem, UnreadableError
from trtlint.report.escape import clean
from trtlint.runs.exits import Exit
from trtlint.runs.task import Task


def run_explain(tasks: Sequence[Task], asked: tuple[str, str]) -> int:
    """Print, for each file and target, why a rule does not report a node. Return the exit code.

    ``asked`` is the rule and the path of the node.
    """
    key, node = asked
    code = Exit.CLEAN
    for task in tasks:
        file = task.file
        if task.problem:
            print(clean(f"error: {file}: {task.problem}"), file=sys.stderr)
            code = max(code, Exit.USAGE)
            continue
        for unread in task.case.problems:  # the rule is explained without this file
            print(clean(f"error: {unread}"), file=sys.stderr)
            code = Exit.UNREADABLE
        if task.case.alone and task.case.problems:
            continue
        rule = task.settings.book.rule(key)
        try:
            with limit_work(file, *task.case.build_files):
                opened = task.case.open()
                explained = [
                    (target.words, explain_miss(rule, opened.facts(target), target, node))
                    for target in opened.case.built_for
                ]
        except (UnreadableError, OSError) as error:
            problem = Problem.of(file, error)
            print(clean(f"error: {problem}"), file=sys.stderr)
            code = Exit.UNREADABLE
            continue
        for words, lines in explained:
            print(clean(f"{file}, {words}:"))
            for line in lines:
                print(f"  {clean(line)}")
    return code
