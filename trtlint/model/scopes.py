"""What bodies of ``If``, ``Loop`` and ``Scan`` take from the graphs around them, told to shape inference.

ONNX's inference does not look outwards for the elements of a stored tensor, such as the axes of a
reduction, and it says nothing of the shape of what a ``Loop`` carries, because ONNX lets it change from
one iteration to the next: an iteration that starts with the shape of the initial value shows whether it
does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableSequence
from dataclasses import field

import onnx

from trtlint.lean import dataclass
from trtlint.model.protos import bodies, text

_CARRIED = 2
"""Inputs of a ``Loop``, and of its body, before the carried ones."""
_MOST_BYTES = 1024
"""Stored tensors of at most so many bytes are told: axes, shapes and the like."""
_MOST_TOLD = 10_000
"""Stored tensors that are told in all, so that no file makes this long."""


@dataclass(slots=True)
class _Outer:
    """What is known of the values around a body, by name."""

    types: Mapping[str, onnx.TypeProto] = field(default_factory=dict)
    stored: Mapping[str, onnx.TensorProto] = field(default_factory=dict)


def tell_bodies(model: onnx.ModelProto) -> bool:
    """Tell the bodies of a model what they take from around; whether there was anything to tell.

    Names of values must be unique in the whole model (:mod:`trtlint.model.unique_names`).  The model is for
    inference then: :func:`forget` takes out what is none of its own.
    """
    return _Teller().graph(model.graph, _Outer())


class _Teller:
    def __init__(self) -> None:
        self._left = _MOST_TOLD

    def graph(self, graph: onnx.GraphProto, outer: _Outer) -> bool:
        known = _Outer({**outer.types, **_types(graph)}, {**outer.stored, **dict(_stored(graph))})
        told = False
        for node in graph.node:
            for attribute in node.attribute:
                for body in bodies(attribute):
                    if node.op_type == "Loop" and not node.domain:
                        told |= _carry(node, body, known.types)
                    # Inner bodies first: they are told by name, not through the one around them.
                    told |= self.graph(body, known)
                    told |= self._tell(body, known.stored)
        return told

    def _tell(self, body: onnx.GraphProto, stored: Mapping[str, onnx.TensorProto]) -> bool:
        own = {text(name) for node in body.node for name in node.output}
        own.update(text(value.name) for value in body.input)
        own.update(text(tensor.name) for tensor in body.initializer)
        read = dict.fromkeys(text(name) for node in body.node for name in node.input)
        wanted = [stored[name] for name in read if name in stored and name not in own][: self._left]
        self._left -= len(wanted)
        for tensor in wanted:
            body.initializer.add().CopyFrom(tensor)
            body.initializer[-1].doc_string = _TOLD
        return bool(wanted)


_TOLD = "\0"
"""Marks a tensor that a body was told; no file's documentation is this."""


def forget(graph: onnx.GraphProto) -> None:
    """Take the tensors out that bodies were told."""
    for node in graph.node:
        for attribute in node.attribute:
            for body in bodies(attribute):
                _drop(body.initializer)
                forget(body)


def _drop(tensors: MutableSequence[onnx.TensorProto]) -> None:
    for position in reversed(range(len(tensors))):
        if tensors[position].doc_string == _TOLD:
            del tensors[position]


def _carry(node: onnx.NodeProto, body: onnx.GraphProto, types: Mapping[str, onnx.TypeProto]) -> bool:
    """Give what a Loop carries the type of what it starts with, where its rank is not known."""
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
    """The small tensors that a graph stores, as initializers and in Constant operators."""
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
