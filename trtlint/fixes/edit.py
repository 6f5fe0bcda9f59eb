"""Apply patches to the ONNX protobuf of a model."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from copy import deepcopy
from graphlib import CycleError, TopologicalSorter

import onnx

from trtlint.errors import TrtlintError
from trtlint.fixes.opsets import same_meaning
from trtlint.fixes.patch import Patch, delete
from trtlint.model.contents import nodes
from trtlint.model.graph import Graph, Node
from trtlint.model.protos import bodies_of, defined, domain_of, text

_HAS_FREE_INITIALIZERS = 4
"""First IR version in which initializers need not be graph inputs."""


class EditError(TrtlintError):
    """Error: a patch cannot be applied to the model. The message is the reason."""


def apply(proto: onnx.ModelProto, graph: Graph, patches: Sequence[Patch]) -> onnx.ModelProto:
    """Apply patches to a copy of a model. The patches must not have nodes in common.

    The function also removes nodes and tensors that the patches make unused. Nodes and tensors that were
    already unused stay. The function also removes the declared types of removed values and of values with a
    new type.

    Args:
        proto: the ONNX protobuf of the model, with its functions inlined.
        graph: the graph of ``proto``.
        patches: the patches.

    Raises:
        EditError: a patch cannot be applied to the model.
    """
    edited = deepcopy(proto)
    by_scope: dict[str, list[Patch]] = defaultdict(list)
    for patch in patches:
        if patch.set_opset:
            set_opset(edited, patch.set_opset)
            continue
        scopes = {node.scope for node in patch.touched} or {""}
        if len(scopes) != 1:
            raise EditError("the rewrite changes nodes both inside and outside the body of an If or a loop")
        by_scope[scopes.pop()].append(patch)
    containers = {"": edited.graph}
    for scope, chosen in by_scope.items():
        if scope:
            containers[scope] = _container(edited.graph, graph, chosen[0].touched[0])
    used = {scope: set(_reads(container)) for scope, container in containers.items()}
    for scope, chosen in by_scope.items():
        _apply(containers[scope], chosen, edited.ir_version)
    # Process bodies before their parents, because removing a node of a body may leave outer values unused.
    for scope in sorted(containers, key=lambda scope: len(list(graph.owners(scope))), reverse=True):
        _drop_unused(containers[scope], used[scope])
        _sort(containers[scope])
    _raise_opset(edited, max((patch.opset for patch in patches), default=0))
    return edited


def _container(main: onnx.GraphProto, graph: Graph, node: Node) -> onnx.GraphProto:
    """Return the graph that contains a node: the main graph, or the body of an If or Loop."""
    owner = graph.owner(node)
    if owner is None:
        return main
    proto = _find(_container(main, graph, owner), owner)
    for attribute in proto.attribute:
        if f"{owner.path}/{text(attribute.name)}" == node.scope and attribute.HasField("g"):
            return attribute.g
    raise EditError(f"the If or loop around {node.path} has no unique name")


def _find(container: onnx.GraphProto, node: Node) -> onnx.NodeProto:
    """Return the ``NodeProto`` of ``container`` that has the same outputs as ``node``."""
    wanted = key_of(node.proto)
    for proto in container.node:
        if key_of(proto) == wanted:
            return proto
    raise EditError(f"{node.path} is no longer in the model")


def key_of(proto: onnx.NodeProto) -> str:
    """Return the first output name of a node, which identifies the node in its graph."""
    for name in proto.output:  # a plain loop is fast; this function runs several times for every node
        if name:
            return text(name)
    return ""


def _apply(container: onnx.GraphProto, patches: Sequence[Patch], ir_version: int) -> None:
    removed = {key_of(node.proto) for patch in patches for node in patch.remove}
    rewired: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for patch in patches:
        for node, port, name in patch.rewire:
            rewired[key_of(node.proto)].append((port, name))
    if "" in removed or "" in rewired:
        raise EditError(
            "the rewrite changes an operator without outputs; trtlint identifies operators by their outputs"
        )
    if sum(len(patch.remove) for patch in patches) != len(removed):
        raise EditError("two rewrites remove the same operator")
    first = {key_of(patch.touched[0].proto): patch for patch in patches if patch.touched}
    order: dict[str, int] = {}
    for proto in container.node:
        key = key_of(proto)
        for new in first[key].insert if key in first else ():
            order[key_of(new)] = len(order)
        for port, name in rewired.get(key, ()):
            while len(proto.input) <= port:
                proto.input.append("")
            proto.input[port] = name
        order.setdefault(key, len(order))
    delete(container.node, lambda node: key_of(node) in removed)
    for patch in patches:
        container.node.extend(patch.insert)
    container.node.sort(key=lambda node: order[key_of(node)])
    stored = {text(tensor.name) for patch in patches for tensor in patch.initializers}
    delete(container.sparse_initializer, lambda sparse: text(sparse.values.name) in stored)
    for patch in patches:
        container.initializer.extend(patch.initializers)
        if ir_version < _HAS_FREE_INITIALIZERS:
            for tensor in patch.initializers:
                container.input.append(
                    onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
                )
    _forget(container, {name for patch in patches for name in patch.retyped})


def _forget(container: onnx.GraphProto, retyped: set[str]) -> None:
    """Remove the declared type of each value that has a new type or no longer exists.

    Args:
        container: the edited graph.
        retyped: names of the values with a new type.
    """
    there = {text(name) for node in container.node for name in node.output} - retyped
    there |= {text(info.name) for info in container.input} | {text(t.name) for t in container.initializer}
    delete(container.value_info, lambda info: text(info.name) not in there)


def _reads(graph: onnx.GraphProto) -> Iterator[str]:
    """Yield the names of all tensors that a graph and its nested bodies read."""
    for info in graph.output:
        yield text(info.name)
    for node in graph.node:
        yield from needs(node)


def _drop_unused(graph: onnx.GraphProto, before: set[str]) -> None:
    """Remove the nodes and tensors that became unused in one edited graph.

    Args:
        graph: the graph after the edit.
        before: names of the tensors that the graph read before the edit.
    """
    uses = Counter(_reads(graph))
    producers = {text(name): node for node in graph.node for name in node.output}
    pending = [name for name in before if not uses[name]]
    dead: set[str] = set()
    while pending:
        node = producers.get(pending.pop())
        if node is None or key_of(node) in dead or any(uses[text(name)] for name in node.output):
            continue
        dead.add(key_of(node))
        for name in needs(node):
            uses[name] -= 1
            if not uses[name] and name in before:
                pending.append(name)
    if dead:
        delete(graph.node, lambda node: key_of(node) in dead)
    unused = {name for name in before if not uses[name]}
    gone = {text(tensor.name) for tensor in graph.initializer} & unused
    for items in (graph.initializer, graph.input):  # IR version 3 also lists initializers as inputs
        delete(items, lambda item: text(item.name) in gone)
    _forget(graph, set())


def _sort(container: onnx.GraphProto) -> None:
    """Sort the nodes of a graph topologically. If the order is already valid, change nothing."""
    if _is_sorted(container.node):
        return
    order = topological_order(container.node)
    if order is None:
        raise EditError("the rewritten graph has a cycle")
    position = {key_of(container.node[index]): place for place, index in enumerate(order)}
    container.node.sort(key=lambda node: position[key_of(node)])


def _is_sorted(nodes: Sequence[onnx.NodeProto]) -> bool:
    later = {text(name) for node in nodes for name in node.output}
    for node in nodes:
        if any(name in later for name in needs(node)):
            return False
        later.difference_update(map(text, node.output))
    return True


def topological_order(nodes: Sequence[onnx.NodeProto]) -> list[int] | None:
    """Return the indices of nodes in topological order, or None if there is a cycle.

    If several nodes could come next, the function takes the first of them in ``nodes``.
    """
    producer = {text(name): index for index, node in enumerate(nodes) for name in node.output if name}
    before = {
        index: {producer[name] for name in needs(node) if name in producer}
        for index, node in enumerate(nodes)
    }
    sorter = TopologicalSorter(before)
    try:
        sorter.prepare()
    except CycleError:
        return None
    order: list[int] = []
    ready = list(sorter.get_ready())
    heapq.heapify(ready)
    while ready:
        order.append(heapq.heappop(ready))
        sorter.done(order[-1])
        for index in sorter.get_ready():
            heapq.heappush(ready, index)
    return order


def needs(node: onnx.NodeProto) -> Iterator[str]:
    """Yield the names of the tensors that a node and its bodies read from the surrounding graph."""
    yield from (text(name) for name in node.input if name)
    for body in bodies_of(node):
        own = set(defined(body))
        yield from (name for name in _reads(body) if name not in own)


def _raise_opset(proto: onnx.ModelProto, least: int) -> None:
    """Raise the opset of a model to ``least`` if the opset is lower.

    Raises:
        EditError: an operator of the model has a different meaning in opset ``least``.
    """
    for opset in proto.opset_import:
        if not domain_of(opset.domain) and opset.version < least:
            for node in nodes(proto):
                if not domain_of(node.domain) and not same_meaning(node.op_type, opset.version, least):
                    raise EditError(
                        f"the rewrite needs opset {least}, in which {text(node.op_type)} has another "
                        f"meaning than in opset {opset.version} of the model"
                    )
            opset.version = least


def set_opset(proto: onnx.ModelProto, version: int) -> None:
    """Set the opset of the default domain in a model."""
    for opset in proto.opset_import:
        if not domain_of(opset.domain):
            opset.version = version
