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
from typing import Any

import numpy as np

from trtlint.measurement.writing import FormulaWriter
from trtlint.model.graph import Node

_INPUT_AXES_SUM = 13
"""First opset in which ReduceSum reads its axes from an input."""
_INPUT_AXES = 18
"""First opset in which all other reductions read their axes from an input."""
_OPTIONAL_BIAS = 11
"""First opset in which Gemm does not require C (https://onnx.ai/onnx/operators/onnx__Gemm.html)."""
_WITH_BIAS = 3


Formula = Callable[[Node, Sequence[str], FormulaWriter], str | None]
"""Function that adds the operators of a decomposed node, given the names of the node's inputs.

The function returns the name of the result before rounding, or None if the node cannot be decomposed.
"""


def _sum(node: Node, tensor: str, inputs: Sequence[str], write: FormulaWriter, what: str) -> str:
    """Add the sum over the axes of the reduction ``node``.

    The measured sum has the name ``what`` in reports.
    """
    keep = node.integer("keepdims", 1)
    axes = node.attribute("axes")
    if write.opset < _INPUT_AXES_SUM:
        attributes: dict[str, Any] = {} if axes is None else {"axes": list(axes)}
        total = write.add("ReduceSum", [tensor], keepdims=keep, **attributes)
    elif write.opset < _INPUT_AXES:
        ports = [tensor] if axes is None else [tensor, write.constant(list(axes), np.int64)]
        total = write.add("ReduceSum", ports, keepdims=keep)
    else:
        noop = node.integer("noop_with_empty_axes", 0)
        total = write.add("ReduceSum", [tensor, *inputs[1:2]], keepdims=keep, noop_with_empty_axes=noop)
    return write.step(node, total, what)


def _count(tensor: str, reduced: str, write: FormulaWriter) -> str:
    """Add operators that compute how many elements of ``tensor`` each element of ``reduced`` combines."""
    sizes = [write.add("Cast", [write.add("Size", [name])], to=1) for name in (tensor, reduced)]
    return write.add("Div", sizes)


def _mean(node: Node, inputs: Sequence[str], write: FormulaWriter) -> str:
    total = _sum(node, inputs[0], inputs, write, "sum")
    return write.add("Div", [total, _count(inputs[0], total, write)])


def _sum_of_squares(node: Node, inputs: Sequence[str], write: FormulaWriter) -> str:
    squares = write.step(node, write.add("Mul", [inputs[0], inputs[0]]), "square")
    return _sum(node, squares, inputs, write, "sum of squares")


def _l2_norm(node: Node, inputs: Sequence[str], write: FormulaWriter) -> str:
    return write.add("Sqrt", [_sum_of_squares(node, inputs, write)])


def _log_of_sum(node: Node, inputs: Sequence[str], write: FormulaWriter) -> str:
    return write.add("Log", [_sum(node, inputs[0], inputs, write, "sum")])


def _lp_normalization(node: Node, inputs: Sequence[str], write: FormulaWriter) -> str | None:
    if node.integer("p", 2) != 2:
        return None
    squares = write.step(node, write.add("Mul", [inputs[0], inputs[0]]), "square")
    total = _reduced("ReduceSum", squares, node.integer("axis", -1), write)
    norm = write.step(node, write.add("Sqrt", [write.step(node, total, "sum of squares")]))
    # A norm of 0 becomes 1, so that the result for zeros is 0. NaN stays NaN. Equal and Where would be
    # simpler, but Equal supports floats only from opset 11 on, and Where exists only from opset 9 on.
    some = write.add("Greater", [norm, write.constant(0.0)])
    empty = write.add("Cast", [write.add("Not", [some])], to=1)
    return write.add("Div", [inputs[0], write.add("Add", [norm, empty])])


def _softmax(node: Node, inputs: Sequence[str], write: FormulaWriter) -> str | None:
    if write.opset < _INPUT_AXES_SUM:  # before opset 13, Softmax flattened the axes from `axis` on into one
        return None
    axis, x = node.integer("axis", -1), inputs[0]
    shifted = write.step(node, write.add("Sub", [x, _reduced("ReduceMax", x, axis, write)]))
    powers = write.step(node, write.add("Exp", [shifted]))
    return write.add("Div", [powers, write.step(node, _reduced("ReduceSum", powers, axis, write))])


def _reduced(op: str, tensor: str, axis: int, write: FormulaWriter) -> str:
    """Add the reduction ``op`` over an axis, which is an input or, in old opsets, an attribute."""
    if write.opset < (_INPUT_AXES_SUM if op == "ReduceSum" else _INPUT_AXES):
        return write.add(op, [tensor], axes=[axis], keepdims=1)
    return write.add(op, [tensor, write.constant([axis], np.int64)], keepdims=1)


def _matrix_product(node: Node, inputs: Sequence[str], write: FormulaWriter) -> str | None:
    if len(inputs) < _WITH_BIAS or not inputs[2]:
        return write.add_copy(node.proto, inputs, node)[0]
    if node.number("beta", 1.0) != 1.0:
        return None
    ports = list(inputs[:2])
    if write.opset < _OPTIONAL_BIAS:
        ports.append(write.constant(0.0))
    product = write.step(node, write.add_copy(node.proto, ports, node)[0])
    return write.add("Add", [product, inputs[2]])


def _convolution(node: Node, inputs: Sequence[str], write: FormulaWriter) -> str | None:
    weight = node.input(1)
    if len(inputs) < _WITH_BIAS or not inputs[2]:
        return write.add_copy(node.proto, inputs, node)[0]
    if weight is None or weight.rank is None:
        return None
    product = write.step(node, write.add_copy(node.proto, inputs[:2], node)[0])
    shape = write.constant([-1, *[1] * (weight.rank - 2)], np.int64)
    return write.add("Add", [product, write.add("Reshape", [inputs[2], shape])])


FORMULAS: Mapping[str, Formula] = {
    "ReduceMean": _mean,
    "ReduceL2": _l2_norm,
    "ReduceSumSquare": _sum_of_squares,
    "ReduceLogSum": _log_of_sum,
    "LpNormalization": _lp_normalization,
}
"""Decompositions of operators whose internal numbers are measured. The keys are operator types of the default
domain.
"""

ROUNDED: Mapping[str, Formula] = {
    "Softmax": _softmax,
    "MatMul": _matrix_product,
    "Gemm": _matrix_product,
    "Conv": _convolution,
    "ConvTranspose": _convolution,
}
"""Decompositions for simulations only: the internal numbers are rounded, but not measured.

A measurement is not needed: the internal numbers do not exceed the range of the inputs and outputs.
"""
