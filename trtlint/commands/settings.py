"""``trtlint lint --show-settings``: show the settings that apply to each file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from trtlint.policy.config import shown
from trtlint.policy.suppression import Acceptance
from trtlint.report.escape import clean
from trtlint.runs.dryjob import DryJob
from trtlint.runs.exits import Exit
from trtlint.runs.task import Task


def run_settings(tasks: Sequence[Task]) -> int:
    """Print the settings of each file and return the exit code.

    Files with equal settings share one block.
    """
    code = Exit.CLEAN
    for lines, same in groupby(tasks, key=lambda task: tuple(_lines(task))):
        for task in same:
            print(clean(f"# {task.file}"))
            code = max(code, Exit.USAGE if task.problem else Exit.CLEAN)
        for line in lines:
            print(clean(line))
        print()
    return code


def _lines(task: Task) -> Iterator[str]:
    """Yield the settings of one file as lines of TOML."""
    if task.problem:
        yield f"# error: {task.problem}"
        return
    settings, targets = task.settings, task.case.built_for
    file = settings.configuration.file
    yield f"# configuration: {'none' if file is None else shown(file)}"
    policy = settings.policy
    yield f"targets = {_list(target.words for target in targets)}"
    yield f"plugins = {_list(sorted({name for target in targets for name in target.plugins or ()}))}"
    yield f"run = {_list(rule.id for rule in settings.rules)}"
    yield f"rules = {_list(shown(folder) for folder in settings.configuration.rules)}"
    yield f"fail-on = {json.dumps(settings.fail_on)}"
    yield f"min-confidence = {json.dumps(policy.min_confidence)}"
    for each in task.case.evidence:
        if isinstance(each, DryJob):
            yield f"# dry {each.level} by TensorRT-RTX {each.version}"
    if policy.baseline is not None:
        yield f"baseline = {json.dumps(shown(policy.baseline.file))}"
    if policy.severity:
        yield "[severity]"
        yield from (f"{json.dumps(selector)} = {json.dumps(chosen)}" for selector, chosen in policy.severity)
    for entry in policy.suppress:
        yield "[[suppress]]"
        yield from _suppression(entry)


def _suppression(entry: Acceptance) -> Iterator[str]:
    yield f"rule = {_list(entry.rules)}"
    if entry.paths:
        yield f"path = {_list(entry.paths)}"
    for key in ("node", "module"):
        if (glob := getattr(entry, key)) is not None:
            yield f"{key} = {json.dumps(glob)}"
    yield f"reason = {json.dumps(entry.suppression.reason)}"
    if entry.suppression.expires is not None:
        yield f"expires = {entry.suppression.expires}"


def _list(words: Iterable[str]) -> str:
    return json.dumps(list(words))
