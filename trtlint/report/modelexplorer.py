"""Findings as node data for Model Explorer, which colours the nodes that have some.

The form: https://github.com/google-ai-edge/model-explorer/wiki/2.-User-Guide#custom-node-data
What graphs and nodes of an ONNX model are called there is the choice of its adapter:
https://github.com/justinchuby/model-explorer-onnx
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
"""What the adapter calls a graph without a name."""


def document(run: Run) -> Iterable[str]:
    """The lines of this format."""
    found = overlay(run)
    main = (found.behind.facts.model.graph.name if found.behind is not None else "") or NAMELESS
    graphs: dict[str, dict[str, Any]] = {main: {}}
    for spotted in found.spotted:
        data = {
            "value": f"{spotted.severity} {', '.join(spotted.rules)}",
            "bgColor": COLOURS[spotted.severity],
            "textColor": "#ffffff",
        }
        # Nodes of a branch are shown in the graph around it, by their paths; a loop's body is a graph itself.
        graphs[main][spotted.path] = data
        if spotted.node is not None and spotted.node.scope:
            name = text(spotted.node.proto.name)
            graphs.setdefault(spotted.node.scope, {})[name] = data
    # Data without a node have no place in this form; the name is what the viewer shows above them.
    title = "; ".join(["trtlint", *(clean(caveat.message) for caveat in found.caveats)])
    document = {graph: {"name": title, "results": results} for graph, results in graphs.items()}
    return [json.dumps(document, indent=1)]
