"""What a rewritten model is written with: a graph, the names of its values, the inside of one operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, Protocol

import numpy as np
import onnx
from onnx import NodeProto

from trtlint.lean import dataclass
from trtlint.model.graph import Node, Value


@dataclass(slots=True)
class Scope:
    """The nodes and initializers of the graph that is being written."""

    main: bool = True
    nodes: list[NodeProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)


@dataclass(slots=True)
class Versions:
    """The names under which a value can be read, in the graph that defines it."""

    scope: Scope
    exact: str = ""
    rounded: str = ""
    constant: bool = False


class Rewriting(Protocol):
    """The model that is being written."""

    opset: int
    scope: Scope

    def fresh(self) -> str:
        """Return a name that nothing else has."""

    def add(self, op: str, inputs: Sequence[str], result: str = "", **attributes: Any) -> str:
        """Add an operator; returns the name of its result."""

    def constant(self, values: Any, dtype: Any = np.float32) -> str:
        """Add a constant; returns its name."""

    def inside(self, node: Node, name: str, what: str) -> str:
        """Measure and round a number inside of an operator; returns the name to read it by."""

    def read(self, value: Value | None, *, rounded: bool) -> str:
        """Return the name under which a value is read."""

    def stored(self, name: str) -> str:
        """Round stored numbers to the narrow type."""


class NodeWriter:
    """Writes the inside of one operator.

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

    def emit_node(self, node: NodeProto, inputs: Sequence[str]) -> list[str]:
        """Add a copy of an operator that reads other values."""
        copy = NodeProto()
        copy.CopyFrom(node)
        copy.name = ""
        copy.input[:] = inputs
        copy.output[:] = [self._to.fresh() if name else "" for name in node.output]
        self._to.scope.nodes.append(copy)
        return list(copy.output)

    def constant(self, values: Any, dtype: Any = np.float32) -> str:
        """Add a constant."""
        return self._to.constant(values, dtype)

    def step(self, name: str, what: str = "") -> str:
        """Round a result as the operator would store it."""
        return self._to.inside(self._node, name, what)

    def read(self, value: Value | None, *, rounded: bool) -> str:
        """Return the name under which a value is read."""
        return self._to.read(value, rounded=rounded)

    def stored(self, name: str) -> str:
        """Round stored numbers to the narrow type."""
        return self._to.stored(name)
