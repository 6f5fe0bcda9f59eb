"""Findings as an attachment for Netron.

If the user selects a node in Netron, Netron shows the findings of the node.

Netron does not document the format. According to its source code, the user opens a model, and then opens the
attachment, a ``.json`` file: https://github.com/lutzroeder/netron/blob/main/source/view.js
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from textwrap import fill
from typing import Any

from trtlint.engine.finding import ModelReport
from trtlint.model.protos import text
from trtlint.report.counts import by_severity
from trtlint.report.escape import clean
from trtlint.report.formats import Run
from trtlint.report.overlay import NodeWithFindings, Overlay, overlay
from trtlint.report.partition import partition_in

SIGNATURE = "netron:attachment"
"""The ``signature`` field by which Netron recognizes an attachment."""
_WIDTH = 70
"""Largest number of characters of a line. trtlint wraps the text, because Netron does not."""
_MOST_METRICS = 50_000
"""Largest number of layer times and tensor ranges in the attachment."""


def document(run: Run) -> Iterable[str]:
    """Return the lines of the report."""
    found = overlay(run)
    attachment = {
        "signature": SIGNATURE,
        "metadata": [
            *_graph(found),
            *(entry for spotted in found.spotted for entry in _entries(spotted)),
            *(entry for report in run.report.models[:1] for entry in _parts(report)),
        ],
        "metrics": list(_metrics(found))[:_MOST_METRICS],
    }
    return [json.dumps(attachment, indent=1)]


def _graph(found: Overlay) -> Iterator[dict[str, Any]]:
    name = "" if found.behind is None else found.behind.facts.model.graph.name
    counts = by_severity(Counter(finding.severity for finding in found.findings))
    yield _entry("graph", name, "trtlint", f"{counts} for {found.target}")
    for caveat in found.caveats:
        yield _entry("graph", name, f"trtlint {caveat.severity}", fill(clean(caveat.message), _WIDTH))


def _entries(spotted: NodeWithFindings) -> Iterator[dict[str, Any]]:
    kind, target = _target(spotted)
    remarks: dict[str, list[str]] = {}
    for remark in spotted.remarks:
        finding = remark.finding
        remarks.setdefault(f"{finding.severity} {finding.rule}", []).append(remark.text)
    for name, texts in remarks.items():
        lines = (line for words in dict.fromkeys(texts) for line in words.splitlines())
        yield _entry(kind, target, name, "\n".join(fill(line, _WIDTH) for line in lines))


def _parts(report: ModelReport) -> Iterator[dict[str, Any]]:
    """Yield an entry for each node: the part of the partition that contains the node.

    If no part contains the node, the entry gives the reason instead.
    """
    found = partition_in(report)
    if found is None:
        return
    for number, part in enumerate(found["parts"], 1):
        yield from (_entry("node", path, "part", f"part {number}") for path in part[:_MOST_METRICS])
    reasons = {path: split["why"] for split in found["splits"] for path in split["nodes"]}
    for path in found["left"][:_MOST_METRICS]:
        yield _entry("node", path, "part", fill(clean(f"none: {reasons.get(path, '')}".strip(": ")), _WIDTH))


def _target(spotted: NodeWithFindings) -> tuple[str, str]:
    """Return the kind and the name under which Netron finds a node.

    Netron finds a node by the name of the node. If the node has no name, Netron uses the name of the node's
    output.
    """
    node = spotted.node
    if node is None:
        return "node", spotted.path
    name = text(node.proto.name)
    return ("node", name) if name else ("value", node.output.name)


def _metrics(found: Overlay) -> Iterator[dict[str, Any]]:
    """Yield the measured times of nodes and the measured ranges of tensors."""
    if found.behind is None:
        return
    for node, ms in found.behind.times.items():
        if name := text(node.proto.name):
            yield _entry("node", name, "ms", round(ms, 6))
    measurement = found.behind.facts.measurement
    for site in () if measurement is None else measurement.sites:
        greatest = "not finite in FP32" if site.max_abs is None else site.max_abs
        yield _entry("value", site.tensor, "greatest magnitude", greatest)


def _entry(kind: str, target: str, name: str, value: str | float) -> dict[str, Any]:
    return {"kind": kind, "target": target, "name": name, "value": value}
