"""Find new findings that a rewrite causes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from trtlint.engine.finding import SEVERITIES, Finding, ModelReport
from trtlint.fixes.outcome import LintedModel


def harm_of(before: LintedModel, after: LintedModel, mildest: int) -> str:
    """Return a message about a finding that only the rewritten model has, or an empty string.

    Args:
        before: the model and its findings before the rewrite.
        after: the model and its findings after the rewrite.
        mildest: index in ``SEVERITIES`` of the lowest severity to consider.
    """
    old, new = _counts(before.reports, mildest), _counts(after.reports, mildest)
    if any(count > old[key] for key, count in new.items()):
        new = _counts(after.reports, mildest, _nodes_with_new_types(before, after))
    for (target, rule), count in new.items():
        if count > old[target, rule]:
            finding = next(each for each in after.reports[target].findings if each.rule == rule)
            return f"withdrawn because the rewrite causes the finding {rule}: {finding.message}"
    return ""


def _nodes_with_new_types(before: LintedModel, after: LintedModel) -> frozenset[str]:
    """Return the paths of unchanged nodes that had an input of unknown type or shape before the rewrite.

    Shape inference stops at operators outside ONNX's domain. If a rewrite replaces such an operator, trtlint
    sees the types and shapes of later tensors for the first time. So the rewrite did not cause the new
    findings at the nodes that read these tensors.
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
    """Count the affected nodes for each target and rule.  A key is the target's index and the rule.

    Args:
        reports: one report for each target.
        mildest: index in ``SEVERITIES`` of the lowest severity to count.
        but: paths of nodes to skip.
    """
    return Counter(
        (index, finding.rule)
        for index, report in enumerate(reports)
        for finding, place in places_of([report])
        if SEVERITIES.index(finding.severity) <= mildest and place not in but
    )


def places_of(reports: Iterable[ModelReport]) -> Iterator[tuple[Finding, str]]:
    """Yield pairs of a finding and the path of a node that the finding affects."""
    for report in reports:
        for finding in report.findings:
            for site in finding.sites:
                yield finding, site.node
