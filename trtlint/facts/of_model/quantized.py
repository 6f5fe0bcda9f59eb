"""Find operators with quantized operands or results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import ClassVar

from trtlint.facts.base import Fact, Step
from trtlint.facts.blocks.geometry import geometry
from trtlint.facts.blocks.quantizers import (
    DEQUANTIZERS,
    QUANTIZERS,
    QuantizedOperand,
    Quantizer,
    operand,
    result_quantizer,
)
from trtlint.facts.blocks.sizes import static_size
from trtlint.facts.facts import Facts
from trtlint.model.graph import Node, Value
from trtlint.model.operators import TRANSPARENT
from trtlint.model.protos import ElementType
from trtlint.model.values import Constants
from trtlint.model.walks import behind

_CONVOLUTIONS = frozenset({"Conv", "ConvTranspose"})
_PRODUCTS = frozenset({"Gemm", "MatMul"})
_OPERATORS = (*sorted(_CONVOLUTIONS), *sorted(_PRODUCTS), "Add", "Concat")


class Quantized(Fact, frozen=True):
    """A convolution, matrix product, sum or concatenation with a quantized operand or result.

    An ``Add`` of a stored tensor adds a bias and is left out.

    Attributes:
        op: ``Conv``, ``ConvTranspose``, ``Gemm``, ``MatMul``, ``Add`` or ``Concat``.
        dtype: element type of the result, and of the operands after their ``DequantizeLinear``.
        data: the operand that is not the weight.  For a sum or concatenation, the first operand.
        weight: the weight operand; None for a sum, a concatenation and a product of two activations.
        operands: all operands except a bias.
        quantized: number of quantized operands.
        result: quantization of the result; None if the result is not quantized. The quantizer is directly
            after the operator or after its activation.
        one_scale: whether all operands and the result have the same scale.  None if one of them is not
            quantized, has several scales, or has an unknown scale.
        channel_axis: the output-channel axis of the weight, such as 0 for ``Conv``, 1 for ``ConvTranspose``,
            and the last axis for the right operand of ``MatMul``. None if there is no weight, or if the axis
            is unknown.
        channels: number of input channels of a convolution; None if unknown or not a convolution.
        filters: number of output channels of a convolution; None if unknown or not a convolution.
        groups: number of groups of a convolution; None for other operators.
        taps: number of kernel elements of a convolution for one pair of input and output channels; None if
            unknown, and for other operators.
        rows: number of rows of a matrix product; None if unknown or not a matrix product.
        depth: number of terms in each sum of a matrix product; None if unknown or not a matrix product.
        columns: number of columns of a matrix product; None if unknown or not a matrix product.
        fed: whether ``data`` comes from a model input.  Only casts, views and quantizers may be between the
            model input and the operator.
    """

    roles: ClassVar[Mapping[str, str]] = {
        "operand": "quantizes or dequantizes an operand",
        "operator": "the operator",
        "result": "quantizes the result",
    }

    op: str
    dtype: ElementType | None
    data: QuantizedOperand
    weight: QuantizedOperand | None
    operands: tuple[QuantizedOperand, ...]
    quantized: int
    result: Quantizer | None
    one_scale: bool | None
    channel_axis: int | None
    channels: int | None
    filters: int | None
    groups: int | None
    taps: int | None
    rows: int | None
    depth: int | None
    columns: int | None
    fed: bool


def find(facts: Facts) -> Iterator[Quantized]:
    """Yield the quantized operators, in graph order."""
    graph, constants = facts.model.graph, facts.model.constants
    if not any(graph.count(op) for op in (*DEQUANTIZERS, *QUANTIZERS)):
        return
    for node in graph.of_onnx(*_OPERATORS):
        found = _fact(node, constants)
        if found is not None:
            yield found


def _fact(node: Node, constants: Constants) -> Quantized | None:
    values = [value for value in node.inputs if value is not None]
    if node.op in _CONVOLUTIONS or node.op in _PRODUCTS:
        values = values[:2]
    operands = tuple(operand(value, constants) for value in values)
    result, quantize = result_quantizer(node.output, constants) or (None, None)
    count = sum(each.quantizer is not None for each in operands)
    sums = node.op in ("Add", "Concat")
    if len(operands) < 2 or not (count or result is not None):
        return None
    if node.op == "Add" and any(each.constant for each in operands):
        return None
    place = None if sums else _weight_place(node, operands)
    weight = None if place is None else operands[place]
    position = 0 if place != 0 else 1
    size = geometry(node, values[1].shape) if node.op in _CONVOLUTIONS else None
    rows, depth, columns = _product_sizes(node, values, constants)
    return Quantized(
        node=node,
        chain=_chain(node, operands, quantize),
        op=node.op,
        dtype=node.output.dtype,
        data=operands[position],
        weight=weight,
        operands=operands,
        quantized=count,
        result=result,
        one_scale=_one_scale(operands, result),
        channel_axis=None if place is None else _channel_axis(node, place, values[place]),
        channels=None if size is None else size.channels,
        filters=None if size is None else size.filters,
        groups=None if size is None else size.groups,
        taps=None if size is None or size.kernel is None else prod(size.kernel),
        rows=rows,
        depth=depth,
        columns=columns,
        fed=behind(values[position], TRANSPARENT).is_input,
    )


def _weight_place(node: Node, operands: tuple[QuantizedOperand, ...]) -> int | None:
    """Return the index of the weight operand, or None if there is no weight.

    For a convolution, the result is 1.  For a product, it is the index of the constant operand, if exactly
    one operand is constant.
    """
    if node.op in _CONVOLUTIONS:
        return 1
    constant = [place for place, each in enumerate(operands) if each.constant]
    return constant[0] if len(constant) == 1 else None


def _channel_axis(node: Node, place: int, weight: Value) -> int | None:
    if node.op in _CONVOLUTIONS:
        return 1 if node.op == "ConvTranspose" else 0
    if node.op == "Gemm":
        transposed = bool(node.number("transB" if place else "transA", 0))
        return int(place != transposed)
    rank = weight.rank
    return None if rank is None or rank < 2 else rank - (1 if place else 2)


def _product_sizes(
    node: Node, values: list[Value], constants: Constants
) -> tuple[int | None, int | None, int | None]:
    """Return the rows, depth and columns of a matrix product, as :class:`Quantized` defines them.

    An unknown number is None.
    """
    if node.op not in _PRODUCTS:
        return None, None, None
    left, right = (constants.dimensions(value) or () for value in values)
    if len(left) < 2 or len(right) < 2:
        return None, None, None
    if node.op == "Gemm":
        left = left[::-1] if node.number("transA", 0) else left
        right = right[::-1] if node.number("transB", 0) else right
    rows, depth, columns = left[-2], left[-1], right[-1]
    if not isinstance(depth, int):
        depth = right[-2]
    return static_size(rows), static_size(depth), static_size(columns)


def _one_scale(operands: tuple[QuantizedOperand, ...], result: Quantizer | None) -> bool | None:
    quantizers = [*(each.quantizer for each in operands), result]
    scales = {None if quantizer is None else quantizer.scale for quantizer in quantizers}
    return None if None in scales else len(scales) == 1


def _chain(node: Node, operands: tuple[QuantizedOperand, ...], result: Node | None) -> tuple[Step, ...]:
    steps = [Step(each, "operand", label="quantized") for part in operands for each in part.nodes]
    floats = [
        ("the stored operand" if part.constant else part.op or "an operand")
        for part in operands
        if part.quantizer is None
    ]
    label = f"not quantized: {', '.join(floats)}" if floats else ""
    steps.append(Step(node, "operator", detail=label, label=label or "here"))
    if result is not None:
        steps.append(Step(result, "result", label="quantized"))
    return tuple(dict.fromkeys(steps))
