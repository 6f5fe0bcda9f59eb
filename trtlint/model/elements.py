"""The elements of an ONNX graph: values, nodes, and the bodies of ``If``, ``Loop`` and ``Scan``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import onnx
from msgspec import Struct

from trtlint.model.protos import DTYPES, MOST_DIMENSIONS, Dimension, ElementType, dimension, domain_of, text
from trtlint.model.schemas import attribute_type
from trtlint.model.sizes import merge_shapes

_Default = TypeVar("_Default")


def format_type(dtype: ElementType | None, shape: Iterable[Dimension]) -> str:
    """Format an element type and a shape for reports, such as ``f32[1,8,197,64]``."""
    dims = ",".join("?" if dim is None else str(dim) for dim in shape)
    return f"{dtype or '?'}[{dims}]"


class Value:
    """A tensor in the graph: an output of a node, a graph input, or an initializer.

    Attributes:
        name: ONNX name of the value, unique only within its scope.
        producer: the node that computes the value; None for graph inputs and initializers.
        port: index of the value among the outputs of ``producer``.
        uses: the nodes that read the value, each with the index of the input.
        initializer: the stored tensor.  A large tensor contains no elements, but their location in the file.
        is_input: whether the value is an input of the main graph that the caller must feed.
        is_output: whether the value is an output of the main graph.
        is_sparse: whether the file stores the value as a sparse tensor.
        leaves_body: whether the value is an output of the body of an ``If``, ``Loop`` or ``Scan``.
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
        """Replace the unknown parts of the inferred type by parts of the declared type."""
        tensor = declared.tensor_type
        if self._dtype is None:
            self._dtype = DTYPES.get(tensor.elem_type)
        known = self._shape is not None and None not in self._shape
        if not known and tensor.HasField("shape") and len(tensor.shape.dim) <= MOST_DIMENSIONS:
            # TensorRT ignores declared shapes of computed values: a 0 may be an exporter's "unknown".
            dims = tuple(dimension(dim) or None for dim in tensor.shape.dim)
            self._shape = merge_shapes(self._shape, dims)

    @property
    def dtype(self) -> ElementType | None:
        """The element type, such as ``f32``, or None if the value is not a tensor or its type is unknown."""
        if self._dtype is None and self._shape is None:
            self._read_type()
        return self._dtype

    @property
    def shape(self) -> tuple[Dimension, ...] | None:
        """The dimensions, or None if even the rank is unknown."""
        if self._dtype is None and self._shape is None:
            self._read_type()
        return self._shape

    @property
    def rank(self) -> int | None:
        """The number of dimensions, or None if it is unknown."""
        shape = self.shape
        return None if shape is None else len(shape)

    @property
    def is_static(self) -> bool:
        """True if all dimensions are numbers in the file."""
        return self.shape is not None and all(isinstance(dim, int) for dim in self.shape)

    @property
    def is_needed(self) -> bool:
        """True if an operator reads the value, or if the value is an output of the model or of a body."""
        return bool(self.uses) or self.is_output or self.leaves_body

    @property
    def type_text(self) -> str:
        """The element type and shape for reports, such as ``f32[1,8,197,64]``.  Empty if both are unknown."""
        return (self.dtype or "") if self.shape is None else format_type(self.dtype, self.shape)

    def set_type(self, type_: onnx.TypeProto | None, declared: onnx.TypeProto | None = None) -> None:
        """Set the inferred type.  Fill unknown parts of this type from ``declared``."""
        self._type, self._declared, self._dtype, self._shape = type_, declared, None, None

    def set_dtype(self, dtype: ElementType) -> None:
        """Set the element type that the operators imply, even if the file declares another type."""
        if self.dtype != dtype:  # also reads the shape before the element type is set
            self._dtype = dtype


class Node:
    """An operator of the graph.

    Attributes:
        path: unique name, which joins the subgraph scopes and the node name with ``/``.
        op: operator type, such as ``MatMul``.
        domain: operator domain; empty for ``ai.onnx``.
        inputs: the input values; an omitted optional input is None.
        outputs: the output values; an omitted optional output has an empty name.
        scope: path of the body that contains the node, such as ``If_3/then_branch``.  The path joins the path
            of the ``If``, ``Loop`` or ``Scan`` and the name of the ONNX attribute.  Empty in the main graph.
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
        """Return the value of an attribute as Python data, or ``default`` if the attribute is absent.

        Strings are decoded.  Repeated fields become tuples.  Tensors and graphs stay ONNX protos.  If the
        type of an attribute differs from ONNX's definition, the attribute is treated as absent.
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
        """Return the value of a numeric attribute, or ``default`` if it is absent or not a number."""
        value = self.attribute(name, default)
        return value if isinstance(value, int | float) else default

    def integer(self, name: str, default: int) -> int:
        """Return the value of an integer attribute, or ``default`` if it is absent or not an integer.

        Some exporters store integers as floats.
        """
        value = self.number(name, default)
        return int(value) if isinstance(value, int) or value.is_integer() else default

    def input(self, port: int) -> Value | None:
        """Return the input value at an index, or None if the input is omitted."""
        return self.inputs[port] if 0 <= port < len(self.inputs) else None

    @property
    def output(self) -> Value:
        """The first output.  A node without outputs gets an unused value without a name."""
        return self.outputs[0]


class Body(Struct, frozen=True):
    """A graph inside an ``If``, ``Loop`` or ``Scan``.

    Attributes:
        inputs: the values that the operator passes to the body.
        outputs: the values that the body returns; they may belong to outer graphs.
    """

    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
