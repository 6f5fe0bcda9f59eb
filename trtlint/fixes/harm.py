"""The findings that a rewrite brings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from trtlint.engine.finding import SEVERITIES, Finding, ModelReport
from trtlint.fixes.outcome import Linted


def harm_of(before: Linted, after: Linted, mildest: int) -> str:
    """Which finding is new that is at least so grave, in words; empty for none."""
    old, new = _counts(before.reports, mildest), _counts(after.reports, mildest)
    if any(count > old[key] for key, count in new.items()):
        new = _counts(after.reports, mildest, _seen_late(before, after))
    for (target, rule), count in new.items():
        if count > old[target, rule]:
            return f"taken back, as {rule} is new{_message(after.reports[target], rule)}"
    return ""


def _message(report: ModelReport, rule: str) -> str:
    """What a rule says first, behind a colon."""
    return next((f": {finding.message}" for finding in report.findings if finding.rule == rule), "")


def _seen_late(before: Linted, after: Linted) -> frozenset[str]:
    """Places of operators that are as they were, but read what had no type or shape and has one now.

    Nothing is inferred behind operators of other domains; what is found there was there all along.
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
    """Places by target and rule, of findings that are at least so grave; some places do not count."""
    return Counter(
        (index, finding.rule)
        for index, report in enumerate(reports)
        for finding, place in places_of([report])
        if SEVERITIES.index(finding.severity) <= mildest and place not in but
    )


def places_of(reports: Iterable[ModelReport]) -> Iterator[tuple[Finding, str]]:
    """Findings with each of their places."""
    for report in reports:
        for finding in report.findings:
            for site in finding.sites:
                yield finding, site.node
