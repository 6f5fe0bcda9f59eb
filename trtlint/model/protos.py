"""Convert parts of ONNX messages to Python data: element types, dimensions, names, bodies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import onnx

ElementType = Literal[
    "f32", "u8", "i8", "u16", "i16", "i32", "i64", "str", "bool", "f16", "f64", "u32", "u64", "c64", "c128",
    "bf16", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "u4", "i4", "f4e2m1",
]  # fmt: skip
"""Short names of the ONNX element types, for reports and rules."""

NOT_TENSORS: Mapping[str, str] = {
    "sequence_type": "sequence",
    "map_type": "map",
    "optional_type": "optional",
    "sparse_tensor_type": "sparse tensor",
}
"""Names of the types that are not plain tensors, by field of a TypeProto."""

DTYPES: Mapping[int, ElementType] = {
    onnx.TensorProto.FLOAT: "f32",
    onnx.TensorProto.UINT8: "u8",
    onnx.TensorProto.INT8: "i8",
    onnx.TensorProto.UINT16: "u16",
    onnx.TensorProto.INT16: "i16",
    onnx.TensorProto.INT32: "i32",
    onnx.TensorProto.INT64: "i64",
    onnx.TensorProto.STRING: "str",
    onnx.TensorProto.BOOL: "bool",
    onnx.TensorProto.FLOAT16: "f16",
    onnx.TensorProto.DOUBLE: "f64",
    onnx.TensorProto.UINT32: "u32",
    onnx.TensorProto.UINT64: "u64",
    onnx.TensorProto.COMPLEX64: "c64",
    onnx.TensorProto.COMPLEX128: "c128",
    onnx.TensorProto.BFLOAT16: "bf16",
    onnx.TensorProto.FLOAT8E4M3FN: "f8e4m3fn",
    onnx.TensorProto.FLOAT8E4M3FNUZ: "f8e4m3fnuz",
    onnx.TensorProto.FLOAT8E5M2: "f8e5m2",
    onnx.TensorProto.FLOAT8E5M2FNUZ: "f8e5m2fnuz",
    onnx.TensorProto.UINT4: "u4",
    onnx.TensorProto.INT4: "i4",
    onnx.TensorProto.FLOAT4E2M1: "f4e2m1",
}
"""A mapping of element types, as numbers of ``TensorProto.DataType``, to their short names."""

NUMBERS: Mapping[str, int] = {short: number for number, short in DTYPES.items()}
"""A mapping of short names of element types to numbers of ``TensorProto.DataType``."""

MOST_DIMENSIONS = 64
"""Limit of dimensions of a tensor.  TensorRT allows 8, NumPy 64."""

FLOAT_DTYPES = frozenset({"f16", "bf16", "f32", "f64"})

Dimension = int | str | None
"""A dimension: a number, the name of a dynamic dimension, or None if unknown."""

_MAY_HOLD_GRAPHS = frozenset(
    {onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS, onnx.AttributeProto.UNDEFINED}
)


def text(name: str | bytes) -> str:
    """Return a name as text.

    For a name that is not valid UTF-8, protobuf returns bytes.
    """
    return name if isinstance(name, str) else name.decode("utf-8", "backslashreplace")


def domain_of(name: str | bytes) -> str:
    """Return the name of an operator domain.  ONNX's domain is ``""``, also if given as ``"ai.onnx"``."""
    return "" if name == "ai.onnx" else text(name)


FunctionKey = tuple[str, str, str]
"""The domain, name and overload of a model-local function."""


def function_key(proto: onnx.FunctionProto | onnx.NodeProto) -> FunctionKey:
    """Return the key of a function, from its definition or from a call."""
    name = proto.name if isinstance(proto, onnx.FunctionProto) else proto.op_type
    return domain_of(proto.domain), text(name), text(proto.overload)


def functions_of(proto: onnx.ModelProto) -> dict[FunctionKey, onnx.FunctionProto]:
    """Return the model-local functions of a model by key.

    If several functions have the same key, the result contains the first of them.
    """
    return {function_key(function): function for function in reversed(proto.functions)}


def opsets(proto: onnx.ModelProto | onnx.FunctionProto) -> dict[str, int]:
    """Return, for each domain that a model or function imports, the opset version."""
    return {domain_of(entry.domain): entry.version for entry in proto.opset_import}


def bodies(attribute: onnx.AttributeProto) -> Iterable[onnx.GraphProto]:
    """Return the graphs in an attribute.

    The type of the attribute is not used, because files before IR version 2 do not declare it.
    """
    if attribute.type not in _MAY_HOLD_GRAPHS:
        return ()
    return [attribute.g] if attribute.HasField("g") else attribute.graphs


def bodies_of(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """Yield the graphs in the attributes of a node, without graphs that are nested in these graphs."""
    for attribute in node.attribute:
        yield from bodies(attribute)


def defined(graph: onnx.GraphProto) -> Iterator[str]:
    """Yield the names of the values that a graph defines, without values of its nested bodies."""
    for info in graph.input:
        yield text(info.name)
    for tensor in graph.initializer:
        yield text(tensor.name)
    for sparse in graph.sparse_initializer:
        yield text(sparse.values.name)
    for node in graph.node:
        for output in node.output:
            yield text(output)


def named_parts(graph: onnx.GraphProto) -> Iterator[onnx.ValueInfoProto | onnx.TensorProto]:
    """Yield the parts of a graph that have the name of a value: declarations and stored tensors."""
    for declared in (graph.input, graph.output, graph.value_info):
        yield from declared
    yield from graph.initializer
    yield from (sparse.values for sparse in graph.sparse_initializer)


def dimension(dim: onnx.TensorShapeProto.Dimension) -> Dimension:
    """Return a dimension as a number or a name, or None if the size is unknown.

    A negative number means an unknown size, see :mod:`trtlint.model.dimensions`.
    """
    which = dim.WhichOneof("value")
    if which == "dim_value":
        return int(dim.dim_value) if dim.dim_value >= 0 else None
    name = text(dim.dim_param) if which == "dim_param" else ""
    # ONNX's shape inference names unknown dimensions unk__0, unk__1, ...
    return None if name.startswith("unk__") else name or None
