"""A model without its weights, and without its names if need be: what one can show to others.

The graph, its types and shapes, and small tensors of whole numbers stay, so that what trtlint says of the
copy is what it says of the model, apart from what hangs on values of weights.  A tensor that was left out
is written as external data at a location of its own:
https://github.com/onnx/onnx/blob/main/docs/ExternalData.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import onnx
from onnx import defs

from trtlint.model.contents import attributes, graphs, nodes, sparse_tensors, tensors
from trtlint.model.protos import domain_of, text
from trtlint.model.reader import decode, read
from trtlint.model.tensors import LEFT_OUT

_KEPT_NUMBERS = 16
"""Elements of a tensor of floats that stays: scales, epsilons, limits."""
_KEPT_BYTES = 1024
"""Bytes of a tensor of whole numbers that stays: shapes, axes, starts and ends."""
_WHOLE = frozenset(
    {
        onnx.TensorProto.BOOL,
        onnx.TensorProto.INT8,
        onnx.TensorProto.INT16,
        onnx.TensorProto.INT32,
        onnx.TensorProto.INT64,
        onnx.TensorProto.UINT8,
        onnx.TensorProto.UINT16,
        onnx.TensorProto.UINT32,
        onnx.TensorProto.UINT64,
    }
)
_PAYLOADS = (
    "raw_data", "float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data",
)  # fmt: skip
_WORD = re.compile(r"[^\W\d_]+")


def outline(path: Path, *, hide_names: bool = False) -> onnx.ModelProto:
    """A model without its weights.

    Args:
        path: the model; its weights are not read.
        hide_names: whether words in names are replaced by others, each by the same throughout, and texts
            and metadata left out.  Names of operators stay, also of those that are not ONNX's.

    Raises:
        ModelError: the file is no model, or damaged.
        OSError: it cannot be read.
    """
    model = decode(read(path, whole=True).data)
    del model.training_info[:]
    for tensor in _with_elements(model):
        _empty(tensor)
    for attribute in attributes(model):
        if len(attribute.floats) > _KEPT_NUMBERS:
            del attribute.floats[:]
    if hide_names:
        _Names().hide(model)
    return model


def _empty(tensor: onnx.TensorProto) -> None:
    """Take the elements out of a tensor that may be weights."""
    count = 1
    for dim in tensor.dims:
        count *= max(dim, 0)
    stored = sum(len(getattr(tensor, field)) for field in _PAYLOADS)
    inline = tensor.data_location != onnx.TensorProto.EXTERNAL
    whole = tensor.data_type in _WHOLE and stored <= _KEPT_BYTES
    if inline and tensor.data_type != onnx.TensorProto.STRING and (whole or count <= _KEPT_NUMBERS):
        return
    for field in _PAYLOADS:
        tensor.ClearField(field)
    tensor.data_location = onnx.TensorProto.EXTERNAL
    del tensor.external_data[:]
    tensor.external_data.add(key="location", value=LEFT_OUT)


def _with_elements(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """The tensors whose elements may be weights; where a sparse one has its elements stays."""
    yield from tensors(model)
    for sparse in sparse_tensors(model):
        yield sparse.values


class _Names:
    """Other words for those in names, each the same throughout; numbers and what is between them stay."""

    def __init__(self) -> None:
        self._words: dict[str, str] = {name: name for name in _operators()}

    def hide(self, model: onnx.ModelProto) -> None:
        """Replace the names of a model, and leave out its texts and metadata."""
        functions = {(function.domain, function.name) for function in model.functions}
        model.ClearField("doc_string")
        del model.metadata_props[:]
        for graph in graphs(model):
            self._graph(graph)
        for function in model.functions:
            self._function(function)
        for node in nodes(model):
            self._node(node, called=(node.domain, node.op_type) in functions)
        for tensor in _with_elements(model):
            tensor.ClearField("doc_string")
            tensor.name = self.name(tensor.name)

    def name(self, name: str) -> str:
        """The other name for a name."""
        return _WORD.sub(lambda found: self._word(found[0]), text(name))

    def _word(self, word: str) -> str:
        if word not in self._words:
            number, letters = len(self._words), ""
            while number:
                number, letter = divmod(number, 26)
                letters += chr(ord("a") + letter)
            self._words[word] = f"w{letters}"
        return self._words[word]

    def _graph(self, graph: onnx.GraphProto) -> None:
        graph.ClearField("doc_string")
        del graph.metadata_props[:]
        graph.name = self.name(graph.name)
        for value in (*graph.input, *graph.output, *graph.value_info):
            self._value(value)
        for annotation in graph.quantization_annotation:
            annotation.tensor_name = self.name(annotation.tensor_name)
            for entry in annotation.quant_parameter_tensor_names:
                entry.value = self.name(entry.value)

    def _function(self, function: onnx.FunctionProto) -> None:
        function.ClearField("doc_string")
        del function.metadata_props[:]
        function.name = self.name(function.name)
        for names in (function.input, function.output):
            names[:] = [self.name(name) for name in names]
        for value in function.value_info:
            self._value(value)

    def _value(self, value: onnx.ValueInfoProto) -> None:
        value.ClearField("doc_string")
        del value.metadata_props[:]
        value.name = self.name(value.name)
        for dim in value.type.tensor_type.shape.dim:
            dim.ClearField("denotation")
            if dim.HasField("dim_param"):
                dim.dim_param = self.name(dim.dim_param)

    def _node(self, node: onnx.NodeProto, *, called: bool) -> None:
        node.ClearField("doc_string")
        del node.metadata_props[:]
        node.name = self.name(node.name)
        if called:
            node.op_type = self.name(node.op_type)
        for names in (node.input, node.output):
            names[:] = [self.name(name) for name in names]
        for attribute in node.attribute:
            attribute.ClearField("doc_string")
            if called or domain_of(node.domain):
                if attribute.HasField("s"):
                    attribute.s = b""
                del attribute.strings[:]


def _operators() -> frozenset[str]:
    """The words in names of ONNX's operators, which exporters write into names of nodes."""
    return frozenset(word for schema in defs.get_all_schemas() for word in _WORD.findall(schema.name))
