"""Equivalent copies of a model with other names and another node order."""

from __future__ import annotations

import random
from collections.abc import Iterator

import onnx


def renamed(model: onnx.ModelProto, seed: int) -> onnx.ModelProto:
    """Return a copy with other names for all nodes and values, and the same metadata."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    names = sorted({name for graph in graphs(copy.graph) for name in _names(graph) if name})
    others = [f"v{number}" for number in range(len(names))]
    random.Random(seed).shuffle(others)
    new = {"": "", **dict(zip(names, others, strict=True))}
    number = 0
    for graph in graphs(copy.graph):
        for node in graph.node:
            number += 1
            node.name = f"n{(number * 7919 + seed) % 1_000_003}"
            node.input[:] = [new[name] for name in node.input]
            node.output[:] = [new[name] for name in node.output]
        every: list[onnx.TensorProto | onnx.ValueInfoProto] = [
            *graph.initializer,
            *graph.input,
            *graph.output,
            *graph.value_info,
        ]
        for named in every:
            named.name = new.get(named.name, named.name)
        for sparse in graph.sparse_initializer:
            sparse.values.name = new[sparse.values.name]
    return copy


def reordered(model: onnx.ModelProto, seed: int) -> onnx.ModelProto:
    """Return a copy with its nodes in another topological order and shuffled initializers."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    chance = random.Random(seed)
    for graph in graphs(copy.graph):
        _shuffle(graph, chance)
    return copy


def graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """Yield a graph and the bodies of its nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for body in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                yield from graphs(body)


def _names(graph: onnx.GraphProto) -> Iterator[str]:
    for node in graph.node:
        yield from node.input
        yield from node.output
    every: list[onnx.TensorProto | onnx.ValueInfoProto] = [*graph.initializer, *graph.input, *graph.output]
    for named in every:
        yield named.name
    for sparse in graph.sparse_initializer:
        yield sparse.values.name


def _reads(node: onnx.NodeProto) -> Iterator[str]:
    """Return the inputs of a node, including those of its bodies."""
    yield from node.input
    for attribute in node.attribute:
        for body in [attribute.g] if attribute.HasField("g") else attribute.graphs:
            for inner in graphs(body):
                for other in inner.node:
                    yield from other.input
                for output in inner.output:
                    yield output.name


def _shuffle(graph: onnx.GraphProto, chance: random.Random) -> None:
    made = {name for node in graph.node for name in node.output}
    waiting = list(graph.node)
    done: set[str] = set()
    order = []
    needs = {id(node): {name for name in _reads(node) if name in made} - set(node.output) for node in waiting}
    while waiting:
        ready = [node for node in waiting if needs[id(node)] <= done]
        chance.shuffle(ready)
        taken = ready[: chance.randint(1, len(ready))]
        order += taken
        done.update(name for node in taken for name in node.output)
        chosen = {id(node) for node in taken}
        waiting = [node for node in waiting if id(node) not in chosen]
    copies = []
    for node in order:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copies.append(copy)
    tensors = list(graph.initializer)
    chance.shuffle(tensors)
    kept = []
    for tensor in tensors:
        other = onnx.TensorProto()
        other.CopyFrom(tensor)
        kept.append(other)
    del graph.node[:], graph.initializer[:]
    graph.node.extend(copies)
    graph.initializer.extend(kept)
