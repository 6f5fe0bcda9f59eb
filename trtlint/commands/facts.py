"""``trtlint facts``: show the facts about one model and about the files of its build."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from msgspec.structs import replace

from trtlint.buildcommand import BuildCommand, choose_command, read_commands
from trtlint.buildfiles.kinds import BuildFiles, GivenAs
from trtlint.case import Case
from trtlint.commands.reportoptions import require_outputs
from trtlint.commands.streams import notify
from trtlint.engine.evidence.base import Evidence
from trtlint.engine.evidence.build import BuildEvidence
from trtlint.engine.ruleset import RuleSet
from trtlint.errors import SettingError
from trtlint.facts.facts import Facts
from trtlint.facts.kinds import ground_of, kinds
from trtlint.facts.of_build.placement import Placement
from trtlint.files.limits import limit_work
from trtlint.files.problem import Problem, UnreadableError
from trtlint.knowledge.nearest import did_you_mean
from trtlint.model.graph import Node
from trtlint.model.load import Model
from trtlint.model.origin import Origin, origin
from trtlint.model.sources import Sources
from trtlint.remote.addresses import require_local
from trtlint.report import facts as report
from trtlint.report.escape import clean
from trtlint.report.outputs import ReportOutput, write_all
from trtlint.runs.exits import Exit
from trtlint.runs.inputs import sort
from trtlint.runs.progress import Activity
from trtlint.target.target import Target

_NUMEROUS = frozenset({"node", "constant", "log_message", "layer", "placement"})
"""Kinds of facts that list every node, tensor, layer or log line.  They are shown only on request."""
_OF_BUILDS = frozenset({"log_message", "layer", "placement"})
"""Kinds in ``_NUMEROUS`` that JSON contains by default, because build files consist of such facts."""


def run_facts(
    paths: Sequence[str],
    wanted: Sequence[str],
    given: BuildFiles,
    *,
    outputs: Sequence[ReportOutput],
    command: str | None = None,
) -> int:
    """Write the facts about a model and its build, and return the exit code.

    Args:
        paths: the model, and build files.
        wanted: the kinds of facts that the user names; empty for all kinds.
        given: the build files in options such as ``--log``.
        outputs: the reports to write.
        command: the value of ``--build``; None if it is not given.
    """
    for kind in wanted:
        if kind not in kinds():
            hint = did_you_mean(kind, kinds(), otherwise=f"; the kinds are {', '.join(kinds())}")
            raise SettingError(f"--kind: unknown kind of fact {kind!r}{hint}")
    require_local(paths)
    models, files = sort(paths, given)
    if len(models) > 1:
        raise SettingError(f"{len(models)} models are given; pass one model")
    commands = read_commands(command)
    read = [*models, *(path for path, _ in files)]
    protected = [Path(path) for path in read]
    require_outputs(outputs, protected)
    try:
        with Activity(f"reading {protected[0].name}"), limit_work(*read):
            facts = _facts_of(models, files, wanted, commands)
            there = _kinds_there(facts)
            listed = {
                hidden: list(_entries(facts, wanted or [kind for kind in there if kind not in hidden]))
                for hidden in {_hidden(output.format) for output in outputs}
            }
            counts = {} if wanted else {kind: len(facts.of(kind)) for kind in there}
    except (UnreadableError, OSError) as error:
        print(clean(f"error: {Problem.of(read[0], error)}"), file=sys.stderr)
        return Exit.UNREADABLE

    def write(format: str, file: TextIO) -> None:
        entries = listed[_hidden(format)]
        if format == "json":
            file.write(report.dumps(entries) + "\n")
        elif format == "text":
            file.writelines(f"{line}\n" for line in _text(facts, entries, counts, wanted))
        else:
            from trtlint.report.document import render
            from trtlint.report.facts import page

            file.write(render(page(read[0], entries, counts), format))

    write_all(outputs, write, protected)
    return Exit.CLEAN


def _hidden(format: str) -> frozenset[str]:
    """Return the kinds of facts that a format shows only on request."""
    return _NUMEROUS - _OF_BUILDS if format == "json" else _NUMEROUS


def _text(
    facts: Facts, entries: Sequence[report.FactEntry], counts: Mapping[str, int], wanted: Sequence[str]
) -> Iterator[str]:
    if counts:
        yield from report.summary(counts)
        yield ""
    record = facts.record
    for note in (*facts.model.notes, *(() if record is None else record.notes)):
        yield clean(f"note: {note}")
    yield from report.lines(entries)
    found = {entry.fact.kind for entry in entries}
    yield from (f"{kind} (0)" for kind in dict.fromkeys(wanted) if kind not in found)
    if record is not None and counts:
        from trtlint.report.placements import table

        yield ""
        yield from table(fact for fact in facts.of("placement") if isinstance(fact, Placement))


def _facts_of(
    models: Sequence[str],
    files: Sequence[tuple[str, GivenAs]],
    wanted: Sequence[str],
    commands: Sequence[BuildCommand],
) -> Facts:
    evidence: tuple[Evidence, ...] = ()
    if files:
        from trtlint.buildfiles.record import read_build

        evidence = (BuildEvidence(read_build(files)),)
    path = Path(models[0] if models else files[0][0])
    case = Case(
        path,
        (Target(),),
        RuleSet(),
        command=choose_command(path, commands, notify) if models else None,
        evidence=evidence,
        weights=any(ground_of(kind) == "weights" for kind in wanted),
        alone=not models,
    )
    return case.facts()


def _kinds_there(facts: Facts) -> list[str]:
    """Return the kinds of facts that the given model and build files can have."""
    return [
        kind
        for kind in kinds()
        if ground_of(kind) in facts.grounds or (facts.has_model and ground_of(kind) != "weights")
    ]


def _entries(facts: Facts, wanted: Sequence[str]) -> Iterator[report.FactEntry]:
    sources = Sources()
    for kind in dict.fromkeys(wanted):
        for fact in facts.of(kind):
            yield report.FactEntry(fact, _origin(facts.model, fact.node, sources))


def _origin(model: Model, node: Node | None, sources: Sources) -> Origin | None:
    if node is None:
        return None
    noted = origin(model, node)
    return noted if noted.source is None else replace(noted, source=sources.find(noted.source))
