"""Map engine layers to ONNX nodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from trtlint.buildfiles.layers import EngineLayer, LayerInfo
from trtlint.buildfiles.names import LayerNames, NodeRange, layer_names, metadata_nodes
from trtlint.buildfiles.patterns import table
from trtlint.buildfiles.records import Log
from trtlint.model.graph import Graph, Node
from trtlint.model.operators import REARRANGING
from trtlint.model.protos import text

_OWN = ("(Unnamed Layer*", "ONNXTRT_", "node_of_")
"""Prefixes of the names of layers that the parser adds."""
_OF_IF = "_OutputLayer"
"""Suffix that the parser adds to the name of an If. The result is the name of the layer that selects the If's
output: https://github.com/onnx/onnx-tensorrt/blob/main/onnxOpImporters.cpp
"""
_ISLANDS = 500
"""Maximum number of Myelin islands whose nodes are searched.

Each search visits the nodes around the island.
"""


class NodeNames:
    """Finds the nodes of a graph by the names that TensorRT prints in logs and layer files."""

    def __init__(self, graph: Graph, log: Log | None = None) -> None:
        self.graph = graph
        self._named: dict[str, list[Node]] = defaultdict(list)
        for node in graph.nodes:
            name = text(node.proto.name)
            for key in {name, node.path} - {""}:
                self._named[key].append(node)
            if not name and node.outputs:
                # The parser's name for a node without a name:
                # https://github.com/onnx/onnx-tensorrt/blob/main/onnxOpImporters.cpp
                self._named[f"node_of_{node.output.name}"].append(node)
        if log is not None:
            for record in log.telling("layer"):
                layer, owner = record.groups.get("layer", ""), record.groups.get("node", "")
                if owner and layer not in self._named:
                    self._named[layer] = self._named.get(owner, [])

    def find(self, name: str) -> Node | None:
        """Return the only node with this name, or None if no node or several nodes have it."""
        found = self._named.get(name) or self._named.get(name.removesuffix(_OF_IF)) or ()
        return found[0] if len(found) == 1 else None

    def knows(self, name: str) -> bool:
        """Return whether a node or a tensor has this name."""
        return bool(self._named.get(name)) or name in self.graph.values

    def computing(self, tensor: str) -> Node | None:
        """Return the node that computes a tensor of this name, or None if there is not exactly one node."""
        found = {value.producer for value in self.graph.values.get(tensor, ())} - {None}
        return found.pop() if len(found) == 1 else None

    def reading(self, tensor: str) -> tuple[Node, ...]:
        """Return, in graph order, the nodes that read a tensor of this name."""
        found = {user for value in self.graph.values.get(tensor, ()) for user, _ in value.uses}
        return tuple(sorted(found, key=lambda node: node.index))

    def all(self, names: Iterable[str]) -> tuple[Node, ...]:
        """Return the nodes with these names, without repeats, in order."""
        found = (self.find(name) for name in names)
        return tuple(dict.fromkeys(node for node in found if node is not None))


def is_of_another_model(log: Log, names: NodeNames) -> bool:
    """Return whether a log belongs to another model.

    A log belongs to another model if it names nodes or inputs, and none of them is in the graph.  If a log
    names no node or input, the result is False.
    """
    found = {
        part.strip()
        for pattern in table().patterns
        for record in (log.records.get(pattern.name, ()) if pattern.of_model else ())
        for group in pattern.of_model
        for part in record.groups.get(group, "").split(", ")
    }
    printed = {name for name in found if name and not name.startswith(_OWN)}
    return bool(printed) and not any(names.knows(name) for name in printed)


class Join(Struct, frozen=True):
    """The mapping between the layers of an engine and the nodes of a graph.

    Attributes:
        nodes: for each layer index, the nodes that the layer computes, in graph order.
        layers: for each node, the layers that compute it, in engine order and without reformats.
        absorbed: for each layout operator (such as a Transpose) without a layer of its own, the layers that
            do its work by accessing memory in a different order. The layers that read the operator's result
            do this work. If there are no such layers, the layers that compute the operator's input do the
            work.
    """

    nodes: Mapping[int, tuple[Node, ...]]
    layers: Mapping[Node, tuple[EngineLayer, ...]]
    absorbed: Mapping[Node, tuple[EngineLayer, ...]]

    def placed(self, node: Node) -> tuple[EngineLayer, ...]:
        """Return the layers that compute a node or do its work. The result is empty if they are unknown."""
        return self.layers.get(node) or self.absorbed.get(node, ())


def join(info: LayerInfo, names: NodeNames, log: Log | None = None) -> Join:
    """Map the layers of an engine to the nodes of its graph.

    The metadata of a layer takes precedence over the layer's name. Some layer names give only the first and
    the last node of a Myelin island. Such a layer also computes the nodes between these two nodes, except
    nodes that another layer names. If a layer names no nodes, it computes the nodes whose results are its
    output tensors. The remaining layers, such as reformats, have no nodes.
    """
    members = island_members(log)
    taken = [layer_names(layer.name, layer.metadata) for layer in info.layers]
    nodes: dict[int, tuple[Node, ...]] = {}
    claimed: set[Node] = set()
    for layer, found in zip(info.layers, taken, strict=True):
        if not found.reformat and (not found.ranges or layer.name in members):
            own = names.all((*found.nodes, *members.get(layer.name, ())))
            nodes[layer.index] = own or _by_tensors(layer, names)
            claimed.update(own)
    islands = [(layer, found) for layer, found in zip(info.layers, taken, strict=True) if found.ranges]
    for layer, found in islands[:_ISLANDS]:
        if layer.index not in nodes and not found.reformat:
            nodes[layer.index] = _island(found, names, claimed)
    layers: dict[Node, list[EngineLayer]] = defaultdict(list)
    for layer in info.layers:
        inside = tuple(sorted(dict.fromkeys(nodes.get(layer.index, ())), key=lambda node: node.index))
        nodes[layer.index] = inside
        for node in inside:
            layers[node].append(layer)
    joined = {node: tuple(found) for node, found in layers.items()}
    return Join(nodes, joined, _absorbed(names.graph, joined) if info.detailed else {})


def _absorbed(
    graph: Graph, joined: Mapping[Node, tuple[EngineLayer, ...]]
) -> dict[Node, tuple[EngineLayer, ...]]:
    found: dict[Node, tuple[EngineLayer, ...]] = {}
    for node in reversed(graph.nodes):
        if node.op in REARRANGING and node not in joined:
            readers = [user for value in node.outputs for user, _ in value.uses]
            layers = (layer for user in readers for layer in joined.get(user) or found.get(user, ()))
            found[node] = tuple({layer.index: layer for layer in layers}.values())
    for node in graph.nodes:
        if node in found and not found[node]:
            value = node.input(0)
            producer = None if value is None else value.producer
            if producer is not None:
                found[node] = joined.get(producer) or found.get(producer, ())
    return {node: layers for node, layers in found.items() if layers}


def island_nodes(range_: NodeRange, names: NodeNames) -> tuple[Node, ...]:
    """Return, in graph order, the nodes from the first to the last node of a Myelin island.

    The name of an initializer stands for the nodes that read the initializer.  If the graph has only the
    first or only the last node, return only this node.
    """
    first, last = _end(range_.first, names), _end(range_.last, names)
    if not first or not last:
        return tuple(dict.fromkeys((*first, *last)))
    import networkx

    graph = names.graph.nx
    behind = set(first).union(*(networkx.descendants(graph, node) for node in first))
    ahead = set(last).union(*(networkx.ancestors(graph, node) for node in last))
    between = (behind & ahead) | set(first) | set(last)
    return tuple(sorted(between, key=lambda node: node.index))


def _end(parts: Sequence[str], names: NodeNames) -> tuple[Node, ...]:
    found = names.all(parts)
    return found or tuple(dict.fromkeys(node for part in parts for node in names.reading(part)))


def _island(found: LayerNames, names: NodeNames, claimed: set[Node]) -> tuple[Node, ...]:
    ends = {
        node for range_ in found.ranges for part in (range_.first, range_.last) for node in names.all(part)
    }
    inside = [node for range_ in found.ranges for node in island_nodes(range_, names)]
    return tuple(node for node in (*names.all(found.nodes), *inside) if node in ends or node not in claimed)


def island_members(log: Log | None) -> Mapping[str, tuple[str, ...]]:
    """For each Myelin island in the log, return the name of its layer and its ONNX nodes."""
    if log is None:
        return {}
    return {
        record.groups["layer"]: listed
        for record in log.records.get("island", ())
        if (listed := metadata_nodes(record.groups.get("metadata")))
    }


def _by_tensors(layer: EngineLayer, names: NodeNames) -> tuple[Node, ...]:
    """Return the nodes that compute the output tensors of a layer. ONNX names identify these tensors."""
    found = (names.computing(tensor.name) for tensor in layer.outputs)
    return tuple(dict.fromkeys(node for node in found if node is not None))
