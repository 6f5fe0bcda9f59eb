"""The ONNX graph: a small typed view, and a networkx multigraph for algorithms.

Nodes of the :class:`networkx.MultiDiGraph` are :class:`Node` objects (operators), edges are the
values that flow between them, keyed by the ports they leave and enter.  Bodies of ``If``, ``Loop``
and ``Scan`` are part of the same graph: their nodes carry a scope, and an edge leads from what
computes a body's outputs to the operator that owns the body.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import onnx

from trtlint.model.errors import ModelError
from trtlint.model.protos import DTYPES, MOST_DIMENSIONS, Dimension, ElementType, bodies, dimension, text
from trtlint.model.schemas import attribute_type, required_inputs

if TYPE_CHECKING:
    import networkx

_Default = TypeVar("_Default")

_LONGEST_SCOPE = 500
"""Characters of a body's path that become part of its nodes' paths; of a longer one the end is."""
_BODY_PORT = -1
"""Port of an edge from a body's output to the operator that owns the body."""


class Value:
    """A tensor in the graph: what one port of a node produces, an input, or an initializer.

    Attributes:
        name: the ONNX value name, unique only within its scope.
        producer: the node that computes it, None for graph inputs and initializers.
        port: which output of ``producer`` it is.
        uses: the nodes that read it, each with the input port.
        initializer: the stored tensor, its payload possibly left in the file.
        is_input: whether it is an input of the main graph that the caller must feed.
        is_output: whether it is an output of the main graph.
    """

    __slots__ = (
        "_dtype",
        "_shape",
        "_type",
        "initializer",
        "is_input",
        "is_output",
        "name",
        "port",
        "producer",
        "uses",
    )

    def __init__(self, name: str, producer: Node | None = None, port: int = 0) -> None:
        self.name = name
        self.producer = producer
        self.port = port
        self.uses: list[tuple[Node, int]] = []
        self.initializer: onnx.TensorProto | None = None
        self.is_input = False
        self.is_output = False
        self._type: onnx.TypeProto | None = None
        self._dtype: ElementType | None = None
        self._shape: tuple[Dimension, ...] | None = None

    def __repr__(self) -> str:
        return f"<Value {self.name} {self.type_text}>"

    def _read_type(self) -> None:
        if self.initializer is not None:
            self._dtype = DTYPES.get(self.initializer.data_type)
            self._shape = tuple(self.initializer.dims)
        elif self._type is not None and self._type.HasField("tensor_type"):
            tensor = self._type.tensor_type
            self._dtype = DTYPES.get(tensor.elem_type)
            if tensor.HasField("shape") and len(tensor.shape.dim) <= MOST_DIMENSIONS:
                self._shape = tuple(dimension(dim) for dim in tensor.shape.dim)
        self._type = None

    @property
    def dtype(self) -> ElementType | None:
        """The element type (``f32``, ``i64``, ...), None where unknown or not a tensor."""
        if self._dtype is None and self._shape is None:
            self._read_type()
        return self._dtype

    @property
    def shape(self) -> tuple[Dimension, ...] | None:
        """The dimensions, None where not even the rank is known."""
        if self._dtype is None and self._shape is None:
            self._read_type()
        return self._shape

    @property
    def rank(self) -> int | None:
        """The number of dimensions, None where unknown."""
        return None if self.shape is None else len(self.shape)

    @property
    def type_text(self) -> str:
        """The type as reports print it, ``f32[1,8,197,64]``; empty where nothing is known."""
        dtype, shape = self.dtype, self.shape
        if shape is None:
            return dtype or ""
        dims = ",".join("?" if dim is None else str(dim) for dim in shape)
        return f"{dtype or '?'}[{dims}]"

    def set_type(self, type_: onnx.TypeProto) -> None:
        """Record a declared or inferred type; it is read when first asked for."""
        self._type, self._dtype, self._shape = type_, None, None


class Node:
    """An operator of the graph.

    Attributes:
        path: unique name: subgraph scopes and node name joined with ``/``.
        op: operator type, such as ``MatMul``.
        domain: operator domain, empty for ``ai.onnx``.
        inputs: the values read, None for an optional input left out.
        outputs: the values computed; an optional output left out has an empty name.
        scope: path of the body the node lies in (its owner's path and the attribute's name joined with
            ``/``), empty in the main graph.
        index: position in a topological order of the whole graph.
        proto: the ONNX node.
    """

    __slots__ = ("_attributes", "domain", "index", "inputs", "op", "outputs", "path", "proto", "scope")

    def __init__(self, proto: onnx.NodeProto, path: str, scope: str) -> None:
        self.proto = proto
        self.path = path
        self.scope = scope
        self.op = text(proto.op_type)
        self.domain = "" if proto.domain == "ai.onnx" else text(proto.domain)
        self.inputs: tuple[Value | None, ...] = ()
        self.outputs: tuple[Value, ...] = ()
        self.index = 0
        self._attributes: dict[str, onnx.AttributeProto] | None = None

    def __repr__(self) -> str:
        return f"<Node {self.path} {self.op}>"

    @property
    def attributes(self) -> Mapping[str, onnx.AttributeProto]:
        """The attributes by name."""
        if self._attributes is None:
            self._attributes = {text(attribute.name): attribute for attribute in self.proto.attribute}
        return self._attributes

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute as Python data, ``default`` where it is absent.

        Strings are decoded, repeated fields become tuples; tensors and graphs are returned as ONNX
        protos.  One whose type is not the one that ONNX gives it is as good as absent.
        """
        proto = self.attributes.get(name)
        if proto is None or proto.ref_attr_name or proto.type == onnx.AttributeProto.UNDEFINED:
            return default
        if attribute_type(self.op, self.domain, name) not in (None, proto.type):
            return default
        value = onnx.helper.get_attribute_value(proto)
        if isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        if isinstance(value, onnx.TensorProto | onnx.GraphProto | onnx.SparseTensorProto | onnx.TypeProto):
            return value
        if isinstance(value, Iterable):
            return tuple(v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in value)
        return value

    def number(self, name: str, default: _Default) -> int | float | _Default:
        """The value of a numeric attribute, ``default`` where it is absent or something else."""
        value = self.attribute(name, default)
        return value if isinstance(value, int | float) else default

    def input(self, port: int) -> Value | None:
        """The value at an input port, None where the port is left out."""
        return self.inputs[port] if 0 <= port < len(self.inputs) else None

    @property
    def output(self) -> Value:
        """The first output; nameless and unused where the node has none."""
        return self.outputs[0]


class Graph:
    """The typed view of a model's graph.

    Attributes:
        nodes: all nodes, bodies included, in topological order.
        inputs: the inputs of the main graph that the caller must feed.
        outputs: the outputs of the main graph.
        values: every value by name, in the order met; names are unique per scope only.
    """

    def __init__(self, proto: onnx.GraphProto) -> None:
        self._edges: list[tuple[Node, Node, Value, int]] = []
        self._successors: dict[Node, dict[Node, None]] = defaultdict(dict)
        self._predecessors: dict[Node, dict[Node, None]] = defaultdict(dict)
        self.values: dict[str, list[Value]] = defaultdict(list)
        self._owners: dict[str, Node] = {}
        self._taken: set[str] = set()
        self._repeats: dict[str, int] = defaultdict(int)
        order: list[Node] = []
        scope = _Scope(self, proto, "", None, order)
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
        """Topological order, the file's own where it is one already."""
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
        """The multigraph, made when it is first asked for: importing networkx takes long.

        Its nodes are :class:`Node`, its edges have ``value``, ``source_port`` and ``target_port`` (-1
        where a body's output reaches the operator that owns the body).
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
        """Record, while the graph is read, that an operator reads what another computes."""
        assert value.producer is not None
        self._edges.append((value.producer, target, value, port))
        self._successors[value.producer][target] = None
        self._predecessors[target][value.producer] = None

    def successors(self, node: Node) -> Iterable[Node]:
        """The operators that read what a node computes; the owner of a body reads its outputs."""
        return self._successors.get(node, {})

    def predecessors(self, node: Node) -> Iterable[Node]:
        """The operators that compute what a node reads."""
        return self._predecessors.get(node, {})

    def unique_path(self, scope: str, proto: onnx.NodeProto, index: int) -> str:
        """A path for a node that no other node has; a repeated name gets ``#2``, ``#3``, ..."""
        base = (f"{scope[-_LONGEST_SCOPE:]}/" if scope else "") + (
            text(proto.name) or f"{text(proto.op_type)}_{index}"
        )
        path = base
        while path in self._taken:
            self._repeats[base] += 1
            path = f"{base}#{self._repeats[base] + 1}"
        self._taken.add(path)
        return path

    def add_owner(self, scope: str, node: Node) -> None:
        """Record the operator that owns a body."""
        self._owners[scope] = node

    def by_op(self, *ops: str) -> Iterator[Node]:
        """The nodes of these operator types in any domain, in topological order for each type."""
        for op in ops:
            yield from self._by_op.get(op, ())

    def owner(self, node: Node) -> Node | None:
        """The operator that owns the body a node lies in, None in the main graph."""
        return self._owners.get(node.scope)

    def count(self, op: str) -> int:
        """How many nodes have this operator type."""
        return len(self._by_op.get(op, ()))


class _Scope:
    """Builds the part of the graph that one GraphProto holds, resolving names outwards."""

    def __init__(
        self, graph: Graph, proto: onnx.GraphProto, path: str, parent: _Scope | None, order: list[Node]
    ) -> None:
        self.graph = graph
        self.parent = parent
        self.names: dict[str, Value] = {}
        types = {text(info.name): info.type for info in proto.value_info}
        for initializer in proto.initializer:
            _check_dimensions(initializer, None)
            self._declare(initializer.name, None).initializer = initializer
        for sparse in proto.sparse_initializer:
            self._declare(sparse.values.name, None)
        self.inputs: list[Value] = []
        self.outputs: list[Value] = []
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
                if value.name in types:
                    value.set_type(types[value.name])
        for info in proto.output:
            output = self.names.get(text(info.name))
            if output is not None and output.dtype is None:
                output.set_type(info.type)
        for node in nodes:
            inputs = [self._read(name, node, i) for i, name in enumerate(node.proto.input)]
            # One that an operator must have and does not is left out like an optional one.
            missing = required_inputs(node.op, node.domain) - len(inputs)
            node.inputs = (*inputs, *[None] * missing)
            for attribute in node.proto.attribute:
                if attribute.type == onnx.AttributeProto.TENSOR:
                    _check_dimensions(attribute.t, node)
                for body in bodies(attribute):
                    scope = f"{node.path}/{text(attribute.name)}"
                    graph.add_owner(scope, node)
                    inner = _Scope(graph, body, scope, self, order)
                    for port, value in enumerate(inner.outputs):
                        if value.producer is not None:
                            graph.add_edge(value, node, _BODY_PORT - port)
            order.append(node)
        self.outputs = [self._resolve(info.name, None) for info in proto.output]

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
        scope: _Scope | None = self
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
        if value.producer is not None:
            self.graph.add_edge(value, node, port)
        return value


def _check_dimensions(tensor: onnx.TensorProto, node: Node | None) -> None:
    """Refuse a tensor whose dimensions alone would take long to multiply."""
    count = len(tensor.dims)
    if count > MOST_DIMENSIONS:
        where = None if node is None else node.path
        message = (
            f"the tensor {text(tensor.name)!r} has {count:,} dimensions; at most {MOST_DIMENSIONS} are read"
        )
        raise ModelError(message, node=where)
