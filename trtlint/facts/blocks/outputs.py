"""Compute the distance of each node to the nearest output of the model."""

from __future__ import annotations

from collections.abc import Mapping

from trtlint.model.graph import Graph, Node


def nodes_to_output(graph: Graph) -> Mapping[Node, int]:
    """Return the number of nodes between each node and the nearest model output.

    0 means that the node itself computes an output.  Nodes without a path to an output are left out.  The
    search is one pass in reverse topological order, so the time is linear in the number of edges.
    """
    distances: dict[Node, int] = {}
    for node in reversed(graph.nodes):
        if any(value.is_output for value in node.outputs):
            distances[node] = 0
            continue
        # Successors include the operator that owns a body, which reads the results of the body.
        behind = [distances[after] for after in graph.successors(node) if after in distances]
        if behind:
            distances[node] = 1 + min(behind)
    return distances
