"""Iterate over all parts of a model: the main graph, the bodies of operators, and the functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx


def graphs(model: onnx.ModelProto) -> Iterator[onnx.GraphProto]:
    """Yield the main graph, and all bodies of operators in the main graph and in functions."""
    waiting = [model.graph]
    waiting += (body for function in model.functions for body in _bodies(function.node))
    while waiting:
        graph = waiting.pop()
        yield graph
        waiting += _bodies(graph.node)


def nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """Yield the nodes of the main graph, of bodies and of functions."""
    for graph in graphs(model):
        yield from graph.node
    for function in model.functions:
        yield from function.node


def attributes(model: onnx.ModelProto) -> Iterator[onnx.AttributeProto]:
    """Yield the attributes of all nodes, and the default attributes of functions."""
    for node in nodes(model):
        yield from node.attribute
    for function in model.functions:
        yield from function.attribute_proto


def tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Yield the initializers and the tensors in attributes, except sparse tensors."""
    for graph in graphs(model):
        yield from graph.initializer
    for attribute in attributes(model):
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors


def sparse_tensors(model: onnx.ModelProto) -> Iterator[onnx.SparseTensorProto]:
    """Yield the sparse initializers and the sparse tensors in attributes."""
    for graph in graphs(model):
        yield from graph.sparse_initializer
    for attribute in attributes(model):
        if attribute.HasField("sparse_tensor"):
            yield attribute.sparse_tensor
        yield from attribute.sparse_tensors


def all_tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Yield the dense stored tensors, and the values and indices of each sparse tensor."""
    yield from tensors(model)
    for sparse in sparse_tensors(model):
        yield sparse.values
        yield sparse.indices


def reads(node: onnx.NodeProto) -> Iterator[str]:
    """Yield the names of the values that a node reads, including values that its bodies read."""
    yield from filter(None, node.input)
    for body in _bodies([node]):
        own = {value.name for value in body.input} | {tensor.name for tensor in body.initializer}
        own.update(name for inner in body.node for name in inner.output)
        yield from (name for inner in body.node for name in reads(inner) if name not in own)
        yield from (value.name for value in body.output if value.name not in own)


def _bodies(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.GraphProto]:
    # Do not use the declared type of an attribute: if the type is wrong, the search would skip a body.
    for node in nodes:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield attribute.g
            yield from attribute.graphs
