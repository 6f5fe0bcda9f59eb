"""Parts of a finding in the text report: its nodes, their drawing, and the lines below the drawing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from trtlint.engine.finding import Finding, Site
from trtlint.report.counts import either
from trtlint.report.drawing import Marks
from trtlint.report.escape import clean
from trtlint.report.names import collapse, few, line_of
from trtlint.report.repeats import references
from trtlint.report.wording import evidence_lines, fix_command, fixable, included, sureness, target_remark

SEVERITY_STYLES: Mapping[str, str] = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}
_MOST_EVIDENCE = 4
"""Largest number of listed evidence lines."""


def block(finding: Finding) -> object:
    """Return a key that is equal for findings about the same nodes; such findings share one drawing.

    Only the nodes of the first site are compared. A finding without nodes gets a unique key.
    """
    nodes = tuple(row.index for row in finding.sites[0].rows) if finding.sites else ()
    return nodes if nodes and None not in nodes else id(finding)


def marks(findings: Sequence[Finding]) -> list[Marks]:
    """Return the marks of each finding for one drawing. All findings are about the same nodes."""
    marking = sum(any(row.label for row in finding.sites[0].rows) for finding in findings)
    return [
        Marks(
            finding.sites[0].rows,
            SEVERITY_STYLES[finding.severity],
            finding.rule if marking > 1 else "",
        )
        for finding in findings
    ]


def where(path: str, sites: Sequence[Site]) -> tuple[str, str]:
    """Return two texts: the first site of a finding, and the remaining sites.

    Examples:
    - ``  blocks.0.attn`` and ``  (+11 more: blocks.*.attn)``
    - for lines of a log, ``:3116`` and `` (+1 more: 3125)``
    """
    if not sites:
        return "", ""
    first, *others = (site.module or site.node for site in sites)
    if line := line_of(path, first):
        lines = [line_of(path, other) for other in others]
        return f":{line}", f"  (+{len(lines)} more: {few(lines)})" if lines else ""
    place = f"  {clean(first)}" if first else ""
    if not others:
        return place, ""
    elsewhere = [name for name in others if name != first]
    if not elsewhere:
        return place, f"  (+{len(others)} more there)"
    return place, f"  (+{len(others)} more: {clean(few(collapse(elsewhere)))})"


def details(finding: Finding, target: str, *, several: bool = False) -> Iterable[tuple[str, str]]:
    """Yield the lines below the drawing of a finding as pairs of key and value: ``("help", "...")``."""
    if finding.depends:
        yield "depends on", f"{', '.join(map(either, finding.depends))} (not given)"
    if finding.applies:
        yield "applies to", finding.applies + target_remark(finding, target)
    seen = evidence_lines(finding, drawn=True)
    for line in seen[:_MOST_EVIDENCE]:
        yield "seen in", line
    if len(seen) > _MOST_EVIDENCE:
        yield "seen in", f"{len(seen) - _MOST_EVIDENCE} more places"
    if finding.includes:
        yield "includes", included(finding)
    for advice in finding.advice:
        yield "help", advice
    if fixable(finding):
        yield "help", fix_command(finding)
    yield "confidence", sureness(finding)
    for reference in references(finding, several=several):
        yield "see", reference
