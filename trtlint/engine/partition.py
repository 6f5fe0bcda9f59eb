"""Predict from findings which nodes of a model an execution provider of ONNX Runtime runs."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from trtlint.engine.finding import Finding
from trtlint.facts.of_model.mixed_types import MixedTypes, refused_alone
from trtlint.knowledge.providers import Provider
from trtlint.model.graph import Node
from trtlint.model.load import Model
from trtlint.partition.predict import NAMELESS, Reason, predict
from trtlint.partition.result import Partition, ProviderSettings


def predicted(
    model: Model,
    findings: Iterable[Finding],
    provider: Provider,
    settings: ProviderSettings,
    *,
    rewritten: bool = True,
) -> Partition:
    """Predict the partition of a model. The provider does not run the nodes that the parser refuses."""
    listed = tuple(findings)
    refused = _with_followers(model, listed, refused_nodes(model, listed))
    if rewritten:
        refused = {node: why for node, why in refused.items() if not _is_cured(model, node, why)}
    found = predict(model.graph, model.constants, refused, provider, settings, rewritten=rewritten)
    failure = found.failure or unbuildable(listed, found)
    return replace(found, failure=failure)


def _with_followers(
    model: Model, findings: Iterable[Finding], refused: dict[Node, Reason]
) -> dict[Node, Reason]:
    """Add further nodes with mixed input types to the refused nodes.

    A finding about mixed input types names only the first node of a region. If the parser reads the whole
    model, the later nodes of the region have inputs of one type. But the execution provider lets the parser
    read each part of the model separately, so the parser refuses the later nodes, too.
    """
    mixed = {finding.rule for finding in findings if _is_about(finding, MixedTypes.kind)}
    first = next((reason for reason in refused.values() if mixed.intersection(reason.rules)), None)
    if first is None:
        return refused
    reason = Reason(first.why, tuple(rule for rule in first.rules if rule in mixed), first.fixes)
    return {**dict.fromkeys(refused_alone(model), reason), **refused}


def _is_about(finding: Finding, kind: str) -> bool:
    """Return whether facts of this kind caused a finding."""
    return any(site.route is not None and site.route.kind == kind for site in finding.sites)


def _is_cured(model: Model, node: Node, reason: Reason) -> bool:
    """Return whether a refusal disappears because ONNX Runtime folds an operand of the node."""
    if not reason.folds or len(reason.rules) > 1:
        return False
    constants = model.constants
    return any(
        value is not None and value.producer is not None and constants.foldable(value)
        for value in node.inputs
    )


def unbuildable(findings: Iterable[Finding], partition: Partition) -> str:
    """Return a sentence about a node that TensorRT's builder refuses, or an empty string if there is none.

    The parser decides how the model is partitioned. If the builder then refuses a node that the parser
    accepted, ONNX Runtime cannot create the session.
    """
    taken = {path for part in partition.parts for path in part}
    for finding in findings:
        if finding.refusal is None or finding.refusal.stage != "build" or finding.standing == "refuted":
            continue
        node = next((site.node for site in finding.sites if site.node in taken), None)
        if node is not None and finding.confidence in ("confirmed", "high"):
            return f"TensorRT cannot build the part of the model that contains {node} [{finding.rule}]"
    return ""


def refused_nodes(model: Model, findings: Iterable[Finding]) -> dict[Node, Reason]:
    """Return the nodes that the parser refuses, each with the reason.

    The reason lists the rules and rewrites of all findings about the node.
    """
    by_path = {node.path: node for node in model.graph.nodes}
    found: dict[Node, Reason] = {}
    for finding in findings:
        if finding.refusal is None or finding.refusal.stage != "parse" or finding.standing == "refuted":
            continue
        fixes = tuple(rewrite.name for rewrite in finding.fixes)
        folds = any(rewrite.folds for rewrite in finding.fixes)
        for site in finding.sites:
            roles = {row.role for row in site.rows if row.node == site.node}
            rows = [row.node for row in site.rows if row.role in roles]
            for path in dict.fromkeys((site.node, *rows)):
                if (node := by_path.get(path)) is None:
                    continue
                before = found.get(node, Reason(finding.message))
                found[node] = Reason(
                    before.why,
                    tuple(dict.fromkeys((*before.rules, finding.rule))),
                    tuple(dict.fromkeys((*before.fixes, *fixes))),
                    ends=before.ends or finding.refusal.op in NAMELESS,
                    folds=before.folds or folds,
                )
    return found
