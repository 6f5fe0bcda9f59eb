"""All that a model holds, wherever it lies: in its graph, in the bodies of operators, in its functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx


def graphs(model: onnx.ModelProto) -> Iterator[onnx.GraphProto]:
    """The graph, and the bodies in it and in the functions."""
    waiting = [model.graph]
    waiting += (body for function in model.functions for body in _bodies(function.node))
    while waiting:
        graph = waiting.pop()
        yield graph
        waiting += _bodies(graph.node)


def nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """The operators."""
    for graph in graphs(model):
        yield from graph.node
    for function in model.functions:
        yield from function.node


def attributes(model: onnx.ModelProto) -> Iterator[onnx.AttributeProto]:
    """What operators are given, and what functions give them where nothing else is said."""
    for node in nodes(model):
        yield from node.attribute
    for function in model.functions:
        yield from function.attribute_proto


def tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """The stored tensors, sparse ones apart."""
    for graph in graphs(model):
        yield from graph.initializer
    for attribute in attributes(model):
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors


def sparse_tensors(model: onnx.ModelProto) -> Iterator[onnx.SparseTensorProto]:
    """The stored sparse tensors."""
    for graph in graphs(model):
        yield from graph.sparse_initializer
    for attribute in attributes(model):
        if attribute.HasField("sparse_tensor"):
            yield attribute.sparse_tensor
        yield from attribute.sparse_tensors


def all_tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """The stored tensors, and the two that each sparse one consists of."""
    yield from tensors(model)
    for sparse in sparse_tensors(model):
        yield sparse.values
        yield sparse.indices


def _bodies(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.GraphProto]:
    # Whatever type an attribute claims to have: nothing in it may be passed over.
    for node in nodes:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield attribute.g
            yield from attribute.graphs
