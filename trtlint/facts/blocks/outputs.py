"""How far each operator is from an output of the model."""

from __future__ import annotations

from collections.abc import Mapping

from trtlint.model.graph import Graph, Node


def nodes_to_output(graph: Graph) -> Mapping[Node, int]:
    """For each node the number of nodes between it and the nearest graph output.

    0 means that the node computes an output itself; a node from which no output is reached is left
    out.  One pass in reverse topological order, so the cost is that of the edges.
    """
    distances: dict[Node, int] = {}
    for node in reversed(graph.nodes):
        if any(value.is_output for value in node.outputs):
            distances[node] = 0
            continue
        # Successors rather than uses: a body's result is read by the operator that owns the body.
        behind = [distances[after] for after in graph.successors(node) if after in distances]
        if behind:
            distances[node] = 1 + min(behind)
    return distances
