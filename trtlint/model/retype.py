"""Derive the element types of values from the operators, not from the declared types.

Some converters leave wrong declared types.  For example, after a conversion to FP16, the output of a
``Cast(to=FLOAT)`` may be declared as FLOAT16.  TensorRT does not read these declared types.

https://github.com/microsoft/onnxconverter-common/blob/master/onnxconverter_common/float16.py
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import onnx
from onnx import defs

from trtlint.model.graph import Graph, Node, Value
from trtlint.model.operators import ONNX_RUNTIME
from trtlint.model.protos import DTYPES, ElementType
from trtlint.model.schemas import schema_at

_NAMES: Mapping[str, ElementType] = {
    **{onnx.TensorProto.DataType.Name(number).lower(): short for number, short in DTYPES.items()},
    "string": "str",
}
"""A mapping of the names of element types in ONNX's schemas to their short names."""


class _TypeSource(NamedTuple):
    """The source of an output's element type: a fixed type, some inputs, or an attribute."""

    dtype: ElementType | None = None
    ports: tuple[int, ...] = ()
    attribute: str = ""
    default: ElementType | None = None


_UNKNOWN = _TypeSource()
_BY_ATTRIBUTE: Mapping[str, _TypeSource] = {
    "Cast": _TypeSource(attribute="to"),
    "RandomNormal": _TypeSource(attribute="dtype", default="f32"),
    "RandomUniform": _TypeSource(attribute="dtype", default="f32"),
    "RandomNormalLike": _TypeSource(attribute="dtype", ports=(0,)),
    "RandomUniformLike": _TypeSource(attribute="dtype", ports=(0,)),
    "EyeLike": _TypeSource(attribute="dtype", ports=(0,)),
    "Bernoulli": _TypeSource(attribute="dtype", ports=(0,)),
    "Multinomial": _TypeSource(attribute="dtype", default="i32"),
    "BlackmanWindow": _TypeSource(attribute="output_datatype", default="f32"),
    "HammingWindow": _TypeSource(attribute="output_datatype", default="f32"),
    "HannWindow": _TypeSource(attribute="output_datatype", default="f32"),
    "QuantizeLinear": _TypeSource(attribute="output_dtype", ports=(2,), default="u8"),
    "DequantizeLinear": _TypeSource(attribute="output_dtype", ports=(1,)),
}
"""Operators whose result type is in an attribute.

If the attribute is absent, the type comes from an input or is a default.
"""
_OF_VALUE = frozenset({"Constant", "ConstantOfShape"})
"""Operators with a tensor in the attribute ``value``.  The result has the type of this tensor."""

_FUSED: Mapping[str, int] = {
    **dict.fromkeys(("Gelu", "BiasGelu", "FastGelu", "QuickGelu"), 0),
    **dict.fromkeys(("FusedMatMul", "TransposeMatMul", "FusedConv", "FusedGemm", "NhwcConv"), 0),
    **dict.fromkeys(("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"), 0),
    **dict.fromkeys(("GroupNorm", "SkipGroupNorm", "RotaryEmbedding", "MultiHeadAttention", "Attention"), 0),
    "EmbedLayerNormalization": 2,
}
"""ONNX Runtime operators, each with the index of the input that determines the type of the first result:
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

_EARLY = frozenset({"LayerNormalization", "SimplifiedLayerNormalization"})
"""Operators that ONNX Runtime puts into ONNX's domain, even in opsets in which ONNX lacks them."""


def retype(graph: Graph, opset: int) -> None:
    """Set the element types of values in a graph to the types that the operators imply."""
    for node in graph.nodes:
        if node.domain or node.op in _EARLY:
            _retype_fused(node)
            continue
        if node.op == "If":
            _retype_branches(graph, node)
            continue
        if node.op in _OF_VALUE:
            proto = node.attribute("value")
            if isinstance(proto, onnx.TensorProto) and proto.data_type in DTYPES:
                node.outputs[0].set_dtype(DTYPES[proto.data_type])
            continue
        for source, value in zip(_type_sources(node.op, opset), node.outputs, strict=False):
            dtype = None if source is _UNKNOWN else _dtype(node, source)
            if dtype is not None and dtype != value.dtype:
                value.set_dtype(dtype)


def _retype_fused(node: Node) -> None:
    """Set the output type of a fused ONNX Runtime operator to the type of one of its inputs."""
    port = 0 if node.op in _EARLY else _FUSED.get(node.op) if node.domain == ONNX_RUNTIME else None
    if port is not None and node.outputs and node.output.dtype is None:
        first = node.input(port)
        if first is not None and first.dtype is not None:
            node.output.set_dtype(first.dtype)


def contradictions(graph: Graph) -> list[tuple[Value, str]]:
    """Return the values with a wrong declared type, each with the wrong type.

    A declared type is wrong if the operators imply another type.
    """
    found: list[tuple[Value, str]] = []
    for name, type_ in graph.declared.items():
        declared = DTYPES.get(type_.tensor_type.elem_type)
        if declared is None:
            continue
        value = graph.resolve(name)
        if value is not None and value.dtype not in (None, declared):
            found.append((value, declared))
    return found


def _retype_branches(graph: Graph, node: Node) -> None:
    body = graph.bodies(node).get("then_branch")
    if body is not None:
        for inner, value in zip(body.outputs, node.outputs, strict=False):
            if inner.dtype is not None:
                value.set_dtype(inner.dtype)


def _dtype(node: Node, source: _TypeSource) -> ElementType | None:
    if source.dtype is not None:
        return source.dtype
    if source.attribute:
        named = DTYPES.get(node.attribute(source.attribute, 0))
        if named is not None:
            return named
    for port in source.ports:
        value = node.input(port)
        if value is not None:
            return value.dtype
    return source.default


@cache
def _type_sources(op: str, opset: int) -> tuple[_TypeSource, ...]:
    """Return, for each output of an operator, where its element type comes from.

    The source follows ONNX's definition of the operator.
    """
    if op in _BY_ATTRIBUTE:
        return (_BY_ATTRIBUTE[op],)
    if op in ("Loop", "Scan", "LayerNormalization"):
        return ()
    try:
        schema = schema_at(op, opset)
    except defs.SchemaError:
        return ()
    allowed = {c.type_param_str: tuple(c.allowed_type_strs) for c in schema.type_constraints}
    ports: dict[str, list[int]] = {}
    for port, formal in enumerate(schema.inputs):
        ports.setdefault(formal.type_str, []).append(port)
    found = []
    for formal in schema.outputs:
        kinds = allowed.get(formal.type_str, (formal.type_str,))
        if len(kinds) == 1:
            dtype = _NAMES.get(kinds[0].removeprefix("tensor(").removesuffix(")"))
            found.append(_UNKNOWN if dtype is None else _TypeSource(dtype=dtype))
        elif formal.type_str in ports:
            found.append(_TypeSource(ports=tuple(ports[formal.type_str])))
        else:
            found.append(_UNKNOWN)
    many = schema.outputs and schema.outputs[-1].option == defs.OpSchema.FormalParameterOption.Variadic
    # The last output can be variadic, as in Split. All further outputs then have the same source.
    return (*found, *found[-1:] * 255) if many else tuple(found)
