"""Derive the types of all values, and the required Casts, from the operators that compute in 16 bits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from trtlint.conversion.fixed import is_stored
from trtlint.conversion.narrowports import Ports
from trtlint.model.graph import Graph, Node, Value


class TypePlan:
    """The types of all values, given the operators that compute in 16 bits.

    Args:
        graph: the graph of the source.
        narrow: the operators that compute in 16 bits.
        ports: for each operator, the inputs and outputs that change type with the operator.
        narrow_io: true if the inputs and outputs of the model are in 16 bits.
    """

    def __init__(
        self, graph: Graph, narrow: Iterable[Node], ports: Mapping[Node, Ports], *, narrow_io: bool
    ) -> None:
        self.graph = graph
        self.narrow = frozenset(narrow)
        self.ports = ports
        self.narrow_io = narrow_io

    def computed_narrow(self, value: Value) -> bool:
        """Return whether an FP32 value of the source is computed in 16 bits in the converted model."""
        producer = value.producer
        if producer is None:
            return self.narrow_io and value.is_input
        found = self.ports.get(producer)
        return producer in self.narrow and found is not None and found.writes_narrow(value.port)

    def wanted_narrow(self, node: Node, port: int) -> bool | None:
        """Return whether an operator needs 16 bits at input ``port``, or None if either type is allowed."""
        found = self.ports.get(node)
        if found is not None and port in found.free:
            return None
        return node in self.narrow and found is not None and found.reads_narrow(port)


def is_constant(value: Value) -> bool:
    """Return whether a value is stored in the model."""
    if value.initializer is not None:
        return True
    return value.producer is not None and is_stored(value.producer) and not value.is_sparse


def boundary_values(graph: Graph) -> frozenset[Value]:
    """Return the outputs of all subgraphs (bodies of If and Loop). These outputs stay in FP32."""
    return frozenset(
        value
        for node in graph.nodes
        for body in graph.bodies(node).values()
        for value in body.outputs
        if value.dtype == "f32"
    )
