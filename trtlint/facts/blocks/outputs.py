"""Compute the distance of each node to the nearest output of the model."""

from __future__ import annotations

from collections.abc import Mapping

from trtlint.model.graph import Graph, Node


def nodes_to_output(graph: Graph) -> Mapping[Node, int]:
    """Return the number of nodes between each node and the nearest model output.

    The number is 0 if the node itself computes an output.  Nodes without a path to an output are left out.
    The function visits the nodes once, in reverse topological order, so its time is linear in the number of
    edges.
    """
    distances: dict[Node, int] = {}
    for node in reversed(graph.nodes):
        if any(value.is_output for value in node.outputs):
            distances[node] = 0
            continue
        # For a node in a body, the operator that owns the body is also a successor: it reads the results.
        behind = [distances[after] for after in graph.successors(node) if after in distances]
        if behind:
            distances[node] = 1 + min(behind)
    return distances
