"""New findings that a rewrite introduces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from trtlint.engine.finding import SEVERITIES, Finding, ModelReport
from trtlint.fixes.outcome import Linted


def harm_of(before: Linted, after: Linted, mildest: int) -> str:
    """Describe a new finding of at least this severity; empty if there is no such finding."""
    old, new = _counts(before.reports, mildest), _counts(after.reports, mildest)
    if any(count > old[key] for key, count in new.items()):
        new = _counts(after.reports, mildest, _seen_late(before, after))
    for (target, rule), count in new.items():
        if count > old[target, rule]:
            return f"withdrawn because it causes {rule}{_message(after.reports[target], rule)}"
    return ""


def _message(report: ModelReport, rule: str) -> str:
    """First message of a rule, after a colon."""
    return next((f": {finding.message}" for finding in report.findings if finding.rule == rule), "")


def _seen_late(before: Linted, after: Linted) -> frozenset[str]:
    """Return sites of unchanged operators that have an input whose type or shape the rewrite made known.

    Shape inference stops at operators of other domains.  Findings after such operators are not new, because
    their cause existed before the rewrite.
    """
    blind = {
        node.path: node.proto.SerializeToString()
        for node in before.model.graph.nodes
        if any(value is not None and (value.dtype is None or value.shape is None) for value in node.inputs)
    }
    return frozenset(
        node.path
        for node in after.model.graph.nodes
        if node.path in blind and node.proto.SerializeToString() == blind[node.path]
    )


def _counts(
    reports: Sequence[ModelReport], mildest: int, but: frozenset[str] = frozenset()
) -> Counter[tuple[int, str]]:
    """Count sites of findings of at least this severity by target and rule."""
    return Counter(
        (index, finding.rule)
        for index, report in enumerate(reports)
        for finding, place in places_of([report])
        if SEVERITIES.index(finding.severity) <= mildest and place not in but
    )


def places_of(reports: Iterable[ModelReport]) -> Iterator[tuple[Finding, str]]:
    """Yield each finding with each of its sites."""
    for report in reports:
        for finding in report.findings:
            for site in finding.sites:
                yield finding, site.node
