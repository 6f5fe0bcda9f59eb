"""What an ONNX graph is made of: values, operators, and the bodies that operators hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import onnx

from trtlint.lean import dataclass
from trtlint.model.protos import DTYPES, MOST_DIMENSIONS, Dimension, ElementType, dimension, domain_of, text
from trtlint.model.schemas import attribute_type

_Default = TypeVar("_Default")


def typed(dtype: ElementType | None, shape: Iterable[Dimension]) -> str:
    """A type with its shape as reports print it, ``f32[1,8,197,64]``."""
    dims = ",".join("?" if dim is None else str(dim) for dim in shape)
    return f"{dtype or '?'}[{dims}]"


class Value:
    """A tensor in the graph: what one port of a node produces, an input, or an initializer.

    Attributes:
        name: the ONNX value name, unique only within its scope.
        producer: the node that computes it, None for graph inputs and initializers.
        port: which output of ``producer`` it is.
        uses: the nodes that read it, each with the input port.
        initializer: the stored tensor, its payload possibly left in the file.
        is_input: whether it is an input of the main graph that the caller must feed.
        is_output: whether it is an output of the main graph.
        is_sparse: whether it is a tensor that the file stores as a sparse one.
        leaves_body: whether it is an output of the body of an ``If``, ``Loop`` or ``Scan``.
    """

    __slots__ = (
        "_declared",
        "_dtype",
        "_shape",
        "_type",
        "initializer",
        "is_input",
        "is_output",
        "is_sparse",
        "leaves_body",
        "name",
        "port",
        "producer",
        "uses",
    )

    def __init__(self, name: str, producer: Node | None = None, port: int = 0) -> None:
        self.name = name
        self.producer = producer
        self.port = port
        self.uses: list[tuple[Node, int]] = []
        self.initializer: onnx.TensorProto | None = None
        self.is_input = False
        self.is_output = False
        self.is_sparse = self.leaves_body = False
        self._type: onnx.TypeProto | None = None
        self._declared: onnx.TypeProto | None = None
        self._dtype: ElementType | None = None
        self._shape: tuple[Dimension, ...] | None = None

    def __repr__(self) -> str:
        return f"<Value {self.name} {self.type_text}>"

    def _read_type(self) -> None:
        if self.initializer is not None:
            self._dtype = DTYPES.get(self.initializer.data_type)
            self._shape = tuple(self.initializer.dims)
        elif self._type is not None and self._type.HasField("tensor_type"):
            tensor = self._type.tensor_type
            self._dtype = DTYPES.get(tensor.elem_type)
            if tensor.HasField("shape") and len(tensor.shape.dim) <= MOST_DIMENSIONS:
                self._shape = tuple(dimension(dim) for dim in tensor.shape.dim)
        if self._declared is not None:
            self._complete(self._declared)
        self._type = self._declared = None

    def _complete(self, declared: onnx.TypeProto) -> None:
        """Take from a declared type what inference could not tell; what it told is true."""
        tensor = declared.tensor_type
        if self._dtype is None:
            self._dtype = DTYPES.get(tensor.elem_type)
        if (self._shape is not None and None not in self._shape) or not tensor.HasField("shape"):
            return
        if len(tensor.shape.dim) > MOST_DIMENSIONS:
            return
        # TensorRT reads no declared shape of what operators compute: a 0 may be an exporter's "unknown".
        dims = tuple(dimension(dim) or None for dim in tensor.shape.dim)
        if self._shape is None:
            self._shape = dims
        elif len(dims) == len(self._shape):
            self._shape = tuple(b if a is None else a for a, b in zip(self._shape, dims, strict=True))

    @property
    def dtype(self) -> ElementType | None:
        """The element type (``f32``, ``i64``, ...), None where unknown or not a tensor."""
        if self._dtype is None and self._shape is None:
            self._read_type()
        return self._dtype

    @property
    def shape(self) -> tuple[Dimension, ...] | None:
        """The dimensions, None where not even the rank is known."""
        if self._dtype is None and self._shape is None:
            self._read_type()
        return self._shape

    @property
    def rank(self) -> int | None:
        """The number of dimensions, None where unknown."""
        shape = self.shape
        return None if shape is None else len(shape)

    @property
    def is_needed(self) -> bool:
        """Whether an operator reads it, or it is an output of the model or of a body."""
        return bool(self.uses) or self.is_output or self.leaves_body

    @property
    def type_text(self) -> str:
        """The type as reports print it, ``f32[1,8,197,64]``; empty where nothing is known."""
        return (self.dtype or "") if self.shape is None else typed(self.dtype, self.shape)

    def set_type(self, type_: onnx.TypeProto | None, declared: onnx.TypeProto | None = None) -> None:
        """Record an inferred type, and a declared one that completes it; read when first asked for."""
        self._type, self._declared, self._dtype, self._shape = type_, declared, None, None

    def set_dtype(self, dtype: ElementType) -> None:
        """Record the element type that the operators say it has, whatever was declared."""
        if self.dtype != dtype:  # which also reads the shape before the type is said
            self._dtype = dtype


class Node:
    """An operator of the graph.

    Attributes:
        path: unique name: subgraph scopes and node name joined with ``/``.
        op: operator type, such as ``MatMul``.
        domain: operator domain, empty for ``ai.onnx``.
        inputs: the values read, None for an optional input left out.
        outputs: the values computed; an optional output left out has an empty name.
        scope: path of the body the node lies in (its owner's path and the attribute's name joined with
            ``/``), empty in the main graph.
        index: position in a topological order of the whole graph.
        proto: the ONNX node.
    """

    __slots__ = ("_attributes", "domain", "index", "inputs", "op", "outputs", "path", "proto", "scope")

    def __init__(self, proto: onnx.NodeProto, path: str, scope: str) -> None:
        self.proto = proto
        self.path = path
        self.scope = scope
        self.op = text(proto.op_type)
        self.domain = domain_of(proto.domain)
        self.inputs: tuple[Value | None, ...] = ()
        self.outputs: tuple[Value, ...] = ()
        self.index = 0
        self._attributes: dict[str, onnx.AttributeProto] | None = None

    def __repr__(self) -> str:
        return f"<Node {self.path} {self.op}>"

    @property
    def attributes(self) -> Mapping[str, onnx.AttributeProto]:
        """The attributes by name."""
        if self._attributes is None:
            self._attributes = {text(attribute.name): attribute for attribute in self.proto.attribute}
        return self._attributes

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute as Python data, ``default`` where it is absent.

        Strings are decoded, repeated fields become tuples; tensors and graphs are returned as ONNX
        protos.  One whose type is not the one that ONNX gives it is as good as absent.
        """
        proto = self.attributes.get(name)
        if proto is None or proto.ref_attr_name or proto.type == onnx.AttributeProto.UNDEFINED:
            return default
        if attribute_type(self.op, self.domain, name) not in (None, proto.type):
            return default
        value = onnx.helper.get_attribute_value(proto)
        if isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        if isinstance(value, onnx.TensorProto | onnx.GraphProto | onnx.SparseTensorProto | onnx.TypeProto):
            return value
        if isinstance(value, Iterable):
            return tuple(v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in value)
        return value

    def number(self, name: str, default: _Default) -> int | float | _Default:
        """The value of a numeric attribute, ``default`` where it is absent or something else."""
        value = self.attribute(name, default)
        return value if isinstance(value, int | float) else default

    def input(self, port: int) -> Value | None:
        """The value at an input port, None where the port is left out."""
        return self.inputs[port] if 0 <= port < len(self.inputs) else None

    @property
    def output(self) -> Value:
        """The first output; nameless and unused where the node has none."""
        return self.outputs[0]


@dataclass(frozen=True, slots=True)
class Body:
    """A graph that an ``If``, ``Loop`` or ``Scan`` holds.

    Attributes:
        inputs: what the operator passes in.
        outputs: what it gives back, values of the graphs around it among them.
    """

    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
