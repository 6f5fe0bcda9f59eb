"""Determine the effects of an upgrade of Torch-TensorRT on a script or an exported program."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from trtlint.engine.finding import Finding
from trtlint.knowledge.torchreleases import TorchRelease, torch_operators
from trtlint.model.origin import origin_of_trace
from trtlint.torch_tensorrt.program import Program, ProgramNode

Change = Literal["converts", "falls back", "stays in PyTorch", "unknown"]
"""The change of an operator from the first to the last release.

The change is ``unknown`` if the first or the last release was not tested.
"""
CHANGES: tuple[Change, ...] = ("falls back", "converts", "stays in PyTorch", "unknown")
"""The changes in the order of reports."""
_MOST_PLACES = 20


class OperatorChange(Struct, frozen=True):
    """An operator that PyTorch runs instead of TensorRT in at least one release.

    Attributes:
        op: the operator in the program, such as ``aten.glu.default``.
        lowered: the operator without a converter. It is ``op`` itself, or an operator in PyTorch's
            decomposition of ``op``.
        change: the change from the first release to the last.
        since: the first release line with the new behaviour; empty if the behaviour does not change.
        until: the last release line that is known to have the old behaviour; empty if the behaviour does not
            change.
        states: for each release, True if PyTorch runs the operator, False if TensorRT runs it, None if
            unknown.
        count: number of these operators in the program.
        places: source lines, modules or names of the first few of these operators.
    """

    op: str
    lowered: str
    change: Change
    since: str
    until: str
    states: tuple[bool | None, ...]
    count: int
    places: tuple[str, ...]


class CallChange(Struct, frozen=True):
    """A finding about the calls of a script.

    Attributes:
        finding: the finding.  Its text is from the first release with this finding.
        places: the lines of the calls in the script.
        releases: the releases with the finding, as ascending indexes into :attr:`TorchUpgrade.releases`.
    """

    finding: Finding
    places: tuple[str, ...]
    releases: tuple[int, ...]


class TorchUpgrade(Struct, frozen=True):
    """Upgrade report for one script or program.

    Attributes:
        path: the file.
        kind: ``script`` or ``program``.
        releases: the releases of the range, oldest first.
        calls: findings about the calls of a script.
        operators: operators of a program.
        operator_count: number of operators of the program, including operators that every release converts.
        notes: sentences about parts that could not be evaluated.
    """

    path: str
    kind: Literal["script", "program"]
    releases: tuple[TorchRelease, ...]
    calls: tuple[CallChange, ...] = ()
    operators: tuple[OperatorChange, ...] = ()
    operator_count: int = 0
    notes: tuple[str, ...] = ()

    def begins(self, index: int) -> tuple[CallChange, ...]:
        """Return the findings that the release at ``index`` adds.

        The previous release does not have these findings.
        """
        return tuple(each for each in self.calls if index in each.releases and index - 1 not in each.releases)

    def ends(self, index: int) -> tuple[CallChange, ...]:
        """Return the findings that the release at ``index`` no longer has.

        The previous release still has these findings.
        """
        return tuple(each for each in self.calls if index not in each.releases and index - 1 in each.releases)


def script_upgrade(
    path: str,
    releases: Sequence[TorchRelease],
    found: Sequence[Sequence[Finding]],
    notes: Sequence[str] = (),
) -> TorchUpgrade:
    """Return the upgrade report for a script, from the findings for each release.

    Args:
        path: the script.
        releases: the releases, oldest first.
        found: the findings for each release.
        notes: sentences about parts that could not be evaluated.
    """
    firsts: dict[tuple[str, str, tuple[str, ...]], Finding] = {}
    where: dict[tuple[str, str, tuple[str, ...]], list[int]] = defaultdict(list)
    for index, (release, findings) in enumerate(zip(releases, found, strict=True)):
        for finding in findings:
            # Messages name the release, so the same finding has another message for each release.
            places = tuple(dict.fromkeys(site.node for site in finding.sites))
            key = finding.rule, finding.message.replace(release.version, ""), places
            firsts.setdefault(key, finding)
            where[key].append(index)
    calls = (CallChange(finding, key[2], tuple(where[key])) for key, finding in firsts.items())
    return TorchUpgrade(path, "script", tuple(releases), calls=tuple(calls), notes=tuple(notes))


def program_upgrade(program: Program, releases: Sequence[TorchRelease]) -> TorchUpgrade:
    """Return the upgrade report for a program, from trtlint's table of the converters in each release.

    Args:
        program: the program.
        releases: the releases, oldest first.
    """
    changes = sorted(
        _operators(program, releases), key=lambda each: (CHANGES.index(each.change), -each.count, each.op)
    )
    return TorchUpgrade(
        program.path,
        "program",
        tuple(releases),
        operators=tuple(changes),
        operator_count=len(program.nodes),
        notes=("trtlint compared its tables of the two releases, and did not run Torch-TensorRT",),
    )


def _operators(program: Program, releases: Sequence[TorchRelease]) -> Iterator[OperatorChange]:
    table = torch_operators()
    nodes: dict[str, list[ProgramNode]] = defaultdict(list)
    for node in program.nodes:
        if node.op in table:
            nodes[node.op].append(node)
    for op, own in nodes.items():
        row = table[op]
        states = tuple(row.in_torch(release.version) for release in releases)
        if True not in states:
            continue
        change, since, until = _change(states, releases)
        places = tuple(dict.fromkeys(map(_place, own[:_MOST_PLACES])))
        yield OperatorChange(op, row.lowered, change, since, until, states, len(own), places)


def _change(states: Sequence[bool | None], releases: Sequence[TorchRelease]) -> tuple[Change, str, str]:
    first, last = states[0], states[-1]
    if first is None or last is None:
        return "unknown", "", ""
    if first and last:
        return "stays in PyTorch", "", ""
    old = max(index for index, state in enumerate(states) if state is not None and state != last)
    since = next(releases[index].line for index in range(old + 1, len(states)) if states[index] is not None)
    return ("falls back" if last else "converts"), since, releases[old].line


def _place(node: ProgramNode) -> str:
    source = origin_of_trace(node.trace, node.module).source
    return node.module or node.name if source is None else f"{source.path}:{source.line}"
