"""Interfaces for writing a rewritten model."""

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
    """The nodes and initializers of one graph of the model that is being written."""

    main: bool = True
    nodes: list[NodeProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)


class Versions(Struct):
    """The names of the exact and of the rounded tensor of a value in the rewritten model."""

    scope: WrittenGraph
    exact: str = ""
    rounded: str = ""
    constant: bool = False


class Rewriting(Protocol):
    """Methods of the rewritten model that :class:`NodeWriter` uses."""

    opset: int
    scope: WrittenGraph

    def fresh(self) -> str:
        """Return a unique name."""

    def add(self, op: str, inputs: Sequence[str], result: str = "", **attributes: Any) -> str:
        """Add an operator and return the name of its result."""

    def constant(self, values: Any, dtype: Any = np.float32) -> str:
        """Add a constant and return its name."""

    def inside(self, node: Node, name: str, what: str) -> str:
        """Process an internal number of an operator: measure it or round it.

        Return the name of the tensor to use in its place.
        """

    def read(self, value: Value | None, *, rounded: bool) -> str:
        """Return the name of a value's tensor: the rounded tensor if ``rounded``, else the exact tensor."""

    def stored(self, name: str) -> str:
        """Round a stored tensor to the narrow type, and return the name of the rounded tensor."""

    def product(self, proto: NodeProto, node: Node | None) -> bool:
        """Replace a product by operators that accumulate in FP16.  Return whether it was replaced."""

    def operand(self, name: str) -> str:
        """Round an operand of a product in a decomposed operator, and return the name of the result."""

    @property
    def fused(self) -> bool:
        """Return whether operators between products do not round their results."""


class NodeWriter:
    """Writer of the operators that replace one operator of the model.

    Args:
        rewriting: the model that is being written.
        node: the operator.
    """

    def __init__(self, rewriting: Rewriting, node: Node) -> None:
        self.opset = rewriting.opset
        self._to = rewriting
        self._node = node

    def emit(self, op: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Add an operator and return the name of its first output."""
        return self._to.add(op, inputs, **attributes)

    def emit_node(
        self, proto: NodeProto, inputs: Sequence[str], node: Node | None = None, *, inner: bool = False
    ) -> list[str]:
        """Add a copy of an operator with other inputs, and return the names of its outputs.

        A matrix product or convolution accumulates in FP16 if the settings of the simulation require it.

        Args:
            proto: the operator.
            inputs: names of the new inputs.
            node: the same operator in the model, which has the shapes of the inputs; None if ``proto`` is
                only a part of a node.
            inner: true if the operator is part of the definition of another operator.
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
        """Add a constant and return its name."""
        return self._to.constant(values, dtype)

    def step(self, name: str, what: str = "") -> str:
        """Round an internal number to the narrow type, and return the name of the rounded tensor.

        If ``what`` is not empty, also measure the number under this name.
        """
        return self._to.inside(self._node, name, what)

    def read(self, value: Value | None, *, rounded: bool) -> str:
        """Return the name of a value's tensor: the rounded tensor if ``rounded``, else the exact tensor."""
        return self._to.read(value, rounded=rounded)

    def stored(self, name: str) -> str:
        """Round a stored tensor to the narrow type, and return the name of the rounded tensor."""
        return self._to.stored(name)

    def added(self, name: str) -> str:
        """Round a stored tensor that no product reads, and return the name of the result.

        If the build fuses the operator that reads the tensor, return ``name`` without rounding.
        """
        return name if self._to.fused else self._to.stored(name)
