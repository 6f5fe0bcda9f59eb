"""Copy values of outer graphs into the bodies of ``If``, ``Loop`` and ``Scan``, for shape inference.

ONNX's inference does not look up stored tensors of outer graphs, such as the axes of a reduction.  A ``Loop``
passes values from one iteration to the next.  ONNX's inference infers no shape for these values, because ONNX
allows the shape to change.  Here, each of these values gets the shape of its initial value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableSequence

import onnx
from msgspec import Struct, field

from trtlint.model.protos import bodies_of, text

_CARRIED = 2
"""Number of inputs of a ``Loop`` that come before its loop-carried values.

The body of the loop has the same number of inputs before these values.
"""
_MOST_BYTES = 1024
"""Size in bytes of the largest stored tensor that is copied.  Axes and shapes are examples."""
_MOST_COPIES = 10_000
"""Limit of copies in one model, to bound the time."""


class _OuterGraphs(Struct):
    """The types and the stored tensors of values in the graphs around a body.  Keys are value names."""

    types: Mapping[str, onnx.TypeProto] = field(default_factory=dict)
    stored: Mapping[str, onnx.TensorProto] = field(default_factory=dict)


def add_outer_values(model: onnx.ModelProto) -> bool:
    """Copy stored tensors of outer graphs into bodies.  Return whether the model changed.

    Names of values must be unique in the whole model (:mod:`trtlint.model.unique_names`).  Use the changed
    model only for inference.  :func:`remove_outer_values` removes the copies.
    """
    return _OuterValues().graph(model.graph, _OuterGraphs())


class _OuterValues:
    def __init__(self) -> None:
        self._left = _MOST_COPIES

    def graph(self, graph: onnx.GraphProto, outer: _OuterGraphs) -> bool:
        known = _OuterGraphs({**outer.types, **_types(graph)}, {**outer.stored, **dict(_stored(graph))})
        added = False
        for node in graph.node:
            for body in bodies_of(node):
                if node.op_type == "Loop" and not node.domain:
                    added |= _carry(node, body, known.types)
                # Visit inner bodies first: they get copies from `known`, not from the copies in `body`.
                added |= self.graph(body, known)
                added |= self._copy(body, known.stored)
        return added

    def _copy(self, body: onnx.GraphProto, stored: Mapping[str, onnx.TensorProto]) -> bool:
        own = {text(name) for node in body.node for name in node.output}
        own.update(text(value.name) for value in body.input)
        own.update(text(tensor.name) for tensor in body.initializer)
        read = dict.fromkeys(text(name) for node in body.node for name in node.input)
        wanted = [stored[name] for name in read if name in stored and name not in own][: self._left]
        self._left -= len(wanted)
        for tensor in wanted:
            body.initializer.add().CopyFrom(tensor)
            body.initializer[-1].doc_string = _COPY_MARK
        return bool(wanted)


_COPY_MARK = "\0"
"""``doc_string`` that marks a copied tensor.  No real doc string is a single NUL."""


def remove_outer_values(graph: onnx.GraphProto) -> None:
    """Remove the tensors that :func:`add_outer_values` copied into bodies."""
    for node in graph.node:
        for body in bodies_of(node):
            _drop(body.initializer)
            remove_outer_values(body)


def _drop(tensors: MutableSequence[onnx.TensorProto]) -> None:
    for position in reversed(range(len(tensors))):
        if tensors[position].doc_string == _COPY_MARK:
            del tensors[position]


def _carry(node: onnx.NodeProto, body: onnx.GraphProto, types: Mapping[str, onnx.TypeProto]) -> bool:
    """Copy the types of a ``Loop``'s initial values to the loop-carried inputs of its body.

    An input that already has a declared shape keeps its type.  Return whether a type was copied.
    """
    carried = False
    starts = map(text, node.input[_CARRIED:])
    for start, inner in zip(starts, body.input[_CARRIED:], strict=False):
        if start in types and not inner.type.tensor_type.HasField("shape"):
            inner.type.CopyFrom(types[start])
            carried = True
    return carried


def _types(graph: onnx.GraphProto) -> dict[str, onnx.TypeProto]:
    found = {
        text(info.name): info.type
        for info in (*graph.input, *graph.value_info)
        if info.type.tensor_type.HasField("shape")
    }
    for tensor in graph.initializer:
        found[text(tensor.name)] = onnx.helper.make_tensor_type_proto(tensor.data_type, tensor.dims)
    return found


def _stored(graph: onnx.GraphProto) -> Iterator[tuple[str, onnx.TensorProto]]:
    """Yield each small initializer and Constant of a graph as a pair: its name and its tensor."""
    for tensor in graph.initializer:
        if tensor.ByteSize() <= _MOST_BYTES:
            yield text(tensor.name), tensor
    for node in graph.node:
        if node.op_type == "Constant" and not node.domain and node.output:
            for attribute in node.attribute:
                tensor = onnx.TensorProto()
                if attribute.name == "value" and attribute.t.ByteSize() <= _MOST_BYTES:
                    tensor.CopyFrom(attribute.t)
                elif attribute.name == "value_ints" and len(attribute.ints) <= _MOST_BYTES // 8:
                    tensor = onnx.helper.make_tensor(
                        "", onnx.TensorProto.INT64, [len(attribute.ints)], attribute.ints
                    )
                elif attribute.name == "value_int":
                    tensor = onnx.helper.make_tensor("", onnx.TensorProto.INT64, [], [attribute.i])
                else:
                    continue
                tensor.name = text(node.output[0])
                yield text(tensor.name), tensor
