"""Find how the operands and the result of an operator are quantized.

A quantized operand comes from a ``DequantizeLinear``.  Casts and views may be between the
``DequantizeLinear`` and the operator.  The input of the ``DequantizeLinear`` is the output of a
``QuantizeLinear``, or a tensor of stored integers.
https://docs.nvidia.com/deeplearning/tensorrt/latest/inference-library/quantized-types-explicit-quantization.html
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from trtlint.facts.blocks.sizes import elements_of
from trtlint.model.folding import ma
from trtlint.model.graph import Node, Value
from trtlint.model.operators import CAST, MOVING, TRANSPARENT
from trtlint.model.protos import ElementType
from trtlint.model.values import Constants
from trtlint.model.walks import MAX_STEPS, behind, cut_short

Granularity = Literal["tensor", "axis", "block"]

QUANTIZERS = frozenset({"QuantizeLinear", "TRT_FP8QuantizeLinear", "TRT_INT4QuantizeLinear"})
DEQUANTIZERS = frozenset({"DequantizeLinear", "TRT_FP8DequantizeLinear", "TRT_INT4DequantizeLinear"})
_EPILOGUE = frozenset({"Relu", "Clip", "BatchNormalization", "LeakyRelu", "Sigmoid", "HardSwish"})
"""Operators that TensorRT fuses into the kernel of a preceding product.

The first input of each operator is the data.
"""
_MOST_EPILOGUE = 4
_DEFAULT_AXIS = 1
"""Default axis of QuantizeLinear and DequantizeLinear since opset 13."""


class Quantizer(Struct, frozen=True):
    """The quantization of a tensor.

    Attributes:
        dtype: type of the quantized numbers, such as ``i8`` or ``f8e4m3fn``; None if unknown.
        granularity: the group of elements that share a scale. ``tensor``: the whole tensor. ``axis``: the
            elements with the same index on an axis. ``block``: a block of elements. None: unknown.
        axis: for the granularity ``axis``, the index of the quantized axis in the operand or result, counted
            from 0. None if the granularity differs, or if a view makes the axis unknown.
        scales: number of scales; None if unknown.
        scale: the scale; None if there are several scales or the scale is unknown.
        symmetric: whether the zero point is 0 or missing; None if unknown.
        stored: True if the file stores the quantized numbers; False if the graph computes them.
    """

    dtype: ElementType | None
    granularity: Granularity | None
    axis: int | None
    scales: int | None
    scale: float | None
    symmetric: bool | None
    stored: bool

    def __str__(self) -> str:
        """Format the quantized type, the granularity, the axis and the scale as a text."""
        scale = "" if self.scale is None else f" × {self.scale:.4g}"
        axis = "" if self.axis is None else f" {self.axis}"
        return f"{self.dtype or '?'} by {self.granularity or '?'}{axis}{scale}"


class QuantizedOperand(Struct, frozen=True):
    """An operand (input) of an operator, with its quantization and origin.

    Attributes:
        quantizer: the quantization; None if the operand is not quantized.
        constant: whether the operand depends only on stored tensors.
        op: the type of the operator that computes the operand; empty for a stored tensor and for an input of
            the model. The search for this operator skips quantizers, casts, views, a bias, and fused
            operators such as an activation.
        fed_quantized: whether the input data of the operator in ``op`` is quantized.
        nodes: the quantizers of the operand, in data-flow order.
    """

    quantizer: Quantizer | None
    constant: bool
    op: str
    fed_quantized: bool
    nodes: tuple[Node, ...] = ()

    def __str__(self) -> str:
        """Format the origin and the quantization of the operand."""
        source = self.op or ("a stored tensor" if self.constant else "an input")
        return f"{source}: {self.quantizer or 'not quantized'}"


def operand(value: Value, constants: Constants) -> QuantizedOperand:
    """Return the quantization and the origin of a value that an operator reads."""
    found, node = _dequantizer(value)
    base = value if node is None else _before(node)
    quantize = None if base is None or base.producer is None or node is None else base.producer
    if quantize is not None and quantize.op in QUANTIZERS:
        base = _before(quantize)
    else:
        quantize = None
    source = None if base is None else _source(base, constants)
    reads = None if source is None else source.input(0)
    return QuantizedOperand(
        quantizer=None if node is None else _quantizer(node, found, constants),
        constant=constants.foldable(value),
        op="" if source is None else source.op,
        fed_quantized=reads is not None and _dequantizer(reads)[1] is not None,
        nodes=tuple(step for step in (quantize, node) if step is not None),
    )


def result_quantizer(value: Value, constants: Constants) -> tuple[Quantizer, Node] | None:
    """Return the quantization of an operator's result and the node that quantizes the result.

    ``value`` is the result of the operator. Fused operators, such as an activation, may be between the
    operator and the quantizing node. The function returns None if the result is not quantized.
    """
    for _ in range(_MOST_EPILOGUE):
        following = None
        for reader, port in value.uses:
            if reader.op in QUANTIZERS and port == 0:
                return _quantizer(reader, (), constants), reader
            if port == 0 and reader.op in (_EPILOGUE | CAST | MOVING) and following is None:
                following = reader
        if following is None:
            return None
        value = following.output
    return None


def quantized_type(value: Value) -> ElementType | None:
    """Return the quantized type of a dequantized value, or None if the value is not dequantized."""
    node = _dequantizer(value)[1]
    stored = None if node is None else node.input(0)
    return None if stored is None else stored.dtype


def _dequantizer(value: Value) -> tuple[tuple[Node, ...], Node | None]:
    """Find the ``DequantizeLinear`` upstream of a value.

    Returns:
        The casts and views between the ``DequantizeLinear`` and the value, in data-flow order, and the
        ``DequantizeLinear``.  If there is no ``DequantizeLinear``, an empty tuple and None.
    """
    passed: list[Node] = []
    for _ in range(MAX_STEPS):
        node = value.producer
        if node is None:
            break
        if node.op in DEQUANTIZERS:
            return tuple(reversed(passed)), node
        before = node.input(0)
        if node.domain or before is None or not (node.op in MOVING or node.op in CAST):
            break
        passed.append(node)
        value = before
    else:
        cut_short()
    return (), None


def _before(node: Node) -> Value | None:
    """Return the source of the data of a quantizer or dequantizer, upstream of casts and views."""
    value = node.input(0)
    return None if value is None else behind(value, MOVING | CAST)


def _source(value: Value, constants: Constants) -> Node | None:
    """Return the node that computes a value, or None for a stored tensor and an input of the model.

    The search goes upstream through operators that TensorRT fuses with this node, such as the Add of a bias.
    """
    for _ in range(_MOST_EPILOGUE):
        value = behind(value, TRANSPARENT)
        node = value.producer
        if node is None or node.domain:
            return node
        data = node.input(0)
        if node.op == "Add":
            stored = [constants.foldable(each) for each in node.inputs]
            if sum(stored) != 1:
                return node
            data = node.inputs[stored.index(False)]
        elif node.op not in _EPILOGUE:
            return node
        if data is None:
            return node
        value = data
    return value.producer


def _quantizer(node: Node, passed: tuple[Node, ...], constants: Constants) -> Quantizer:
    """Return the quantization that a quantizer or dequantizer node defines.

    ``passed`` contains the casts and views between the node and the operator that reads the tensor.  These
    nodes can move the quantized axis.
    """
    data, scale, point = node.input(0), node.input(1), node.input(2)
    numbers = data if node.op in DEQUANTIZERS else node.output
    granularity, axis = _granularity(node, data, scale)
    return Quantizer(
        dtype=None if numbers is None else numbers.dtype,
        granularity=granularity,
        axis=_moved(axis, passed),
        scales=None if scale is None else elements_of(scale),
        scale=constants.scalar(scale) if granularity == "tensor" else None,
        symmetric=True if point is None else _all_zero(point, constants),
        stored=node.op in DEQUANTIZERS and data is not None and constants.stored(data) is not None,
    )


def _granularity(
    node: Node, data: Value | None, scale: Value | None
) -> tuple[Granularity | None, int | None]:
    shape = None if scale is None else scale.shape
    if shape is None:
        return None, None
    if node.number("block_size", 0) or len(shape) > 1:
        return "block", None
    if all(dim == 1 for dim in shape):
        return "tensor", None
    axis = node.integer("axis", _DEFAULT_AXIS)
    if axis < 0:
        if data is None or data.rank is None:
            return "axis", None
        axis += data.rank
    return "axis", axis


def _moved(axis: int | None, passed: tuple[Node, ...]) -> int | None:
    """Return the position of an axis after the views ``passed``.

    The result is None if the position is unknown, for example because a view merges or splits the axis.
    """
    for node in passed:
        if axis is None:
            return None
        if node.op == "Transpose":
            perm = node.attribute("perm")
            if perm is None:
                rank = node.output.rank
                axis = None if rank is None else rank - 1 - axis
            else:
                axis = perm.index(axis) if axis in perm else None
        elif node.op not in CAST and node.op != "Identity":
            return None
    return axis


def _all_zero(point: Value, constants: Constants) -> bool | None:
    array = constants.array(point)
    if array is None or ma.is_masked(array):
        return None
    return not bool((array != 0).any())
