"""Find the values of a graph that do not depend on the inputs of the model.

An exporter stores a constant as an initializer or as a ``Constant`` node.  The TorchScript exporter merges
equal initializers, and adds an ``Identity`` that reads the merged initializer.  Exporters also write
operators that read only constants and shapes. For example, ``Shape -> Slice -> Cast -> Sqrt -> Div``
computes an attention scale
(https://github.com/pytorch/pytorch/blob/main/torch/onnx/_internal/torchscript_exporter/symbolic_opset14.py).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx

from trtlint.model.elements import format_type
from trtlint.model.folding import MAX_ELEMENTS, Array, fold, ma
from trtlint.model.graph import Graph, Node, Value
from trtlint.model.operators import RANDOM
from trtlint.model.sizes import Dimensions
from trtlint.model.symbolic import SymbolicShapes
from trtlint.model.tensors import TensorStore, is_left


class Constants:
    """The values of a graph that do not depend on the inputs of the model.

    All small values are computed at the first query, in one pass over the nodes.  Elements of large tensors
    are read from the file on request, and not cached.

    Attributes:
        graph: the graph.
    """

    def __init__(self, graph: Graph, tensors: TensorStore) -> None:
        self.graph = graph
        self._tensors = tensors
        self._arrays: dict[Value, Array] = {}
        self._foldable: set[Value] = set()
        self._data_free: set[Value] = set()
        self._folded = False
        self._shapes = SymbolicShapes(graph.nodes)

    def array(self, value: Value | None) -> Array | None:
        """Return the elements of a value, or None if all elements are unknown.

        Unknown elements are masked.  The result is also None for a value with more than 4,096 elements;
        :meth:`payload` reads larger values.
        """
        if value is None:
            return None
        self._fold()
        known = self._operand(value)
        if known is not None:
            return known
        tensor = self.stored(value)
        if tensor is None or math.prod(tensor.dims) > MAX_ELEMENTS:
            return None
        payload = self._tensors.array(tensor)
        return None if payload is None else ma.asarray(payload)

    def scalar(self, value: Value | None) -> float | None:
        """Return the number that all elements of a value have, or None if they differ or are unknown."""
        array = self.array(value)
        if array is None or array.size == 0 or ma.is_masked(array) or array.dtype.kind not in "fiub":
            return None
        flat = np.asarray(array).reshape(-1)
        first = flat[0]
        if flat.size > 1 and not bool(np.all(flat == first)):
            return None
        return float(first)

    def integers(self, value: Value | None) -> tuple[int, ...] | None:
        """Return all elements of an integer tensor in row order, or None if an element is unknown."""
        array = self.array(value)
        if array is None or array.dtype.kind not in "iu" or ma.is_masked(array):
            return None
        return tuple(array.reshape(-1).tolist())

    def axes(self, node: Node) -> tuple[int, ...] | None:
        """Return the axes of an operator, from its second input or, in older opsets, from an attribute.

        Returns:
            The axes as in the file; they can be negative.  An empty tuple if the operator has no axes, and
            None if its axes are unknown.
        """
        given = node.input(1)
        if given is not None:
            return self.integers(given)
        written = node.attribute("axes", ())
        return written if isinstance(written, tuple) else None

    def foldable(self, value: Value | None) -> bool:
        """Return whether a value, even a large one, depends only on constants and static shapes."""
        if value is None:
            return False
        self._fold()
        return value in self._foldable

    def data_free(self, value: Value | None) -> bool:
        """Return whether a value depends only on constants and on static or dynamic shapes.

        Such a value does not depend on the elements of the model inputs.
        """
        if value is None:
            return False
        self._fold()
        return value in self._data_free

    def dimensions(self, value: Value) -> Dimensions | None:
        """Return the shape of a value, or None if the rank is unknown.  Unknown dimensions are None."""
        return self._shapes.dimensions(value, self.array)

    def dynamic(self, value: Value, axis: int) -> bool | None:
        """Return whether a dimension is dynamic for TensorRT, or None if unknown."""
        return self._shapes.dynamic(value, axis, self.array)

    def type_text(self, value: Value) -> str:
        """Format the type of a value for reports.  Include dimension names that ONNX's inference misses.

        >>> constants.type_text(scores)  # inference says f16[?,4,17,17]
        'f16[batch,4,17,17]'
        """
        dims = self.dimensions(value)
        return value.type_text if dims is None else format_type(value.dtype, dims)

    def stored(self, value: Value | None) -> onnx.TensorProto | None:
        """Return the initializer or ``Constant`` tensor of a value, or None for a computed value.

        The search skips ``Identity`` operators.
        """
        while value is not None:
            if value.initializer is not None:
                return value.initializer
            node = value.producer
            if node is None or node.domain:
                return None
            if node.op == "Constant":
                tensor = node.attribute("value")
                return tensor if isinstance(tensor, onnx.TensorProto) else None
            if node.op != "Identity":
                return None
            value = node.input(0)
        return None

    def payload(self, value: Value | None) -> np.ndarray[Any, Any] | None:
        """Read all elements of a stored tensor from the file.  Return None if the value is not stored."""
        tensor = self.stored(value)
        return None if tensor is None else self._tensors.array(tensor)

    def in_int32_data(self, value: Value | None) -> bool:
        """Return whether a value is a stored UINT8 tensor with its elements in ``int32_data``.

        The result is False for a tensor with one element.  Source:
        https://github.com/onnx/onnx/blob/main/onnx/onnx.proto.
        """
        tensor = self.stored(value)
        if tensor is None or tensor.data_type != onnx.TensorProto.UINT8 or math.prod(tensor.dims) < 2:
            return False
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            return bool(tensor.int32_data)
        return is_left(tensor) and self._tensors.place(tensor) is None

    def _fold(self) -> None:
        if self._folded:
            return
        self._folded = True
        for values in self.graph.values.values():
            for value in values:
                if value.initializer is not None:
                    self._foldable.add(value)
                    self._data_free.add(value)
        for node in self.graph.nodes:
            self._fold_node(node)

    def _fold_node(self, node: Node) -> None:
        output = node.outputs[0]
        if node.op == "Constant" and not node.domain:
            self._foldable.update(node.outputs)
            self._data_free.update(node.outputs)
            array = _constant_attribute(node)
            if array is not None:
                self._arrays[output] = array
            return
        present = [value for value in node.inputs if value is not None]
        if node.op in ("Shape", "Size") and present:
            self._data_free.add(output)
            if present[0].is_static:
                self._foldable.add(output)
        elif (
            not present
            or node.op in RANDOM
            or any(attribute.HasField("g") for attribute in node.proto.attribute)
            or not all(value in self._data_free for value in present)
        ):
            return
        else:
            self._data_free.update(node.outputs)
            if all(value in self._foldable for value in present):
                self._foldable.update(node.outputs)
        folded = fold(node, [None if value is None else self._operand(value) for value in node.inputs])
        if folded is not None:
            self._arrays[output] = folded

    def _operand(self, value: Value) -> Array | None:
        """Return the elements of an operand, or None if they are not computed or loaded."""
        known = self._arrays.get(value)
        if known is not None:
            return known
        tensor = self.stored(value)
        if tensor is None or tensor.data_location == onnx.TensorProto.EXTERNAL:
            return None
        payload = self._tensors.array(tensor)
        if payload is None or payload.size > MAX_ELEMENTS:
            return None
        self._arrays[value] = ma.asarray(payload)
        return self._arrays[value]


def _constant_attribute(node: Node) -> Array | None:
    """Return the value of a ``Constant`` node whose attribute is a number or a list of numbers."""
    for name, dtype in (("value_float", np.float32), ("value_int", np.int64)):
        for attribute in (name, f"{name}s"):
            value = node.attribute(attribute)
            if value is not None:
                return ma.asarray(np.array(value, dtype=dtype))
    return None
