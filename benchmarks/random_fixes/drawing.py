"""A model under construction, and its random choices."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Size = int | str
MICROSOFT = "com.microsoft"
FLOATS: dict[int, np.dtype[Any]] = {
    TensorProto.FLOAT: np.dtype(np.float32),
    TensorProto.FLOAT16: np.dtype(np.float16),
    TensorProto.DOUBLE: np.dtype(np.float64),
}


@dataclass(frozen=True)
class Value:
    """A tensor of the model: its name, its ONNX element type and its sizes (a text is a dynamic size)."""

    name: str
    type: int
    shape: tuple[Size, ...]

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def static(self) -> bool:
        """Whether all sizes are numbers."""
        return all(isinstance(size, int) for size in self.shape)


class DrawError(Exception):
    """Error: the value or the opset does not fit; another place must be drawn."""


@dataclass
class Drawing:
    """The nodes, stored tensors and inputs of one random model."""

    random: random.Random
    opset: int
    type: int
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    stored: list[onnx.TensorProto] = field(default_factory=list)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    exposed: list[Value] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    count: int = 0

    def name(self, stem: str = "v") -> str:
        """Return a new tensor name."""
        self.count += 1
        return f"{stem}_{self.count}"

    def chance(self, probability: float) -> bool:
        """Return true with this probability."""
        return self.random.random() < probability

    def needs(self, condition: bool) -> None:
        """Raise DrawError unless the condition holds."""
        if not condition:
            raise DrawError

    def node(self, op: str, inputs: Sequence[Value | str], domain: str = "", **attributes: Any) -> str:
        """Add a node with one output and return the name of that output."""
        output = self.name()
        names = [value if isinstance(value, str) else value.name for value in inputs]
        name = f"/{op}_{self.count}" if self.random.random() < 0.95 else ""
        self.nodes.append(helper.make_node(op, names, [output], name=name, domain=domain, **attributes))
        return output

    def value(
        self, op: str, inputs: Sequence[Value | str], like: Value, domain: str = "", **attributes: Any
    ) -> Value:
        """Add a node whose output has the type and shape of `like`."""
        return Value(self.node(op, inputs, domain, **attributes), like.type, like.shape)

    def store(self, array: np.ndarray[Any, Any], stem: str = "c") -> Value:
        """Store an array as an initializer, or sometimes as a Constant node."""
        tensor = numpy_helper.from_array(np.asarray(array), self.name(stem))
        if self.chance(0.2):
            self.nodes.append(helper.make_node("Constant", [], [tensor.name], value=tensor))
        else:
            self.stored.append(tensor)
        return Value(tensor.name, tensor.data_type, tuple(array.shape))

    def floats(self, *shape: int, scale: float = 1.0) -> Value:
        """Store random numbers of the model's float type."""
        drawn = np.random.default_rng(self.random.getrandbits(32)).standard_normal(shape) * scale
        return self.store(drawn.astype(FLOATS[self.type]))

    def scalar(self, number: float, type: int | None = None) -> Value:
        """Store one number, as a scalar or as a tensor with one element."""
        shape = () if self.chance(0.6) else (1,)
        return self.store(np.full(shape, number, FLOATS[type or self.type]))

    def ints(self, *numbers: int) -> Value:
        """Store a list of INT64."""
        return self.store(np.array(numbers, np.int64))

    def input(self, type: int, shape: Sequence[Size]) -> Value:
        """Add an input of the model."""
        value = Value(self.name("in"), type, tuple(shape))
        self.inputs.append(helper.make_tensor_value_info(value.name, type, list(shape)))
        return value

    def reduce(self, op: str, value: Value, axis: int, keep: int = 1) -> Value:
        """Reduce over one axis. The opset decides whether the axis is an attribute or an input."""
        shape = list(value.shape)
        if keep:
            shape[axis] = 1
        else:
            del shape[axis]
        by_input = self.opset >= (13 if op == "ReduceSum" else 18)
        if by_input:
            name = self.node(op, [value, self.ints(axis)], keepdims=keep)
        else:
            name = self.node(op, [value], axes=[axis], keepdims=keep)
        return Value(name, value.type, tuple(shape))

    def softmax(self, value: Value, axis: int = -1) -> Value:
        """Add a Softmax over one axis."""
        return self.value("Softmax", [value], value, axis=axis)

    def transposed(self, value: Value, *order: int) -> Value:
        """Add a Transpose."""
        name = self.node("Transpose", [value], perm=list(order))
        return Value(name, value.type, tuple(value.shape[axis] for axis in order))

    def cast(self, value: Value, type: int) -> Value:
        """Add a Cast."""
        return Value(self.node("Cast", [value], to=type), type, value.shape)

    def model(self, last: Value) -> onnx.ModelProto:
        """Return the model. Its outputs are the last value and the exposed values."""
        outputs = [last, *(value for value in self.exposed if value.name != last.name)]
        graph = helper.make_graph(
            self.nodes,
            "random",
            self.inputs,
            [helper.make_tensor_value_info(each.name, each.type, [None] * each.rank) for each in outputs],
            self.stored,
        )
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8 if self.opset < 21 else 10)
