"""Findings as node data for Model Explorer, which colours each node that has a finding.

Format: https://github.com/google-ai-edge/model-explorer/wiki/2.-User-Guide#custom-node-data. The ONNX adapter
of Model Explorer defines the names of graphs and nodes: https://github.com/justinchuby/model-explorer-onnx
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from trtlint.model.protos import text
from trtlint.report.escape import clean
from trtlint.report.formats import Run
from trtlint.report.overlay import overlay
from trtlint.report.page.picture import COLOURS

NAMELESS = "<main>"
"""Name that the ONNX adapter gives to a graph without a name."""


def document(run: Run) -> Iterable[str]:
    """Return the lines of the report."""
    found = overlay(run)
    main = (found.behind.facts.model.graph.name if found.behind is not None else "") or NAMELESS
    graphs: dict[str, dict[str, Any]] = {main: {}}
    for spotted in found.spotted:
        data = {
            "value": f"{spotted.severity} {', '.join(spotted.rules)}",
            "bgColor": COLOURS[spotted.severity],
            "textColor": "#ffffff",
        }
        # Nodes of a branch appear in the outer graph, by path. The body of a loop is a separate graph.
        graphs[main][spotted.path] = data
        if spotted.node is not None and spotted.node.scope:
            name = text(spotted.node.proto.name)
            graphs.setdefault(spotted.node.scope, {})[name] = data
    # The format has only data about nodes, so caveats go into the name, which the viewer shows.
    title = "; ".join(["trtlint", *(clean(caveat.message) for caveat in found.caveats)])
    document = {graph: {"name": title, "results": results} for graph, results in graphs.items()}
    return [json.dumps(document, indent=1)]
