"""The ONNX graph with typed nodes and values.  The graph is also available as a networkx multigraph.

Nodes of the :class:`networkx.MultiDiGraph` are :class:`Node` objects (operators).  Edges are the values
between the nodes.  The key of an edge is the output port and the input port.  Bodies of ``If``, ``Loop`` and
``Scan`` are part of the same graph; their nodes have a scope.  An edge leads from the producer of a body's
output to the operator that owns the body.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

import onnx

from trtlint.model.elements import Body as Body
from trtlint.model.elements import Node as Node
from trtlint.model.elements import Value as Value
from trtlint.model.errors import ModelError
from trtlint.model.protos import MOST_DIMENSIONS, bodies, text
from trtlint.model.schemas import required_inputs
from trtlint.model.unique_names import UniqueNames

if TYPE_CHECKING:
    import networkx

_MOST_SCOPES = 100
"""Depth limit of nested subgraphs; protobuf has the same limit for nested messages."""
_LONGEST_SCOPE = 500
"""Largest length of the subgraph part of a node path, in characters.

The beginning of a longer part is cut off.
"""
WITH_BODIES = frozenset({"If", "Loop", "Scan"})
"""The operators that contain graphs."""
_NO_BODIES: Mapping[str, Body] = MappingProxyType({})
_BODY_PORT = -1
"""Target port of the edge from the first output of a body to the operator that owns the body.

The edges from the following outputs have the ports -2, -3, ...
"""


class Graph:
    """The graph of a model, with typed nodes and values.

    Attributes:
        name: name of the main graph in the file; empty for an unnamed graph.
        nodes: all nodes, including nodes in bodies, in topological order.
        inputs: the inputs of the main graph that the caller must feed.
        outputs: the outputs of the main graph.
        values: the values by name, in file order.  A name is unique only within its scope.
        sparse: the sparse initializers.  The key is the value that the initializer defines.

    Args:
        proto: the graph, with inferred types.
        declared: declared types of values in the main graph, used where inferred types are unknown.
    """

    def __init__(
        self, proto: onnx.GraphProto, declared: Mapping[str, onnx.TypeProto] = MappingProxyType({})
    ) -> None:
        self.name = text(proto.name)
        self.declared = declared
        self._edges: list[tuple[Node, Node, Value, int]] = []
        self._successors: dict[Node, dict[Node, None]] = defaultdict(dict)
        self._predecessors: dict[Node, dict[Node, None]] = defaultdict(dict)
        self.values: dict[str, list[Value]] = defaultdict(list)
        self._owners: dict[str, Node] = {}
        self._bodies: dict[str, Body] = {}
        self._names: dict[str, Mapping[str, Value]] = {}
        self.sparse: dict[Value, onnx.SparseTensorProto] = {}
        self._paths = UniqueNames()
        order: list[Node] = []
        scope = _GraphBuilder(self, proto, "", None, order)
        self._names[""] = scope.names
        self.inputs: tuple[Value, ...] = tuple(scope.inputs)
        for value in self.inputs:
            value.is_input = True
        self.outputs: tuple[Value, ...] = tuple(scope.outputs)
        for value in self.outputs:
            value.is_output = True
        self.nodes: tuple[Node, ...] = self._sort(order)
        self._by_op: dict[str, list[Node]] = defaultdict(list)
        for index, node in enumerate(self.nodes):
            node.index = index
            self._by_op[node.op].append(node)

    def _sort(self, order: list[Node]) -> tuple[Node, ...]:
        """Sort the nodes topologically.  The order in the file is kept if it is already topological."""
        position = {node: index for index, node in enumerate(order)}
        if all(position[a] < position[b] for a, b, _, _ in self._edges):
            return tuple(order)
        import networkx

        graph = self._multigraph(order)
        try:
            return tuple(networkx.lexicographical_topological_sort(graph, key=position.__getitem__))
        except networkx.NetworkXUnfeasible:
            cycle = networkx.find_cycle(graph)
            raise ModelError("the graph has a cycle", node=cycle[0][0].path) from None

    @cached_property
    def nx(self) -> networkx.MultiDiGraph[Node]:
        """The graph as a multigraph.  It is built on first use, because the import of networkx is slow.

        The nodes are :class:`Node` objects.  The edges have ``value``, ``source_port`` and ``target_port``.
        An edge from a body's output to the operator that owns the body has a negative target port.  The port
        is -1 for the first output, and -2 for the second.
        """
        return self._multigraph(self.nodes)

    def _multigraph(self, nodes: Iterable[Node]) -> networkx.MultiDiGraph[Node]:
        import networkx

        graph: networkx.MultiDiGraph[Node] = networkx.MultiDiGraph()
        graph.add_nodes_from(nodes)
        for source, target, value, port in self._edges:
            graph.add_edge(
                source,
                target,
                key=(value.port, port),
                value=value,
                source_port=value.port,
                target_port=port,
            )
        return graph

    def add_edge(self, value: Value, target: Node, port: int) -> None:
        """Add an edge to ``target`` from the node that computes ``value``, if a node computes it."""
        if value.producer is not None:
            self._edges.append((value.producer, target, value, port))
            self._successors[value.producer][target] = None
            self._predecessors[target][value.producer] = None

    def successors(self, node: Node) -> Iterable[Node]:
        """Return the operators that read the outputs of a node.

        The owner of a body, such as a ``Loop``, reads the outputs of the body.
        """
        return self._successors.get(node, {})

    def predecessors(self, node: Node) -> Iterable[Node]:
        """Return the operators that compute the inputs of a node."""
        return self._predecessors.get(node, {})

    def unique_path(self, scope: str, proto: onnx.NodeProto, index: int) -> str:
        """Return a unique path for a node.  If the name is taken, ``#2``, ``#3``, ... is appended."""
        name = text(proto.name) or f"{text(proto.op_type)}_{index}"
        return self._paths.add(f"{scope[-_LONGEST_SCOPE:]}/{name}" if scope else name)

    @property
    def has_repeated_names(self) -> bool:
        """True if two nodes of one graph (the main graph or one body) have the same name."""
        return bool(self._paths.repeats)

    def add_body(self, scope: str, owner: Node, body: Body, names: Mapping[str, Value]) -> None:
        """Record a body of the operator ``owner``.

        ``scope`` is the path of the body, and ``names`` has the values of the body by name.
        """
        self._owners[scope] = owner
        self._bodies[scope] = body
        self._names[scope] = names

    def resolve(self, name: str, scope: str = "") -> Value | None:
        """Return the value ``name`` in a scope or its outer scopes, or None if there is no such value."""
        scopes = (scope, *(owner.scope for owner in self.owners(scope)))
        return next((found for each in scopes if (found := self._names[each].get(name)) is not None), None)

    def owners(self, scope: str) -> Iterator[Node]:
        """Yield the operators whose bodies contain the given scope, the innermost operator first."""
        for _ in range(_MOST_SCOPES):
            if not scope:
                return
            owner = self._owners[scope]
            yield owner
            scope = owner.scope

    def bodies(self, node: Node) -> Mapping[str, Body]:
        """Return the bodies of an operator.  Keys are the names of the attributes that contain them."""
        if node.op not in WITH_BODIES:
            return _NO_BODIES
        scopes = {name: f"{node.path}/{name}" for name in node.attributes}
        return {name: self._bodies[scope] for name, scope in scopes.items() if scope in self._bodies}

    @cached_property
    def node_names(self) -> frozenset[str]:
        """The names of all nodes, as in the ONNX file."""
        return frozenset(text(node.proto.name) for node in self.nodes)

    def by_op(self, *ops: str) -> Iterator[Node]:
        """Yield the nodes of these operator types, in any domain, in the order of ``ops``."""
        for op in ops:
            yield from self._by_op.get(op, ())

    def of_onnx(self, *ops: str) -> list[Node]:
        """Return the nodes with these operator types in ONNX's own domain, in topological order."""
        return sorted((node for node in self.by_op(*ops) if not node.domain), key=lambda node: node.index)

    def owner(self, node: Node) -> Node | None:
        """Return the operator whose body contains a node, or None for a node of the main graph."""
        return self._owners.get(node.scope)

    def count(self, op: str) -> int:
        """Return the number of nodes with this operator type."""
        return len(self._by_op.get(op, ()))


class _GraphBuilder:
    """Builds the nodes and values of one GraphProto.  A node can also read values of an outer graph."""

    def __init__(
        self, graph: Graph, proto: onnx.GraphProto, path: str, parent: _GraphBuilder | None, order: list[Node]
    ) -> None:
        self.graph = graph
        self.parent = parent
        self.names: dict[str, Value] = {}
        types = {text(info.name): info.type for info in proto.value_info}
        declared = graph.declared if parent is None else {}
        for initializer in proto.initializer:
            _check_dimensions(initializer, None)
            self._declare(initializer.name, None).initializer = initializer
        for sparse in proto.sparse_initializer:
            value = self._declare(sparse.values.name, None)
            value.is_sparse = True
            graph.sparse[value] = sparse
            value.set_type(onnx.helper.make_tensor_type_proto(sparse.values.data_type, sparse.dims))
        self.inputs: list[Value] = []
        for info in proto.input:
            # Before IR 4 every initializer was also listed as an input; it is still a constant.
            known = self.names.get(text(info.name))
            if known is None or known.initializer is None:
                value = self._declare(info.name, None)
                value.set_type(info.type)
                self.inputs.append(value)
        nodes = [Node(node, graph.unique_path(path, node, i), path) for i, node in enumerate(proto.node)]
        for node in nodes:
            names = node.proto.output or ("",)
            node.outputs = tuple(self._declare(name, node, port) for port, name in enumerate(names))
            for value in node.outputs:
                if value.name in types or value.name in declared:
                    value.set_type(types.get(value.name), declared.get(value.name))
        for info in proto.output:
            output = self.names.get(text(info.name))
            if output is not None and output.dtype is None:
                output.set_type(info.type)
        for node in nodes:
            inputs = [self._read(name, node, i) for i, name in enumerate(node.proto.input)]
            # A missing required input is treated like an omitted optional one.
            missing = required_inputs(node.op, node.domain) - len(inputs)
            node.inputs = (*inputs, *[None] * missing)
            for attribute in node.proto.attribute:
                if attribute.type == onnx.AttributeProto.TENSOR:
                    _check_dimensions(attribute.t, node)
                for body in bodies(attribute):
                    scope = f"{node.path}/{text(attribute.name)}"
                    inner = _GraphBuilder(graph, body, scope, self, order)
                    graph.add_body(scope, node, Body(tuple(inner.inputs), tuple(inner.outputs)), inner.names)
                    for port, value in enumerate(inner.outputs):
                        value.leaves_body = True
                        graph.add_edge(value, node, _BODY_PORT - port)
            order.append(node)
        self.outputs: list[Value] = [self._resolve(info.name, None) for info in proto.output]

    def _declare(self, name: str, node: Node | None, port: int = 0) -> Value:
        name = text(name)
        value = Value(name, node, port)
        if not name:
            return value
        if name in self.names:
            raise ModelError(f"the value {name!r} is defined twice", node=None if node is None else node.path)
        self.names[name] = value
        self.graph.values[name].append(value)
        return value

    def _resolve(self, name: str, node: Node | None) -> Value:
        name = text(name)
        scope: _GraphBuilder | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        raise ModelError(f"nothing defines the value {name!r}", node=None if node is None else node.path)

    def _read(self, name: str, node: Node, port: int) -> Value | None:
        if not name:
            return None
        value = self._resolve(name, node)
        value.uses.append((node, port))
        self.graph.add_edge(value, node, port)
        return value


def _check_dimensions(tensor: onnx.TensorProto, node: Node | None) -> None:
    """Raise an error if a tensor has too many dimensions.

    Computing the size of such a tensor would take too long.
    """
    count = len(tensor.dims)
    if count > MOST_DIMENSIONS:
        message = (
            f"the tensor {text(tensor.name)!r} has {count:,} dimensions; trtlint supports at most "
            f"{MOST_DIMENSIONS}"
        )
        raise ModelError(message, node=None if node is None else node.path)
