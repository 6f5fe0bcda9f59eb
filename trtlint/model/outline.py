"""Make a copy of a model to share with others: without its weights, and optionally without its names.

The copy has the graph, types, shapes and small integer tensors.  So trtlint reports the same findings for the
copy as for the model, except findings that depend on the values of weights.  A removed tensor is marked as
external data at a special location: https://github.com/onnx/onnx/blob/main/docs/ExternalData.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

import onnx
from onnx import defs

from trtlint.files.replace import require_output
from trtlint.model.contents import attributes, graphs, nodes, sparse_tensors, tensors
from trtlint.model.external import set_place
from trtlint.model.operators import TORCH_TENSORRT
from trtlint.model.payload import PAYLOADS
from trtlint.model.protos import NUMBERS, domain_of, text
from trtlint.model.reader import decode, read
from trtlint.model.tensors import LEFT_OUT
from trtlint.model.writer import data_files_of

_KEPT_NUMBERS = 16
"""Largest number of elements of a float tensor that is kept.  Examples are scales, epsilons and limits."""
_KEPT_BYTES = 1024
"""Size in bytes of the largest integer tensor that is kept.  Examples are shapes, axes, starts and ends."""
_WHOLE = frozenset(NUMBERS[name] for name in ("bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"))
_TEXTS = frozenset({"value_string", "value_strings", "stopwords", "pool_strings", "pattern", "delimiter"})
"""ONNX attributes whose texts can have any content.

Texts of the remaining ONNX attributes, such as modes, are kept.
"""
_PUBLIC_PRODUCERS = frozenset(
    {
        "pytorch",
        "tf2onnx",
        "paddlepaddle",
        "paddle2onnx",
        "skl2onnx",
        "onnx.quantize",
        "onnxruntime",
        TORCH_TENSORRT.lower(),
    }
)
"""Values of ``producer_name`` for public exporters, in lower case: Paddle2ONNX writes ``PaddlePaddle``.

Other values can be names of private tools.
"""
_WORD = re.compile(r"[^\W\d_]+")


def require_no_weights(path: Path, out: Path) -> None:
    """Check that an output file is not an external data file of a model.

    Raises:
        SettingError: the output file contains weights of the model.
        ModelError: the file is not a model, or is damaged.
        OSError: the file cannot be read.
    """
    require_output(out, (path.parent / name for name in data_files_of(path)), "the skeleton to")


def outline(path: Path, *, hide_names: bool = False) -> onnx.ModelProto:
    """Return a copy of a model without its weights.

    Args:
        path: the model; its weights are not read.
        hide_names: whether to replace each word in names by a made-up word, and to remove texts and metadata.
            The types of operators, including custom operators, are not changed.

    Raises:
        ModelError: the file is not a model, or is damaged.
        OSError: the file cannot be read.
    """
    model = decode(read(path, whole=True).data)
    del model.training_info[:]
    for tensor in _with_elements(model):
        _empty(tensor)
    for attribute in attributes(model):
        if len(attribute.floats) > _KEPT_NUMBERS:
            del attribute.floats[:]
    if hide_names:
        _NameHider().hide(model)
    return model


def _empty(tensor: onnx.TensorProto) -> None:
    """Remove the elements of a tensor if they may be weights."""
    count = math.prod(max(dim, 0) for dim in tensor.dims)
    stored = sum(len(getattr(tensor, field)) for field in PAYLOADS)
    inline = tensor.data_location != onnx.TensorProto.EXTERNAL
    whole = tensor.data_type in _WHOLE and stored <= _KEPT_BYTES
    if inline and tensor.data_type != onnx.TensorProto.STRING and (whole or count <= _KEPT_NUMBERS):
        return
    for field in PAYLOADS:
        tensor.ClearField(field)
    set_place(tensor, LEFT_OUT)


def _with_elements(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Yield the tensors whose elements may be weights: all tensors except indices of sparse tensors."""
    yield from tensors(model)
    for sparse in sparse_tensors(model):
        yield sparse.values


class _NameHider:
    """Replaces words in names.  Equal words get equal replacements.

    Digits and separators do not change.
    """

    def __init__(self) -> None:
        self._words: dict[str, str] = {name: name for name in _operators()}

    def hide(self, model: onnx.ModelProto) -> None:
        functions = {(function.domain, function.name) for function in model.functions}
        model.ClearField("doc_string")
        del model.metadata_props[:]
        if text(model.producer_name).lower() not in _PUBLIC_PRODUCERS:
            model.producer_name = self.name(model.producer_name)
            model.ClearField("producer_version")
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
        return _WORD.sub(lambda found: self._word(found[0]), text(name))

    def _word(self, word: str) -> str:
        if word not in self._words:
            number, letters = len(self._words), ""
            while number:
                number, letter = divmod(number, 26)
                letters += chr(ord("a") + letter)
            self._words[word] = f"w{letters}"
        return self._words[word]

    def _hide_name(
        self, part: onnx.GraphProto | onnx.FunctionProto | onnx.ValueInfoProto | onnx.NodeProto
    ) -> None:
        """Hide the name of a part of the model, and remove its texts and metadata."""
        part.ClearField("doc_string")
        del part.metadata_props[:]
        part.name = self.name(part.name)

    def _graph(self, graph: onnx.GraphProto) -> None:
        self._hide_name(graph)
        for value in (*graph.input, *graph.output, *graph.value_info):
            self._value(value)
        for annotation in graph.quantization_annotation:
            annotation.tensor_name = self.name(annotation.tensor_name)
            for entry in annotation.quant_parameter_tensor_names:
                entry.value = self.name(entry.value)

    def _function(self, function: onnx.FunctionProto) -> None:
        self._hide_name(function)
        for names in (function.input, function.output):
            names[:] = [self.name(name) for name in names]
        function.attribute[:] = [self.name(name) for name in function.attribute]
        for default in function.attribute_proto:
            default.ClearField("doc_string")
            default.name = self.name(default.name)
            self._values(default)
        for value in function.value_info:
            self._value(value)

    def _value(self, value: onnx.ValueInfoProto) -> None:
        self._hide_name(value)
        self._type(value.type)

    def _type(self, type_: onnx.TypeProto) -> None:
        """Hide the names of dimensions in a type, and in the types of the elements of a sequence or map."""
        for inner in (
            type_.sequence_type.elem_type,
            type_.optional_type.elem_type,
            type_.map_type.value_type,
        ):
            if inner.WhichOneof("value") is not None:
                self._type(inner)
        for dim in (*type_.tensor_type.shape.dim, *type_.sparse_tensor_type.shape.dim):
            dim.ClearField("denotation")
            if dim.HasField("dim_param"):
                dim.dim_param = self.name(dim.dim_param)

    def _node(self, node: onnx.NodeProto, *, called: bool) -> None:
        self._hide_name(node)
        if called:
            node.op_type = self.name(node.op_type)
        for names in (node.input, node.output):
            names[:] = [self.name(name) for name in names]
        for attribute in node.attribute:
            attribute.ClearField("doc_string")
            if attribute.ref_attr_name:  # a parameter of the function that contains the node
                attribute.ref_attr_name = self.name(attribute.ref_attr_name)
            for type_ in (attribute.tp, *attribute.type_protos):
                self._type(type_)
            if called or domain_of(node.domain) or attribute.name in _TEXTS:
                self._values(attribute)
            if called:
                attribute.name = self.name(attribute.name)

    def _values(self, attribute: onnx.AttributeProto) -> None:
        """Remove the texts in an attribute."""
        if attribute.HasField("s"):
            attribute.s = b""
        del attribute.strings[:]


def _operators() -> frozenset[str]:
    """Return the words in the names of ONNX operators.

    These words are not replaced, because exporters use them in the names of nodes.
    """
    return frozenset(word for schema in defs.get_all_schemas() for word in _WORD.findall(schema.name))
