"""Parts of a finding in the text report, and short lines for repeated findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from trtlint.engine.finding import Finding, Site
from trtlint.engine.targets import MergedFinding
from trtlint.files.problem import first_few
from trtlint.report.counts import by_severity, either
from trtlint.report.drawing import Marks
from trtlint.report.escape import clean
from trtlint.report.names import collapse, few, line_of
from trtlint.report.wording import evidence_lines, fix_command, fixable, included, sureness, target_remark

SEVERITY_STYLES: Mapping[str, str] = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}
_MOST_EVIDENCE = 4
"""Largest number of listed evidence lines."""
MOST_REFERENCES = 3
"""Largest number of documentation references of a finding in a report on one model."""
MOST_REPEATED = 2
"""Largest number of documentation references of a finding in a report on several models."""
_MOST_RULES = 8
"""Largest number of rules in the line of a model."""
_Key = tuple[str, str, bool]
"""Rule, severity, and whether the finding depends on unset options.  A report explains each key once."""


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


class ShownExplanations:
    """Record of the explanations that a report already contains, so that later findings can be short."""

    def __init__(self) -> None:
        self._messages: dict[_Key, set[str]] = {}

    def again(self, finding: Finding) -> str | None:
        """Return the text that follows the rule name in a short line about a finding.

        The text is the message, or an empty string if the report already contains the message. The result is
        None if the finding needs a full explanation. The following findings need one:
        - the first finding of a rule
        - a finding with evidence or included findings
        """
        if _is_own(finding):
            return None
        known = self._messages.setdefault(_key(finding), set())
        first, new = not known, finding.message not in known
        known.add(finding.message)
        if first:
            return None
        return finding.message if new else ""

    def joined(self, items: Iterable[MergedFinding]) -> list[MergedFinding]:
        """Merge findings of one model if their explanation and message are the same."""
        found: dict[object, MergedFinding] = {}
        for item in items:
            each = item.finding
            advice = None if _key(each) in self._messages else each.advice
            key: object = id(item) if _is_own(each) else (_key(each), each.message, advice, item.targets)
            first = found.setdefault(key, item)
            if first is not item:
                sites = (*first.finding.sites, *each.sites)
                found[key] = replace(first, finding=replace(first.finding, sites=sites))
        return list(found.values())


def _key(finding: Finding) -> _Key:
    return finding.rule, finding.severity, bool(finding.depends)


def _is_own(finding: Finding) -> bool:
    """Return whether a finding has text that is specific to its model: evidence or included findings."""
    return bool(finding.said or finding.includes)


def references(finding: Finding, *, several: bool) -> Sequence[str]:
    """Return the first references of a finding, and a command that lists all references."""
    shown = finding.references[: MOST_REPEATED if several else MOST_REFERENCES]
    more = len(finding.references) - len(shown)
    return (*shown, f"{more} more: trtlint rule {finding.rule}") if more > 1 else finding.references


def model_line(path: str, findings: Iterable[Finding]) -> str:
    """Format the line of a model: ``vit.onnx: 1 error, 2 notes: ACC102, PERF103 × 2``."""
    listed = list(findings)
    severities: Counter[str] = Counter(finding.severity for finding in listed if not finding.depends)
    conditional = sum(bool(finding.depends) for finding in listed)
    words = [by_severity(severities)] if severities else []
    words += [f"{conditional} conditional"] if conditional else []
    rules = Counter(finding.rule for finding in listed)
    named = [rule if count == 1 else f"{rule} × {count}" for rule, count in rules.items()]
    return clean(f"{path}: {', '.join(words)}: {first_few(named, _MOST_RULES)}")
