"""Sentences in the report about an upgrade."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trtlint.engine.upgrade import Listed, Upgrade, UpgradeStep
from trtlint.files.problem import first_few
from trtlint.knowledge.releases import minors
from trtlint.report.counts import plural
from trtlint.report.names import collapse

_NAMES = 3
"""Largest number of inputs, outputs, nodes or modules that a sentence names."""


def some(names: Sequence[str], between: str = ", ") -> str:
    """Join the first few names, and add the number of the others."""
    return first_few(names, _NAMES, between) or "none"


def newest_words(upgrade: Upgrade) -> str:
    """Describe whether the last version of the upgrade is the newest version that trtlint knows."""
    known = minors(upgrade.product)[-1]
    return "the newest" if upgrade.lines[-1].line == known else "the newest of the range"


def why(upgrade: Upgrade) -> str:
    """Explain the choice of the safest version by the errors and warnings of all versions."""
    assert upgrade.safest is not None
    best = upgrade.lines[upgrade.safest.line]
    known = [
        plural(number, severity) for severity, number in best.risks.items() if number and severity != "note"
    ]
    risks = f"{' and '.join(known) or 'no error or warning'} known for this graph"
    equals = [upgrade.lines[index].line for index in upgrade.safest.equals]
    if len(equals) == len(upgrade.lines):
        return f"{newest_words(upgrade)}: {risks}, as for every version of the range"
    if len(equals) == 1:
        return f"{risks}, fewer than for any other version of the range"
    others = when(upgrade.safest.equals[:-1], [line.line for line in upgrade.lines])
    return (
        f"{risks}; {others} {'has' if len(equals) == 2 else 'have'} equally few, and this "
        "version is the newest of these"
    )


def risks(upgrade: Upgrade) -> str:
    """Return a sentence with the number of errors and warnings about the graph in each version.

    Consecutive versions with equal numbers are merged.
    """
    names = [line.line for line in upgrade.lines]
    runs: list[tuple[str, list[int]]] = []
    for index, line in enumerate(upgrade.lines):
        known = [plural(number, word) for word, number in line.risks.items() if number and word != "note"]
        text = ", ".join(known) or "none"
        if not line.supported:
            text = "GPU not supported"
        if runs and runs[-1][0] == text:
            runs[-1][1].append(index)
        else:
            runs.append((text, [index]))
    return "known risks: " + "; ".join(
        f"{names[run[0]]} to {names[run[-1]]} {text}" if len(run) > 1 else f"{names[run[0]]} {text}"
        for text, run in runs
    )


def reasons(upgrade: Upgrade) -> Iterable[str]:
    """Yield sentences about the errors that rule out other versions of the upgrade."""
    safest = upgrade.safest
    assert safest is not None
    ends = ((0, safest.first_adds), (len(upgrade.lines) - 1, safest.last_adds))
    for index, adds in ends:
        line = upgrade.lines[index]
        if not line.supported:
            yield f"{line.line} does not support this GPU"
        elif adds and index != safest.line:
            titles = dict.fromkeys(
                f"{upgrade.findings[n].finding.rule} {upgrade.findings[n].finding.name}" for n in adds
            )
            yield f"{line.line} also has {', '.join(titles)}"
    names = [line.line for line in upgrade.lines]
    everywhere = dict.fromkeys(
        f"{item.finding.rule} {item.finding.name}"
        for item in upgrade.findings
        if item.concern == "graph" and item.finding.severity == "error" and len(item.lines) == len(names)
    )
    if everywhere:
        yield f"every version of the range has {', '.join(everywhere)}; change the graph first"
    for item in upgrade.findings:
        grave = item.concern == "graph" and item.finding.severity == "error"
        inside = 0 not in item.lines and len(names) - 1 not in item.lines
        if grave and inside and item.finding.confidence != "low":
            yield f"avoid {when(item.lines, names)}: {item.finding.rule} {item.finding.name}"


def asks(upgrade: Upgrade) -> Iterable[str]:
    """Yield the changes that the safest version requires: first to the build command, then to the code."""
    assert upgrade.safest is not None
    best = upgrade.safest.line
    for concern, where in (("command", "the build command"), ("code", "the code")):
        titles = dict.fromkeys(
            f"{item.finding.rule} {item.finding.name}"
            for item in upgrade.findings
            if item.concern == concern
            and item.finding.severity != "note"
            and best in item.lines
            and 0 not in item.lines
        )
        if titles:
            yield f"for this upgrade, change {where}: {', '.join(titles)}"


def when(lines: Sequence[int], names: Sequence[str]) -> str:
    """Format the versions that have a finding: ``from 10.0``, ``10.7``, ``8.6 to 10.16``, ``all versions``.

    Args:
        lines: indexes into ``names`` of the versions with the finding.
        names: all versions of the upgrade.
    """
    if len(lines) == len(names):
        return "all versions"
    runs: list[list[int]] = []
    for index in lines:
        if runs and runs[-1][-1] == index - 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    last = len(names) - 1
    words = []
    for run in runs:
        if run[-1] == last and len(run) > 1:
            words.append(f"from {names[run[0]]}")
        elif len(run) == 1:
            words.append(names[run[0]])
        else:
            words.append(f"{names[run[0]]} to {names[run[-1]]}")
    return ", ".join(words)


def since(item: Listed, names: Sequence[str]) -> str:
    """Format the versions that have a finding, with a remark if the first version has it, too."""
    return f"{when(item.lines, names)}, already on {names[0]}" if item.already else when(item.lines, names)


def still(upgrade: Upgrade, steps: Sequence[UpgradeStep]) -> list[str]:
    """Return the ranges of versions in which no finding changes, such as ``10.3 to 10.6``.

    Args:
        upgrade: the upgrade.
        steps: the steps between versions at which findings change.
    """
    runs: list[tuple[str, str]] = []
    for step in upgrade.steps:
        if step in steps:
            continue
        if runs and runs[-1][1] == step.before:
            runs[-1] = runs[-1][0], step.after
        else:
            runs.append((step.before, step.after))
    return [f"{first} to {last}" for first, last in runs]


def places(item: Listed) -> str:
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
