"""Replace products of quantized tensors by FP32 products of the same integers.

For quantized results, the new operators also scale and round the products.

Definitions: https://onnx.ai/onnx/operators/onnx__MatMulInteger.html,
https://onnx.ai/onnx/operators/onnx__QLinearConv.html and
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import helper

from trtlint.fixes.patch import NotApplicable
from trtlint.fixes.rewrites._numbers import Numbers, along
from trtlint.fixes.rewrites._sums import Operands, Write, float_product, product
from trtlint.model.graph import Node
from trtlint.model.payload import Array

CONV = frozenset({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"})
"""ONNX attributes of a Conv."""


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
