"""Write the graphs of a rewritten model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnx
from msgspec import Struct, field
from onnx import NodeProto, helper, numpy_helper

from trtlint.model.graph import Node, Value


class WrittenGraph(Struct):
    """The nodes and initializers of one graph while the model is written."""

    main: bool = True
    nodes: list[NodeProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)


class GraphWriter:
    """Adds operators and constants to a graph.

    Args:
        opset: version of the default operator set.

    Attributes:
        scope: the graph to which operators and constants are added.
    """

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.scope = WrittenGraph()
        self._count = 0

    def fresh(self) -> str:
        """Return a unique name."""
        self._count += 1
        return f"trtlint/{self._count}"

    def add(self, op: str, inputs: Sequence[str], result: str = "", **attributes: Any) -> str:
        """Add an operator and return the name of its result (default: a new name)."""
        result = result or self.fresh()
        self.scope.nodes.append(helper.make_node(op, inputs, [result], **attributes))
        return result

    def constant(self, values: Any, dtype: Any = np.float32) -> str:
        """Add a constant and return its name."""
        name = self.fresh()
        self.scope.initializers.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    @contextmanager
    def within(self, graph: WrittenGraph) -> Iterator[WrittenGraph]:
        """Add operators and constants to ``graph`` until the end of the ``with`` block."""
        outer, self.scope = self.scope, graph
        yield graph
        self.scope = outer


class FormulaWriter(GraphWriter, ABC):
    """Writer of the operators that replace one operator of the model."""

    @abstractmethod
    def add_copy(self, proto: NodeProto, inputs: Sequence[str], node: Node | None = None) -> list[str]:
        """Add a copy of an operator with new inputs, and return the names of the copy's outputs.

        A matrix product or convolution accumulates in FP16 if the settings of the simulation require it.

        Args:
            proto: the operator.
            inputs: names of the new inputs.
            node: the node of the operator in the model, for the shapes of the inputs; None if ``proto`` is
                a part of the definition of another operator.
        """

    @abstractmethod
    def step(self, node: Node, name: str, what: str = "") -> str:
        """Measure an internal number of an operator, or round it in a simulation.

        Args:
            node: the operator.
            name: name of the tensor with the internal number.
            what: name of the internal number in reports; empty to measure nothing.

        Returns:
            The name of the rounded tensor, or ``name`` if the tensor is not rounded.
        """

    @abstractmethod
    def read(self, value: Value | None, *, rounded: bool) -> str:
        """Return the name of a value's tensor: the rounded tensor if ``rounded``, else the exact tensor."""

    @abstractmethod
    def stored(self, name: str) -> str:
        """Round a stored tensor to the narrow type, and return the name of the result.

        Numbers beyond the range of the type are clamped.
        """

    @abstractmethod
    def parameter(self, name: str) -> str:
        """Round a stored tensor that no product reads, and return the name of the result.

        If the build fuses the operator that reads the tensor, return ``name`` without rounding.
        """
