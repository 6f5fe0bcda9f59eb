"""Data of a model for its page: graph, layers, times and ranges."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from trtlint.facts.figures import figure
from trtlint.facts.of_build.layer import LayerFact
from trtlint.facts.of_build.placement import Placement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trtlint.engine.finding import Row
    from trtlint.facts.facts import Facts
    from trtlint.measurement.measurement import MeasuredTensor
    from trtlint.model.elements import Node, Value


class Behind:
    """Data of a model for the page: nodes, placements, times and ranges.

    Args:
        facts: the facts of the model and of its build.
    """

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.nodes = facts.model.graph.nodes

    def node(self, row: Row) -> Node | None:
        """Return the node of a row; None if the model has another node at this position."""
        if row.index is None or not 0 <= row.index < len(self.nodes):
            return None
        node = self.nodes[row.index]
        return node if node.path == row.node else None

    def computes_sizes(self, value: Value) -> bool:
        """Return whether a value depends on constants and shapes only."""
        return self.facts.model.constants.data_free(value)

    @cached_property
    def layers(self) -> tuple[LayerFact, ...]:
        """The slowest layers of the engine, the slowest first; empty without times."""
        layers = [layer for layer in self.facts.of("layer") if isinstance(layer, LayerFact)]
        return tuple(sorted((layer for layer in layers if layer.ms), key=lambda layer: -(layer.ms or 0.0)))

    @cached_property
    def placements(self) -> Mapping[Node, Placement]:
        """The placement of each node in the engine; empty without layers."""
        found = (fact for fact in self.facts.of("placement") if isinstance(fact, Placement))
        return {fact.node: fact for fact in found if fact.node is not None}

    @cached_property
    def times(self) -> Mapping[Node, float]:
        """Milliseconds by node; the time of a layer is divided evenly among its nodes."""
        found: dict[Node, float] = {}
        for layer in self.layers:
            for node in layer.nodes:
                found[node] = found.get(node, 0.0) + (layer.ms or 0.0) / len(layer.nodes)
        return found

    @cached_property
    def ranges(self) -> Mapping[str, MeasuredTensor]:
        """Measured tensors by the path of their node."""
        found = self.facts.measurement
        return {} if found is None else {site.node: site for site in found.sites if site.node}

    def measured(self, node: Node) -> str:
        """Return the time and the range of a node in a few characters; empty if neither was measured."""
        parts = []
        placed = self.placements.get(node)
        if placed is not None and placed.ms is not None and not placed.absorbed:
            shared = f" for {placed.others + 1} nodes" if placed.others else ""
            parts.append(f"{figure(placed.ms)} ms{shared}")
        site = self.ranges.get(node.path)
        if site is not None:
            parts.append("not finite in FP32" if site.max_abs is None else f"up to {figure(site.greatest)}")
        return ", ".join(parts)
