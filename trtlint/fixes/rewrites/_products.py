"""Replace products of quantized tensors by FP32 products of the same integers.

For quantized results, the new operators also scale and round the products.

All sums are exact, in FP32 or INT32. FP32 represents integers up to 2^24 exactly. The bound for each sum is
the largest magnitude in the left operand, times the sum of the magnitudes in the right operand. Both
magnitudes are computed after the zero points are subtracted.

Definitions: https://onnx.ai/onnx/operators/onnx__MatMulInteger.html,
https://onnx.ai/onnx/operators/onnx__QLinearConv.html and
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct
from onnx import helper

from trtlint.fixes.patch import MOST_ELEMENTS, NotApplicable, onnx_type
from trtlint.fixes.rewrites._numbers import F32, Numbers, along, quantized_type
from trtlint.fixes.rewrites._quantizers import RANGES
from trtlint.model.graph import Node, Value
from trtlint.model.payload import Array

CONV = frozenset({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"})
"""ONNX attributes of a Conv."""
_EXACT = 1 << 24
"""The integer up to which FP32 represents every integer:
https://en.wikipedia.org/wiki/Single-precision_floating-point_format
"""
_MOST_PARTS = 64
_INT32 = onnx_type("i32")
Write = Callable[[str, str], str]


def settings(node: Node, names: frozenset[str]) -> dict[str, Any]:
    """Return the attributes that a node sets, by name. Skip attributes that are not in ``names``."""
    protos = node.attributes
    return {name: helper.get_attribute_value(protos[name]) for name in sorted(names & protos.keys())}


def matmul_integer(numbers: Numbers, node: Node) -> str | None:
    """Replace a MatMulInteger by a float MatMul.

    Return the name of the FP32 result, or None if the sums are too large for FP32 and stay INT32.
    """
    return _integer(numbers, node, _of_matmul(node, (0, 1, 2, 3)), _matmul(numbers))


def conv_integer(numbers: Numbers, node: Node) -> str | None:
    """Replace a ConvInteger by a float Conv.

    Return the name of the FP32 result, or None if the sums are too large for FP32 and stay INT32.
    """
    return _integer(numbers, node, _of_conv(node, (0, 1, 2, 3)), _conv(numbers, node))


def qlinear_matmul(numbers: Numbers, node: Node) -> str | None:
    """Replace a QLinearMatMul by a float MatMul, and quantize its result."""
    sums = float_product(numbers, node, _of_matmul(node, (0, 3, 2, 5)), _matmul(numbers))
    return _scaled_and_quantized(numbers, node, sums, 0)


def qlinear_conv(numbers: Numbers, node: Node) -> str | None:
    """Replace a QLinearConv by a float Conv, and quantize its result."""
    weight, bias = node.input(3), None
    if weight is None or weight.rank is None:
        raise NotApplicable("the rank of the weight is not known")
    if node.input(8) is not None:
        known = numbers.stored(node.input(8))
        if known is None:
            raise NotApplicable("the bias is not stored in the model")
        bias = along(known, weight.rank - 2)
    sums = float_product(numbers, node, _of_conv(node, (0, 3, 2, 5)), _conv(numbers, node), bias)
    return _scaled_and_quantized(numbers, node, sums, weight.rank - 2)


def gemm(numbers: Numbers, node: Node) -> str | None:
    """Replace a QGemm by a float Gemm. If the QGemm has an output scale, quantize the result."""
    turned, draft = settings(node, frozenset({"transA", "transB"})), numbers.draft
    if node.number("alpha", 1.0) != 1.0:
        raise NotApplicable("QGemm has an alpha other than 1")
    bias = None if node.input(6) is None else numbers.stored(node.input(6))
    if node.input(6) is not None and bias is None:
        raise NotApplicable("the bias is not stored in the model")
    left, right = (node.integer(name, 0) for name in ("transA", "transB"))
    operands = Operands(0, 3, 2, 5, 0 if left else 1, 1 if right else 0, 1 if right else 0)
    floats = float_product(numbers, node, operands, lambda a, b: draft.op("Gemm", a, b, **turned), bias)
    factor = numbers.scale(node, 1).ravel()[0] * numbers.scale(node, 4)
    if node.input(7) is None:
        draft.op("Mul", floats, draft.constant(factor.astype(np.float32), "factor"), out=node.output.name)
        return None
    last = numbers.scale(node, 7)
    steps = draft.op("Mul", floats, draft.constant((factor / last).astype(np.float32), "factor"))
    return numbers.quantized(node, steps, None, 8)


def _integer(numbers: Numbers, node: Node, operands: Operands, write: Write) -> str | None:
    name, is_integer = product(numbers, node, operands, write, out=node.output.name)
    return None if is_integer else name


def _matmul(numbers: Numbers) -> Write:
    return lambda a, b: numbers.draft.op("MatMul", a, b)


def _conv(numbers: Numbers, node: Node) -> Write:
    return lambda a, b: numbers.draft.op("Conv", a, b, **settings(node, CONV))


def _of_matmul(node: Node, ports: tuple[int, int, int, int]) -> Operands:
    weight = node.input(ports[1])
    axis = -1 if weight is not None and weight.rank == 1 else -2
    return Operands(*ports, -1, axis, 0)


def _of_conv(node: Node, ports: tuple[int, int, int, int]) -> Operands:
    weight = node.input(ports[1])
    behind = None if weight is None or weight.rank is None else weight.rank - 1
    grouped = node.integer("group", 1) != 1
    return Operands(*ports, 1, 1, behind, is_convolution=True, grouped=grouped)


def _scaled_and_quantized(numbers: Numbers, node: Node, sums: str, behind: int) -> str | None:
    """Multiply the integer sums of a product by the scales of the operands, and quantize the result.

    Args:
        numbers: object that inserts operators.
        node: the QLinearMatMul or QLinearConv.
        sums: name of the tensor with the sums.
        behind: number of axes after the channel axis of the result.
    """
    first, second, last = (numbers.scale(node, port) for port in (1, 4, 6))
    if first.size != 1 or last.size != 1:
        raise NotApplicable("the scale of the data or of the result is not a scalar")
    factor: Array = along((first.ravel()[0] * second) / last.ravel()[0], behind)
    draft = numbers.draft
    steps = draft.op("Mul", sums, draft.constant(factor.astype(np.float32), "factor"))
    return numbers.quantized(node, steps, None, 7)


class Operands(Struct, frozen=True):
    """Input indices and axes of a matrix product or convolution of quantized operands.

    Attributes:
        left, right: input indices of the operands.
        left_zero, right_zero: input indices of the operands' zero points.
        left_axis, right_axis: summed axes; for a convolution, the channel axes.
        behind: number of axes after the channel axis of the right operand, if each channel has its own zero
            point.
        is_convolution: True for a convolution, whose kernel covers several positions.
        grouped: True for a convolution with groups. The sums of such a convolution cannot be split.
    """

    left: int
    right: int
    left_zero: int
    right_zero: int
    left_axis: int
    right_axis: int
    behind: int | None
    is_convolution: bool = False
    grouped: bool = False


def product(
    numbers: Numbers,
    node: Node,
    operands: Operands,
    write: Write,
    *,
    bias: Array | None = None,
    out: str = "",
) -> tuple[str, bool]:
    """Insert the product (left - left zero point) · (right - right zero point), plus a bias.

    Args:
        numbers: object that inserts operators.
        node: the quantized operator.
        operands: input indices and axes of the operands.
        write: function that inserts the product of two float tensors, and returns the name of the product.
        bias: a bias that broadcasts to the sums.
        out: name of the result, if the result is INT32.

    Returns:
        The name of the result, and True if the type of the result is INT32, False if it is FP32.
    """
    parts = _parts(numbers, node, operands, 0 if bias is None else int(np.abs(bias).max(initial=0)))
    left = numbers.shifted(node, operands.left, operands.left_zero)
    right = numbers.shifted(node, operands.right, operands.right_zero, operands.behind)
    draft, forms = numbers.draft, numbers.forms
    if len(parts) == 1:
        name = write(left, right)
        if bias is not None:
            name = draft.op("Add", name, draft.constant(bias.astype(np.float32), "bias"))
        return name, False
    total = ""
    for index, (start, stop) in enumerate(parts):
        cut = (
            forms.part(left, operands.left_axis, start, stop),
            forms.part(right, operands.right_axis, start, stop),
        )
        whole = draft.op("Cast", write(*cut), to=_INT32)
        last = index == len(parts) - 1 and bias is None
        total = draft.op("Add", total, whole, out=out if last else "") if total else whole
    if bias is not None:
        total = draft.op("Add", total, draft.constant(bias.astype(np.int32), "bias"), out=out)
    return total, True


def float_product(
    numbers: Numbers, node: Node, operands: Operands, write: Write, bias: Array | None = None
) -> str:
    """Insert a :func:`product`, and a Cast to FP32 if the product is INT32.

    The Cast rounds sums above 2^24.
    """
    name, is_integer = product(numbers, node, operands, write, bias=bias)
    return numbers.draft.op("Cast", name, to=F32) if is_integer else name


def _parts(numbers: Numbers, node: Node, operands: Operands, bias: int) -> list[tuple[int, int]]:
    """Split the summed axis into ranges for which FP32 holds the sums exactly.

    The number of ranges is as small as possible.  Return the start and stop of each range.
    """
    most = float(_largest_magnitude(numbers, node, operands.left, operands.left_zero))
    terms = _right_magnitudes(numbers, node, operands)
    if terms is None:
        raise NotApplicable("the number of terms of each sum is not known")
    limit = (_EXACT - bias) / max(most, 1.0)
    if float(np.max(np.sum(terms, axis=0, dtype=np.float64), initial=0.0)) <= limit:
        return [(0, len(terms))]
    if operands.grouped:
        raise NotApplicable(
            "the integer sums can exceed 2^24, the limit of exact integers in FP32, and "
            "trtlint cannot split a convolution with groups"
        )
    added = np.cumsum(terms, axis=0, dtype=np.float64)
    found: list[tuple[int, int]] = []
    start, before = 0, np.zeros(terms.shape[1])
    while start < len(terms):
        low, high = start, len(terms)  # binary search for the last row that fits
        while low < high:
            middle = (low + high + 1) // 2
            fits = float((added[middle - 1] - before).max()) <= limit
            low, high = (middle, high) if fits else (low, middle - 1)
        if low == start or len(found) == _MOST_PARTS:
            raise NotApplicable("the integer sums are far above 2^24, the limit of exact integers in FP32")
        found.append((start, low))
        start, before = low, added[low - 1]
    return found


def _largest_magnitude(numbers: Numbers, node: Node, port: int, zero: int) -> int:
    """Return the largest possible magnitude of an operand after its zero point is subtracted."""
    value, point = node.input(port), node.input(zero)
    low, high = RANGES[quantized_type(value) or "u8"] if value is not None else (0, 0)
    known = None if point is None else numbers.stored(point)
    if point is None:
        points = (0, 0)
    elif known is None or not known.size:
        points = RANGES[quantized_type(point) or "u8"]
    else:
        points = (int(known.min()), int(known.max()))
    return max(abs(high - points[0]), abs(low - points[1]))


def _right_magnitudes(numbers: Numbers, node: Node, operands: Operands) -> Array | None:
    """Return the magnitudes of the right operand's elements as an array [positions, sums].

    A row contains the elements at one position of the summed axis. A column contains the elements of one sum.
    The magnitudes come from the stored right operand, or from the range of its type. The result is None if
    the number of positions is unknown.
    """
    value, point = node.input(operands.right), node.input(operands.right_zero)
    known = _stored_elements(numbers, value)
    zero = np.zeros((), np.int64) if point is None else numbers.stored(point)
    if value is None or known is None or zero is None:
        count = _axis_size(node.input(operands.left), operands.left_axis) or _axis_size(
            value, operands.right_axis
        )
        covered = _kernel_positions(value) if operands.is_convolution else 1
        if count is None or covered is None or operands.grouped:
            return None
        most = _largest_magnitude(numbers, node, operands.right, operands.right_zero)
        return np.full((count, 1), covered * most, np.float32)
    try:
        shifted = along(np.asarray(zero, np.int16), operands.behind)
    except NotApplicable:
        return None
    moved = np.moveaxis(np.abs(known.astype(np.int16) - shifted), operands.right_axis, 0)
    if operands.is_convolution:  # each sum includes all elements of a kernel
        moved = moved.reshape(*moved.shape[:2], -1).sum(axis=-1, dtype=np.float32)
    return moved.reshape(len(moved), -1)


def _kernel_positions(weight: Value | None) -> int | None:
    """Return the number of positions of a convolution kernel, such as 9 for 3×3, or None if unknown."""
    sizes = None if weight is None or weight.shape is None else weight.shape[2:]
    if sizes is None:
        return None
    known = [size for size in sizes if isinstance(size, int)]
    return math.prod(known) if len(known) == len(sizes) else None


def _stored_elements(numbers: Numbers, value: Value | None) -> Array | None:
    """Return the elements of a stored tensor, or None if the tensor is too large or is not stored."""
    dims = () if value is None else value.shape or ()
    known = [dim for dim in dims if isinstance(dim, int)]
    if len(known) < len(dims) or math.prod(known) > MOST_ELEMENTS:
        return None
    return numbers.stored(value)


def _axis_size(value: Value | None, axis: int) -> int | None:
    shape = None if value is None else value.shape
    if not shape or not -len(shape) <= axis < len(shape):
        return None
    size = shape[axis]
    return size if isinstance(size, int) else None
