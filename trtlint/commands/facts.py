"""``trtlint facts``: what rules look at, for one model."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

import click

from trtlint.engine.finding import Problem
from trtlint.exits import Exit
from trtlint.facts import Facts, kinds
from trtlint.model.errors import ModelError
from trtlint.model.graph import Node
from trtlint.model.load import Model, load
from trtlint.model.origin import Origin, origin
from trtlint.report import facts as report
from trtlint.report.escape import clean

_NUMEROUS = frozenset({"node", "constant"})
"""Kinds that have a fact for every node or tensor, shown only when asked for."""


def run_facts(path: str, wanted: Sequence[str], *, as_json: bool) -> int:
    """Write the facts of a file to standard output and return the exit code."""
    for kind in wanted:
        if kind not in kinds():
            near = get_close_matches(kind, kinds(), n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(kinds())}"
            raise click.UsageError(f"no kind of fact is called {kind!r}; {hint}")
    try:
        model = load(Path(path))
    except (ModelError, OSError) as error:
        print(clean(f"error: {_problem(path, error)}"), file=sys.stderr)
        return Exit.UNREADABLE
    facts = Facts(model)
    listed = list(_entries(facts, wanted or [kind for kind in kinds() if kind not in _NUMEROUS]))
    if as_json:
        print(report.dumps(listed))
        return Exit.CLEAN
    if not wanted:
        for line in report.summary({kind: len(facts.of(kind)) for kind in kinds()}):
            print(line)
        print()
    for note in model.notes:
        print(clean(f"note: {note}"))
    for line in report.lines(listed):
        print(line)
    return Exit.CLEAN


def _entries(facts: Facts, wanted: Sequence[str]) -> Iterator[report.Entry]:
    for kind in dict.fromkeys(wanted):
        for fact in facts.of(kind):
            yield report.Entry(fact, _origin(facts.model, fact.node))


def _origin(model: Model, node: Node | None) -> Origin | None:
    return None if node is None else origin(model, node)


def _problem(path: str, error: ModelError | OSError) -> str:
    if isinstance(error, ModelError):
        return str(Problem(path, error.message, error.offset, error.node))
    return str(Problem(path, error.strerror or str(error)))
