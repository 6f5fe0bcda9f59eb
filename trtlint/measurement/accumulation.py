"""Simulate matrix products and convolutions on tensor cores with FP16 accumulators.

One instruction of a tensor core adds 16 products to the accumulator, and rounds the accumulator to FP16
(``mma.m16n8k16``: https://docs.nvidia.com/cuda/parallel-thread-execution/#warp-level-matrix-instructions).
The simulation does the same for sums of up to 128 products. To save time, it divides sums of
129 to 512 products into 4 blocks, and longer sums into 2 blocks. The simulation rounds once per block. Then
it multiplies the rounding error by the square root of the number of instructions in the block. The reason is
that the sum of n independent errors grows with the square root of n.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from onnx import GraphProto, NodeProto, TensorProto, helper, numpy_helper

from trtlint.model.graph import Node, Value

STEP = 16
"""Number of products that one tensor core instruction adds."""
EXACT = 128
"""Largest number of products in a sum for which every instruction is simulated."""
_LONG = 512
"""Largest number of products in a sum of 4 blocks.

Longer sums need only 2 blocks, because many errors average out.
"""
_SLICE_INPUTS = 10
"""First opset in which Slice reads its bounds from inputs: https://onnx.ai/onnx/operators/onnx__Slice.html"""
_LEAST_RANK = 2
_WITHOUT_BIAS = 2

Add = Callable[..., str]
Constant = Callable[..., str]


class Sum(Struct, frozen=True):
    """The sum that computes one element of a matrix product or convolution.

    Attributes:
        axes: for each operand, the axis that the sum runs over.
        length: length of the axes; None if it is unknown.
        terms: number of products at each index of the axes. This is the size of a convolution kernel, or 1
            for matrices.
    """

    axes: tuple[int, int]
    length: int | None
    terms: int = 1


def sum_of(proto: NodeProto, node: Node | None) -> Sum | None:
    """Return the sum in a matrix product or convolution, or None if trtlint does not simulate the operator.

    Args:
        proto: the operator, without a bias.
        node: the same operator in the model, which has the shapes of the inputs; None if ``proto`` is only a
            part of a node.
    """
    if proto.domain or len([name for name in proto.input if name]) > _WITHOUT_BIAS:
        return None
    attributes = {each.name: helper.get_attribute_value(each) for each in proto.attribute}
    first, second = (None, None) if node is None else (node.input(0), node.input(1))
    if proto.op_type == "MatMul":
        if node is not None and (second is None or second.rank is None or second.rank < _LEAST_RANK):
            return None
        return Sum((-1, -2), _size(first, -1) or _size(second, -2))
    if proto.op_type == "Gemm":
        axes = 0 if attributes.get("transA", 0) else 1, 1 if attributes.get("transB", 0) else 0
        return Sum(axes, _size(first, axes[0]) or _size(second, axes[1]))
    if proto.op_type in ("Conv", "ConvTranspose") and attributes.get("group", 1) == 1:
        rank = None if second is None else second.rank
        kernel = [_size(second, axis) for axis in range(_LEAST_RANK, rank or 0)]
        axes = (1, 1) if proto.op_type == "Conv" else (1, 0)
        length = _size(second, axes[1])
        if length is None or not kernel or None in kernel:
            return None
        return Sum(axes, length, math.prod(size or 1 for size in kernel))
    return None


def _size(value: Value | None, axis: int) -> int | None:
    shape = None if value is None else value.shape
    if shape is None or not -len(shape) <= axis < len(shape):
        return None
    size = shape[axis]
    return size if isinstance(size, int) else None


def accumulated(
    proto: NodeProto, summed: Sum, opset: int, add: Add, constant: Constant, fresh: Callable[[], str]
) -> str | None:
    """Add operators that compute a matrix product or convolution with an FP16 accumulator.

    Args:
        proto: the matrix product or convolution, with its new inputs.
        summed: the sum, from :func:`sum_of`.
        opset: version of the default operator set.
        add: function that adds an operator and returns the name of the result.
        constant: function that adds a constant and returns its name.
        fresh: function that returns a new name.

    Returns:
        The name of the result. None if a single instruction adds all products, or if the opset is too old.
    """
    if opset < _SLICE_INPUTS:
        return None
    if summed.length is not None:
        whole = summed.length * summed.terms
        width = STEP if whole <= EXACT else -(-whole // (4 if whole <= _LONG else 2))
        places = max(1, -(-width // STEP) * STEP // summed.terms)
        blocks = -(-summed.length // places)
        if blocks <= 1:
            return None
        growth = math.sqrt(max(1.0, -(-whole // STEP) / blocks))
        count, size = constant(blocks, np.int64), constant([places], np.int64)
        amplified = None if growth == 1.0 else constant(growth)
    else:
        count, size, amplified = _blocks_at_run_time(proto, summed, add, constant)
    body = _body(proto, summed, size, amplified, fresh)
    # ONNX's reference evaluator does not run the body of a Loop without a condition.
    return add("Loop", [count, constant(True, np.bool_), constant(0.0)], body=body)


def _blocks_at_run_time(proto: NodeProto, summed: Sum, add: Add, constant: Constant) -> tuple[str, str, str]:
    """Add operators that divide a sum of unknown length into blocks.

    Returns:
        The names of three results: the number of blocks, their width, and the factor of their rounding
        errors.
    """
    shape = add("Shape", [proto.input[0]])
    axis = summed.axes[0]
    rank = add("Shape", [shape])
    place = add("Add", [rank, constant([axis], np.int64)]) if axis < 0 else constant([axis], np.int64)
    length = add("Gather", [shape, place], axis=0)

    def ceiling(name: str, by: str) -> str:
        less = add("Sub", [add("Add", [name, by]), constant([1], np.int64)])
        return add("Div", [less, by])

    step = constant([STEP], np.int64)
    width = add("Mul", [ceiling(length, constant([EXACT], np.int64)), step])
    # An empty axis would have no blocks.  One block gives the zeros of the result.
    width = add("Add", [width, add("Cast", [_is_zero(width, add, constant)], to=TensorProto.INT64)])
    count = ceiling(
        add("Add", [length, add("Cast", [_is_zero(length, add, constant)], to=TensorProto.INT64)]), width
    )
    floats = [add("Cast", [name], to=TensorProto.FLOAT) for name in (ceiling(length, step), count)]
    return count, width, add("Sqrt", [add("Div", floats)])


def _is_zero(name: str, add: Add, constant: Constant) -> str:
    return add("Equal", [name, constant([0], np.int64)])


def _body(
    proto: NodeProto, summed: Sum, width: str, amplified: str | None, fresh: Callable[[], str]
) -> GraphProto:
    """Return the body of a Loop that adds one block to the sum, and rounds the sum to FP16.

    Args:
        proto: the matrix product or convolution.
        summed: the sum.
        width: name of the tensor with the width of a block.
        amplified: name of the tensor with the factor of the rounding error; None to round without a factor.
        fresh: function that returns a new name.
    """
    names = {key: fresh() for key in ("index", "going", "before", "on", "after")}
    nodes: list[NodeProto] = []

    def write(op: str, inputs: Sequence[str], result: str = "", **attributes: Any) -> str:
        result = result or fresh()
        nodes.append(helper.make_node(op, inputs, [result], **attributes))
        return result

    start = write("Mul", [names["index"], width])
    end = write("Add", [start, width])
    axes = [fresh(), fresh()]
    parts = [
        write("Slice", [name, start, end, axis]) for name, axis in zip(proto.input[:2], axes, strict=True)
    ]
    product = NodeProto()
    product.CopyFrom(proto)
    product.name = ""
    product.input[:] = parts
    product.output[:] = [fresh()]
    nodes.append(product)
    total = write("Add", [names["before"], product.output[0]])
    narrow = write("Cast", [total], to=TensorProto.FLOAT16)
    if amplified is None:
        write("Cast", [narrow], names["after"], to=TensorProto.FLOAT)
    else:
        error = write("Sub", [write("Cast", [narrow], to=TensorProto.FLOAT), total])
        write("Add", [total, write("Mul", [error, amplified])], names["after"])
    write("Identity", [names["going"]], names["on"])
    info = helper.make_tensor_value_info
    return helper.make_graph(
        nodes,
        "accumulated",
        [
            info(names["index"], TensorProto.INT64, []),
            info(names["going"], TensorProto.BOOL, []),
            info(names["before"], TensorProto.FLOAT, None),
        ],
        [info(names["on"], TensorProto.BOOL, []), info(names["after"], TensorProto.FLOAT, None)],
        [
            numpy_helper.from_array(np.array([axis], np.int64), name)
            for axis, name in zip(summed.axes, axes, strict=True)
        ],
    )
