"""Choose the type of every operator by a minimum cut.

Casts have a cost, and operators in FP32 have a cost. A minimum cut of a flow network gives the types with the
lowest total cost (https://networkx.org/documentation/stable/reference/algorithms/flow.html). The vertices of
the network are the operators. Operators on the source side of the cut stay in FP32. Operators on the sink
side become 16-bit. Large matrix products have a high cost in FP32, so they become 16-bit unless they must
stay in FP32. So the type of each product is known before the cut. The flow network falls apart at the
products into parts that are solved one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from trtlint.conversion.fixed import is_stored
from trtlint.conversion.narrowports import Ports, narrow_values
from trtlint.conversion.typing_plan import is_constant
from trtlint.conversion.weight import elements, flops
from trtlint.model.graph import Node, Value

_CAST = 1000
"""Fixed cost of a Cast, in addition to the cost of its elements."""
_ELEMENTS_PER_UNIT = 256
_MOST_PER_CAST = 100_000
_BEHIND_PRODUCT = 4
"""Cost factor for a Cast after a product. The Cast separates the product from its bias and activation."""
_FP32_OPERATOR = 10
_FP32_PER_ELEMENTS = 16_384
_PRODUCT = 2_000_000
"""Total cost of computing all products in FP32."""
_SMALL_SHARE = 1e-3
"""A product with less than this share of the FLOPs may stay in FP32 if that avoids a Cast."""

_PREFERENCE = 20 * _CAST
"""Cost of a layer that does not get the type that the user's build prefers."""

_FP32, _NARROW = "fp32", "narrow"
_Key = object


class CutProblem(Struct, frozen=True):
    """The operators of a model, and the constraints on their types.

    Attributes:
        nodes: the operators with FP32 tensors.
        ports: for each operator, the inputs and outputs that change type with the operator.
        fixed: the operators that stay in FP32.
        groups: groups of operators.  All operators of a group get the same type.
        narrow_io: true if the inputs and outputs of the model are in 16 bits.
        boundary: outputs of subgraphs. These outputs stay in FP32.
        forced: operators that the user wants in 16 bits.
        preferred: operators with a preferred type: True for 16 bits, False for FP32.
        copying: operators that copy numbers without rounding. A copying operator needs FP32 only if its input
            is computed in FP32 and its output is read in FP32.
        known: values that can be stored as constants in either type, so that they need no Cast.
    """

    nodes: tuple[Node, ...]
    ports: Mapping[Node, Ports]
    fixed: frozenset[Node]
    groups: tuple[frozenset[Node], ...]
    narrow_io: bool
    boundary: frozenset[Value]
    forced: frozenset[Node]
    preferred: Mapping[Node, bool]
    copying: frozenset[Node]
    known: Collection[Value]


def narrow_nodes(problem: CutProblem) -> set[Node]:
    """Return the operators to compute in 16 bits, chosen by a minimum cut."""
    cut = _MinimumCut(problem, behind=False)
    found = cut.result()
    if problem.copying:
        other = _MinimumCut(problem, behind=True)
        others = other.result()
        if other.cost < cut.cost:
            return others
    return found


class _MinimumCut:
    """A flow network and its minimum cut.

    Args:
        problem: the operators and the constraints on their types.
        behind: true if copying operators get the type of their consumers, false if they get the type of
            their producers.

    Attributes:
        cost: the cost of the cut.
    """

    def __init__(self, problem: CutProblem, *, behind: bool) -> None:
        self.problem = problem
        self.behind = behind
        self.cost = 0
        self.leader: dict[Node, Node] = {}
        for group in problem.groups:
            first = min(group, key=lambda node: node.index)
            for node in group:
                self.leader[node] = first
        self.edges: dict[_Key, dict[_Key, int]] = defaultdict(dict)
        self.infinite = 1 << 60

    def key(self, node: Node) -> _Key:
        """Return the vertex that represents an operator.

        If the type of the operator is already decided, return the source or the sink.
        """
        leader = self.leader.get(node, node)
        return self.settled.get(leader, leader)

    def result(self) -> set[Node]:
        problem = self.problem
        fixed = {self.leader.get(node, node) for node in problem.fixed}
        costs: dict[Node, int] = defaultdict(int)
        total = sum(flops(node) for node in problem.nodes) or 1
        dear: set[Node] = set()
        for node in problem.nodes:
            leader = self.leader.get(node, node)
            share = flops(node) / total
            costs[leader] += _FP32_OPERATOR + sum(map(elements, node.outputs)) // _FP32_PER_ELEMENTS
            costs[leader] += int(share * _PRODUCT)
            if share >= _SMALL_SHARE:
                dear.add(leader)
        self.settled: dict[Node, _Key] = dict.fromkeys(dear, _NARROW)
        self.settled.update((self.leader.get(node, node), _NARROW) for node in problem.forced)
        self.settled.update(dict.fromkeys(fixed, _FP32))
        for node, narrow in problem.preferred.items():
            leader = self.leader.get(node, node)
            if leader not in fixed:
                self.settled.pop(leader, None)
                source, target = (leader, _NARROW) if narrow else (_FP32, leader)
                self.edge(source, target, _PREFERENCE)
        for leader, cost in costs.items():
            if leader not in self.settled:
                self.edge(leader, _NARROW, cost)
        for value in self.values():
            self.connect(value)
        for node in problem.copying:
            self.follow(node)
        fp32 = self.solve()
        self.cost = sum(
            cost
            for source in fp32
            for target, cost in self.edges.get(source, {}).items()
            if target not in fp32
        )
        return {node for node in problem.nodes if self.key(node) not in fp32}

    def edge(self, source: _Key, target: _Key, cost: int) -> None:
        """Add an edge, or increase the cost of an existing edge."""
        if source is not target:
            self.edges[source][target] = min(self.infinite, self.edges[source].get(target, 0) + cost)

    def values(self) -> Iterable[Value]:
        seen: dict[Value, None] = {}
        for node in self.problem.nodes:
            for value in (*node.inputs, *node.outputs):
                if value is not None and value.dtype == "f32" and value.initializer is None:
                    seen[value] = None
        return seen

    def connect(self, value: Value) -> None:
        """Connect the operator that computes a value to the readers of the value, with the cost of a Cast."""
        producer = value.producer
        if value in self.problem.known or (producer is not None and is_stored(producer)):
            return
        writer = self.writer(value)
        others = [reader for reader in self.readers(value) if reader is not writer]
        if not others:
            return
        cost = _CAST
        if value.uses:  # a Cast between the last operator and an output of the model separates no operators
            cost += min(_MOST_PER_CAST, elements(value) // _ELEMENTS_PER_UNIT)
        if value.uses and producer is not None and flops(producer):
            cost *= _BEHIND_PRODUCT
        if len(others) == 1:
            self.edge(writer, others[0], cost)
            self.edge(others[0], writer, cost)
            return
        down, up = (value, "fp32 to 16 bits"), (value, "16 bits to fp32")
        self.edge(writer, down, cost)
        self.edge(up, writer, cost)
        for other in others:
            self.edge(down, other, self.infinite)
            self.edge(other, up, self.infinite)

    def writer(self, value: Value) -> _Key:
        """Return the vertex of the operator that computes a value."""
        producer, ports = value.producer, self.problem.ports
        if producer is None:
            return _NARROW if self.problem.narrow_io and value.is_input else _FP32
        narrow = producer in ports and ports[producer].writes_narrow(value.port)
        return self.key(producer) if narrow else _FP32

    def readers(self, value: Value) -> dict[_Key, None]:
        """Return the vertices of a value's readers.

        If the value is an output of the model, the source or the sink is one of these vertices.
        """
        found: list[_Key] = []
        for node, port in value.uses:
            ports = self.problem.ports.get(node)
            if ports is None or port not in ports.free:
                found.append(self.key(node) if ports is not None and ports.reads_narrow(port) else _FP32)
        if value.is_output:
            found.append(_NARROW if self.problem.narrow_io else _FP32)
        if value in self.problem.boundary:
            found.append(_FP32)
        return dict.fromkeys(found)

    def follow(self, node: Node) -> None:
        """Keep a copying operator in FP32 if a producer of its inputs is in FP32.

        If ``behind`` is true or an input is constant, the consumers of the operator's outputs decide instead
        of the producers.
        """
        key = self.key(node)
        if key in (_FP32, _NARROW):
            return
        reads, writes = narrow_values(node, self.problem.ports[node])
        if self.behind or any(map(is_constant, reads)):
            around = [reader for value in writes for reader in self.readers(value)]
        else:
            around = [self.writer(value) for value in reads]
        for other in around:
            self.edge(other, key, self.infinite)

    def solve(self) -> set[_Key]:
        """Compute the minimum cut and return the vertices on the side of the source (FP32)."""
        import networkx as nx
        from networkx.algorithms.flow import boykov_kolmogorov

        undirected: nx.Graph[_Key] = nx.Graph()
        for source, targets in self.edges.items():
            for target in targets:
                if source not in (_FP32, _NARROW) and target not in (_FP32, _NARROW):
                    undirected.add_edge(source, target)
                else:
                    undirected.add_nodes_from({source, target} - {_FP32, _NARROW})
        side: set[_Key] = {_FP32}
        for part in nx.connected_components(undirected):
            graph: nx.DiGraph[_Key] = nx.DiGraph()
            members = part | {_FP32, _NARROW}
            for source in part | {_FP32}:
                for target, cost in self.edges.get(source, {}).items():
                    if target in members and source is not target and target is not _FP32:
                        graph.add_edge(source, target, capacity=cost)
            if _FP32 not in graph or _NARROW not in graph:
                side |= part if _FP32 in graph else set()
                continue
            residual = boykov_kolmogorov(graph, _FP32, _NARROW)
            edges = residual.edges(data=True)
            full = [(source, target) for source, target, data in edges if data["flow"] == data["capacity"]]
            residual.remove_edges_from(full)
            side |= nx.descendants(residual, _FP32)
        return side
