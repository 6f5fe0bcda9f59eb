"""Interfaces for writing a rewritten model: graphs, names of values, and parts of operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import onnx
from msgspec import Struct, field
from onnx import NodeProto

from trtlint.measurement.ways import operands
from trtlint.model.graph import Node, Value


class WrittenGraph(Struct):
    """The nodes and initializers of the graph that is being written."""

    main: bool = True
    nodes: list[NodeProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)


class Versions(Struct):
    """Names of a value in the rewritten model, before and after rounding."""

    scope: WrittenGraph
    exact: str = ""
    rounded: str = ""
    constant: bool = False


class Rewriting(Protocol):
    """The model that is being written."""

    opset: int
    scope: WrittenGraph

    def fresh(self) -> str:
        """Return a unique name."""

    def add(self, op: str, inputs: Sequence[str], result: str = "", **attributes: Any) -> str:
        """Add an operator and return the name of its result."""

    def constant(self, values: Any, dtype: Any = np.float32) -> str:
        """Add a constant and return its name."""

    def inside(self, node: Node, name: str, what: str) -> str:
        """Measure and round an internal number of an operator.  Return the name of the result."""

    def read(self, value: Value | None, *, rounded: bool) -> str:
        """Return the name of the exact or the rounded version of a value."""

    def stored(self, name: str) -> str:
        """Round stored numbers to the narrow type."""

    def product(self, proto: NodeProto, node: Node | None) -> bool:
        """Add a product with an FP16 accumulator.  Return whether this is possible."""

    def operand(self, name: str) -> str:
        """Round an operand of a product inside an operator."""

    @property
    def fused(self) -> bool:
        """True if the operators between products are not rounded."""


class NodeWriter:
    """Writes the operators that replace one operator.

    Args:
        rewriting: the model that is being written.
        node: the operator.
    """

    def __init__(self, rewriting: Rewriting, node: Node) -> None:
        self.opset = rewriting.opset
        self._to = rewriting
        self._node = node

    def emit(self, op: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Add an operator."""
        return self._to.add(op, inputs, **attributes)

    def emit_node(
        self, proto: NodeProto, inputs: Sequence[str], node: Node | None = None, *, inner: bool = False
    ) -> list[str]:
        """Add a copy of an operator that reads other inputs.

        A matrix product or convolution accumulates in FP16 if the settings of the simulation require it.

        Args:
            proto: the operator.
            inputs: names of the new inputs.
            node: the operator of the model, which gives the shapes of the inputs; None without such an
                operator.
            inner: whether the operator is part of the definition of another operator.
        """
        copy = NodeProto()
        copy.CopyFrom(proto)
        copy.name = ""
        multiplied = operands(proto.op_type, proto.domain) if inner else ()
        copy.input[:] = [
            self._to.operand(name) if port in multiplied else name for port, name in enumerate(inputs)
        ]
        copy.output[:] = [self._to.fresh() if name else "" for name in proto.output]
        if not self._to.product(copy, node):
            self._to.scope.nodes.append(copy)
        return list(copy.output)

    def constant(self, values: Any, dtype: Any = np.float32) -> str:
        """Add a constant."""
        return self._to.constant(values, dtype)

    def step(self, name: str, what: str = "") -> str:
        """Round an internal number as the operator would store it."""
        return self._to.inside(self._node, name, what)

    def read(self, value: Value | None, *, rounded: bool) -> str:
        """Return the name of the exact or the rounded version of a value."""
        return self._to.read(value, rounded=rounded)

    def stored(self, name: str) -> str:
        """Round stored numbers to the narrow type."""
        return self._to.stored(name)

    def added(self, name: str) -> str:
        """Round stored numbers that are not an operand of a product.

        They are not rounded if the build fuses the operator that reads them.
        """
        return name if self._to.fused else self._to.stored(name)
