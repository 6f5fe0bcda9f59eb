"""Sentences in the report about an upgrade."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from trtlint.engine.targets import runs
from trtlint.engine.upgrade import ReleaseAssessment, Upgrade, UpgradeFinding, UpgradeStep
from trtlint.files.problem import first_few
from trtlint.knowledge.releases import minors
from trtlint.report.counts import plural
from trtlint.report.names import collapse

_NAMES = 3
"""Largest number of inputs, outputs, nodes or modules that a sentence names."""


def some(names: Sequence[str]) -> str:
    """Join the first few names, and add the number of the remaining names."""
    return first_few(names, _NAMES) or "none"


def newest_words(upgrade: Upgrade) -> str:
    """Describe whether the last version of the upgrade is the newest version that trtlint knows."""
    known = minors(upgrade.product)[-1]
    return "the newest" if upgrade.lines[-1].line == known else "the newest of the range"


def safest_line(upgrade: Upgrade) -> str:
    """Return the safest version, or ``none`` if no version supports the GPU."""
    return "none" if upgrade.safest is None else upgrade.lines[upgrade.safest.line].line


def why(upgrade: Upgrade) -> str:
    """Explain why the safest version was chosen: compare the errors and warnings of all versions."""
    assert upgrade.safest is not None
    best = upgrade.lines[upgrade.safest.line]
    risks = f"{' and '.join(_grave(best)) or 'no error or warning'} known for this graph"
    equals = [upgrade.lines[index].line for index in upgrade.safest.equals]
    if len(equals) == len(upgrade.lines):
        return f"{newest_words(upgrade)}: {risks}, the same as for every version of the range"
    if len(equals) == 1:
        return f"{risks}, fewer than for any other version of the range"
    others = when(upgrade.safest.equals[:-1], [line.line for line in upgrade.lines])
    return f"{risks}, the same as for {others}; {best.line} is the newest of these versions"


def risks(upgrade: Upgrade) -> str:
    """Return a sentence with the number of errors and warnings about the graph in each version.

    Consecutive versions with equal numbers are merged.
    """

    def words(line: ReleaseAssessment) -> str:
        return ", ".join(_grave(line)) or "none" if line.supported else "GPU not supported"

    parts = []
    for text, group in groupby(upgrade.lines, key=words):
        names = [line.line for line in group]
        parts.append(f"{first_to_last(names[0], names[-1])} {text}")
    return f"known risks: {'; '.join(parts)}"


def _grave(line: ReleaseAssessment) -> list[str]:
    """Return the numbers of errors and of warnings about the graph in one version."""
    return [plural(number, word) for word, number in line.risks.items() if number and word != "note"]


def reasons(upgrade: Upgrade) -> Iterable[str]:
    """Yield sentences that say why the other versions are worse than the safest version."""
    safest = upgrade.safest
    assert safest is not None
    ends = ((0, safest.first_adds), (len(upgrade.lines) - 1, safest.last_adds))
    for index, adds in ends:
        line = upgrade.lines[index]
        if not line.supported:
            yield f"{line.line} does not support this GPU"
        elif adds and index != safest.line:
            yield f"{line.line} also has {_titles(upgrade.findings[number] for number in adds)}"
    names = [line.line for line in upgrade.lines]
    grave = [
        item for item in upgrade.findings if item.concern == "graph" and item.finding.severity == "error"
    ]
    if everywhere := _titles(item for item in grave if len(item.lines) == len(names)):
        yield f"every version of the range has {everywhere}; change the graph first"
    for item in grave:
        inside = 0 not in item.lines and len(names) - 1 not in item.lines
        if inside and item.finding.confidence != "low":
            yield f"avoid {when(item.lines, names)}: {_titles([item])}"


def asks(upgrade: Upgrade) -> Iterable[str]:
    """Yield the changes that the safest version requires: first to the build command, then to the code."""
    assert upgrade.safest is not None
    best = upgrade.safest.line
    for concern, where in (("command", "the build command"), ("code", "the code")):
        titles = _titles(
            item
            for item in upgrade.findings
            if item.concern == concern
            and item.finding.severity != "note"
            and best in item.lines
            and 0 not in item.lines
        )
        if titles:
            yield f"for this upgrade, change {where}: {titles}"


def _titles(items: Iterable[UpgradeFinding]) -> str:
    """Return the ids and names of the rules that the findings belong to, without duplicates."""
    return ", ".join(dict.fromkeys(f"{item.finding.rule} {item.finding.name}" for item in items))


def when(lines: Sequence[int], names: Sequence[str]) -> str:
    """Format the versions that have a finding: ``from 10.0``, ``10.7``, ``8.6 to 10.16``, ``all versions``.

    Args:
        lines: indexes into ``names`` of the versions with the finding.
        names: all versions of the upgrade.
    """
    if len(lines) == len(names):
        return "all versions"
    return ", ".join(
        f"from {names[start]}" if start < stop == len(names) - 1 else first_to_last(names[start], names[stop])
        for start, stop in runs(lines)
    )


def first_to_last(first: str, last: str) -> str:
    """Format a range of versions, which may be a single version."""
    return first if first == last else f"{first} to {last}"


def since(item: UpgradeFinding, names: Sequence[str]) -> str:
    """Format the versions that have a finding. Add a remark if the first version already has the finding."""
    return f"{when(item.lines, names)}, already on {names[0]}" if item.already else when(item.lines, names)


def advice_of(item: UpgradeFinding, names: Sequence[str]) -> Iterator[str]:
    """Yield the advice for a finding. Advice for only some versions begins with their names."""
    for advice, lines in item.advice:
        yield advice if lines == item.lines else f"{when(lines, names)}: {advice}"


def still(upgrade: Upgrade, steps: Sequence[UpgradeStep]) -> list[str]:
    """Return the ranges of versions in which no finding changes, such as ``10.3 to 10.6``.

    Args:
        upgrade: the upgrade.
        steps: the steps between versions at which findings change.
    """
    groups = [list(group) for quiet, group in groupby(upgrade.steps, lambda step: step not in steps) if quiet]
    return [f"{group[0].before} to {group[-1].after}" for group in groups]


def places(item: UpgradeFinding) -> str:
    """Format the modules or nodes of a finding as name patterns, such as ``blocks.*.attn``.

    For a finding about code, format the names of inputs and outputs instead.
    """
    finding = item.finding
    if item.concern == "code":
        names = [row.detail for site in finding.sites for row in site.rows if row.detail]
    else:
        names = [site.module or site.node for site in finding.sites]
    places = dict.fromkeys(name for name in names if name)
    if not places:
        return ""
    patterns = collapse(places)
    count = f" ({len(finding.sites)} places)" if len(finding.sites) > 1 else ""
    return first_few(patterns, _NAMES) + count
