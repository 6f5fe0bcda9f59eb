"""Decompose operators that compute squares or sums, to measure and round their internal numbers.

The sums are computed as in ONNX's reference evaluator with half precision
(https://github.com/onnx/onnx/tree/main/onnx/reference/ops).  For a mean, the sum is rounded, divided by the
number of elements, and rounded again.

Normalization operators are not decomposed, because their internal numbers are FP32:
- TensorRT's layer computes in FP32 by default, for tensors of any type
  (https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/operators/Normalization.html).
- ONNX computes LayerNormalization and RMSNormalization in FP32 (``stash_type``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from onnx import NodeProto

from trtlint.model.graph import Node, Value

_INPUT_AXES_SUM = 13
"""First opset in which ReduceSum reads its axes from an input.  Other reductions do so since opset 18."""
_INPUT_AXES = 18
_OPTIONAL_BIAS = 11
"""First opset in which Gemm does not require C (https://onnx.ai/onnx/operators/onnx__Gemm.html)."""
_WITH_BIAS = 3


class FormulaWriter(Protocol):
    """Interface for adding operators to the graph of a rewritten model."""

    opset: int

    def emit(self, op: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Add an operator and return the name of its first output."""

    def emit_node(
        self, proto: NodeProto, inputs: Sequence[str], node: Node | None = None, *, inner: bool = False
    ) -> list[str]:
        """Add a copy of ``proto`` with other inputs. Return the names of its outputs."""

    def constant(self, values: Any, dtype: Any = np.float32) -> str:
        """Add a constant and return its name."""

    def step(self, name: str, what: str = "") -> str:
        """Round an internal number of the operator, and return the name of the rounded tensor.

        If ``what`` is not empty, also measure the number under this name.
        """

    def read(self, value: Value | None, *, rounded: bool) -> str:
        """Return the name of a value's tensor: the rounded tensor if ``rounded``, else the exact tensor."""

    def stored(self, name: str) -> str:
        """Round a stored tensor to the narrow type, and return the name of the result.

        Numbers beyond the range of the type are clamped.
        """

    def added(self, name: str) -> str:
        """Round a stored tensor that no product reads, and return the name of the result.

        If the build fuses the operator that reads the tensor, return ``name`` without rounding.
        """


Formula = Callable[[Node, Sequence[str], FormulaWriter], str | None]
"""Function that adds the operators of a decomposed node, given the names of the node's inputs.

It returns the name of the result before rounding, or None if the node cannot be decomposed.
"""


def _sum(node: Node, tensor: str, inputs: Sequence[str], write: FormulaWriter, what: str) -> str:
    """Add the sum over the axes of the reduction ``node``.

    The measured sum has the name ``what`` in reports.
    """
    keep = int(node.number("keepdims", 1))
    axes = node.attribute("axes")
    if write.opset < _INPUT_AXES_SUM:
        attributes = {} if axes is None else {"axes": list(axes)}
        total = write.emit("ReduceSum", [tensor], keepdims=keep, **attributes)
    elif write.opset < _INPUT_AXES:
        ports = [tensor] if axes is None else [tensor, write.constant(list(axes), np.int64)]
        total = write.emit("ReduceSum", ports, keepdims=keep)
    else:
        noop = int(node.number("noop_with_empty_axes", 0))
        total = write.emit("ReduceSum", [tensor, *inputs[1:2]], keepdims=keep, noop_with_empty_axes=noop)
    return write.step(total, what)


def _count(tensor: str, reduced: str, write: FormulaWriter) -> str:
    """Add operators that divide the size of ``tensor`` by the size of ``reduced``."""
    sizes = [write.emit("Cast", [write.emit("Size", [name])], to=1) for name in (tensor, reduced)]
    return write.emit("Div", sizes)


def _mean(node: Node, inputs: Sequence[str], write: FormulaWriter) -> str:
    total = _sum(node, inputs[0], inputs, write, "sum")
    return write.emit("Div", [total, _count(inputs[0], total, write)])


def _sum_of_squares(node: Node, inputs: Sequence[str], write: FormulaWriter) -> str:
    squares = write.step(write.emit("Mul", [inputs[0], inputs[0]]), "square")
    return _sum(node, squares, inputs, write, "sum of squares")


def _l2_norm(node: Node, inputs: Sequence[str], write: FormulaWriter) -> str:
    return write.emit("Sqrt", [_sum_of_squares(node, inputs, write)])


def _log_of_sum(node: Node, inputs: Sequence[str], write: FormulaWriter) -> str:
    return write.emit("Log", [_sum(node, inputs[0], inputs, write, "sum")])


def _lp_normalization(node: Node, inputs: Sequence[str], write: FormulaWriter) -> str | None:
    if int(node.number("p", 2)) != 2:
        return None
    squares = write.step(write.emit("Mul", [inputs[0], inputs[0]]), "square")
    total = _sum_over(squares, [int(node.number("axis", -1))], write)
    norm = write.step(write.emit("Sqrt", [write.step(total, "sum of squares")]))
    # For zeros, the result is zero: 1 is added to a norm of zero, and NaN stays NaN.  Equal and Where would
    # be simpler, but they support floats only from opset 11 and 9 on.
    some = write.emit("Greater", [norm, write.constant(0.0)])
    empty = write.emit("Cast", [write.emit("Not", [some])], to=1)
    return write.emit("Div", [inputs[0], write.emit("Add", [norm, empty])])


def _sum_over(tensor: str, axes: Sequence[int], write: FormulaWriter) -> str:
    return _reduced("ReduceSum", _INPUT_AXES_SUM, tensor, axes, write)


def _softmax(node: Node, inputs: Sequence[str], write: FormulaWriter) -> str | None:
    if write.opset < _INPUT_AXES_SUM:  # before, Softmax flattened the axes from `axis` on into one
        return None
    axes, x = [int(node.number("axis", -1))], inputs[0]
    shifted = write.step(write.emit("Sub", [x, _greatest(x, axes, write)]))
    powers = write.step(write.emit("Exp", [shifted]))
    return write.emit("Div", [powers, write.step(_sum_over(powers, axes, write))])


def _greatest(tensor: str, axes: Sequence[int], write: FormulaWriter) -> str:
    return _reduced("ReduceMax", _INPUT_AXES, tensor, axes, write)


def _reduced(op: str, since: int, tensor: str, axes: Sequence[int], write: FormulaWriter) -> str:
    """Add the reduction ``op`` over ``axes``.

    From opset ``since`` on, the axes are an input. In earlier opsets, the axes are an attribute.
    """
    if write.opset < since:
        return write.emit(op, [tensor], axes=list(axes), keepdims=1)
    return write.emit(op, [tensor, write.constant(list(axes), np.int64)], keepdims=1)


def _matmul(node: Node, inputs: Sequence[str], write: FormulaWriter) -> str:
    return write.emit_node(node.proto, inputs, node)[0]


def _gemm(node: Node, inputs: Sequence[str], write: FormulaWriter) -> str | None:
    if len(inputs) < _WITH_BIAS or not inputs[2]:
        return write.emit_node(node.proto, inputs, node)[0]
    if node.number("beta", 1.0) != 1.0:
        return None
    ports = list(inputs[:2])
    if write.opset < _OPTIONAL_BIAS:
        ports.append(write.constant(0.0))
    product = write.step(write.emit_node(node.proto, ports, node)[0])
    return write.emit("Add", [product, inputs[2]])


def _convolution(node: Node, inputs: Sequence[str], write: FormulaWriter) -> str | None:
    weight = node.input(1)
    if len(inputs) < _WITH_BIAS or not inputs[2]:
        return write.emit_node(node.proto, inputs, node)[0]
    if weight is None or weight.rank is None:
        return None
    product = write.step(write.emit_node(node.proto, inputs[:2], node)[0])
    shape = write.constant([-1, *[1] * (weight.rank - 2)], np.int64)
    return write.emit("Add", [product, write.emit("Reshape", [inputs[2], shape])])


FORMULAS: Mapping[str, Formula] = {
    "ReduceMean": _mean,
    "ReduceL2": _l2_norm,
    "ReduceSumSquare": _sum_of_squares,
    "ReduceLogSum": _log_of_sum,
    "LpNormalization": _lp_normalization,
}
"""Decompositions of operators whose internal numbers are measured, by type in the default domain."""

ROUNDED: Mapping[str, Formula] = {
    "Softmax": _softmax,
    "MatMul": _matmul,
    "Gemm": _gemm,
    "Conv": _convolution,
    "ConvTranspose": _convolution,
}
"""Decompositions for simulations only: the internal numbers are rounded, but not measured.

They are not measured, because they do not exceed the range of the operator's inputs and outputs.
"""
