"""Write the graphs of a rewritten model, and operators that round or broadcast tensors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnx
from msgspec import Struct, field
from onnx import NodeProto, TensorProto, helper, numpy_helper

from trtlint.measurement.formats import BF16, Format
from trtlint.model.graph import Node, Value

_DATA, _CACHES, _POSITIONS = 0, (1, 2), 3
_CACHE_RANK = 3
_CAST_BRAIN = 13
"""First opset in which Cast supports BF16: https://onnx.ai/onnx/operators/onnx__Cast.html."""
_CLIP_INPUTS = 11
"""First opset in which Clip reads its bounds from inputs.  ``Max`` broadcasts from opset 8 on.

https://onnx.ai/onnx/operators/onnx__Max.html
"""
_SIGNIFICANT = 24
"""Significant bits of FP32.

A multiplication by 2**s + 1 splits a number into two parts; the upper part has 24 - s bits.
T. J. Dekker, A floating-point technique for extending the available precision, section 5.1:
https://doi.org/10.1007/BF01397083
"""
_MOST_SPLIT = 2.0**110
"""Largest magnitude that this multiplication can split without overflow.  Larger numbers are not rounded."""


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
        """Measure an internal number of an operator in FP32.  In a simulation, round the number instead.

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
        """Round a stored tensor to the low-precision type, and return the name of the result.

        Numbers beyond the range of the type are clamped.
        """

    @abstractmethod
    def parameter(self, name: str) -> str:
        """Round a stored tensor that no product reads, and return the name of the result.

        If the build fuses the operator that reads the tensor, return ``name`` without rounding.
        """


def spread(node: Node, names: Sequence[str], write: GraphWriter) -> list[str]:
    """Expand an operator's inputs that have no batch axis, and return the new names of all inputs.

    ONNX Runtime requires that the caches of ``RotaryEmbedding`` have the batch size of the data input.
    Exporters store one cache for the whole batch:
    https://onnx.ai/onnx/operators/onnx__RotaryEmbedding.html

    Args:
        node: the operator.
        names: names of the inputs.
        write: writer of the graph.
    """
    found = list(names)
    if node.domain or node.op != "RotaryEmbedding" or node.input(_POSITIONS) is not None:
        return found
    data = node.input(_DATA)
    if data is None or (data.shape and data.shape[0] == 1):
        return found
    for port in _CACHES:
        cache = node.input(port)
        if cache is None or cache.shape is None or len(cache.shape) != _CACHE_RANK or cache.shape[0] != 1:
            continue
        batch = write.add("Shape", [found[_DATA]], start=0, end=1)
        shape = write.add("Concat", [batch, write.constant([1, 1], np.int64)], axis=0)
        found[port] = write.add("Expand", [found[port], shape])
    return found


def rounded(name: str, result: str, format_: Format, write: GraphWriter) -> str:
    """Add operators that round the values of an FP32 tensor to those of a low-precision type.

    The result is an FP32 tensor again.  Return its name.  ONNX has no type TF32, so numbers are rounded to
    TF32 with arithmetic.

    Args:
        name: the tensor.
        result: name of the result; empty for a new name.
        format_: the low-precision type.
        write: writer of the graph.
    """
    if not format_.operands_only and (format_ is not BF16 or write.opset >= _CAST_BRAIN):
        narrow = write.add("Cast", [name], to=format_.element)
        return write.add("Cast", [narrow], result, to=TensorProto.FLOAT)
    within = bounded(name, _MOST_SPLIT, write)
    product = write.add("Mul", [within, write.constant(2.0 ** (_SIGNIFICANT - format_.bits) + 1.0)])
    upper = write.add("Sub", [product, write.add("Sub", [product, within])])
    # Add the difference between ``name`` and ``within`` to restore very large numbers, infinity and NaN.
    # For all other numbers, this difference is 0.
    return write.add("Add", [upper, write.add("Sub", [name, within])], result)


def bounded(name: str, largest: float, write: GraphWriter) -> str:
    """Add operators that clip a tensor to ``[-largest, largest]``, and return the result's name."""
    if write.opset < _CLIP_INPUTS:
        return write.add("Clip", [name], min=-largest, max=largest)
    return write.add("Min", [write.add("Max", [name, write.constant(-largest)]), write.constant(largest)])
