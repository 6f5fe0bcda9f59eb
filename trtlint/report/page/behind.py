"""Data for the HTML page about a model: nodes, engine layers, times and ranges."""

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


class PageData:
    """Data for the HTML page about a model.

    Args:
        facts: the facts of the model and of its build.
    """

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.nodes = facts.model.graph.nodes

    def node(self, row: Row) -> Node | None:
        """Return the node of a row, or None if the model has a different node at this position."""
        if row.index is None or not 0 <= row.index < len(self.nodes):
            return None
        node = self.nodes[row.index]
        return node if node.path == row.node else None

    def computes_sizes(self, value: Value) -> bool:
        """Return whether a value depends only on constants and shapes, not on the values of inputs."""
        return self.facts.model.constants.data_free(value)

    @cached_property
    def layers(self) -> tuple[LayerFact, ...]:
        """The engine layers with a measured time, the slowest first; empty if no times were measured."""
        return tuple(layer for layer, _ in self._timed)

    @cached_property
    def _timed(self) -> list[tuple[LayerFact, float]]:
        found = (layer for layer in self.facts.of("layer") if isinstance(layer, LayerFact))
        timed = [(layer, layer.ms) for layer in found if layer.ms]
        return sorted(timed, key=lambda pair: -pair[1])

    @cached_property
    def placements(self) -> Mapping[Node, Placement]:
        """The placement of each node in the engine; empty if the layers of the engine are unknown."""
        found = (fact for fact in self.facts.of("placement") if isinstance(fact, Placement))
        return {fact.node: fact for fact in found if fact.node is not None}

    @cached_property
    def times(self) -> Mapping[Node, float]:
        """The time of each node in milliseconds. The time of a layer is divided evenly among its nodes."""
        found: dict[Node, float] = {}
        for layer, ms in self._timed:
            for node in layer.nodes:
                found[node] = found.get(node, 0.0) + ms / len(layer.nodes)
        return found

    @cached_property
    def ranges(self) -> Mapping[str, MeasuredTensor]:
        """The measured tensors, by the path of the node that computes the tensor."""
        found = self.facts.measurement
        return {} if found is None else {site.node: site for site in found.sites if site.node}

    def measured(self, node: Node) -> str:
        """Return the measured time and range of a node as text, or an empty string if there are none."""
        parts = []
        placed = self.placements.get(node)
        if placed is not None and placed.ms is not None and not placed.absorbed:
            shared = f" for {placed.others + 1} nodes" if placed.others else ""
            parts.append(f"{figure(placed.ms)} ms{shared}")
        site = self.ranges.get(node.path)
        if site is not None:
            parts.append("not finite in FP32" if site.max_abs is None else f"up to {figure(site.greatest)}")
        return ", ".join(parts)
