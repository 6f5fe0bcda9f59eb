"""Simulate matrix products and convolutions on tensor cores with FP16 accumulators.

One instruction of a tensor core adds 16 products to the accumulator, and rounds the accumulator to FP16
(``mma.m16n8k16``: https://docs.nvidia.com/cuda/parallel-thread-execution/#warp-level-matrix-instructions).
The simulation does the same for sums of up to 128 products. To save time, the simulation divides sums of 129
to 512 products into 4 blocks, and longer sums into 2 blocks. The simulation rounds once per block. Then it
multiplies the rounding error by the square root of the number of instructions in the block. The reason is
that the sum of n independent errors grows with the square root of n.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct
from onnx import GraphProto, NodeProto, TensorProto, helper

from trtlint.measurement.writing import GraphWriter, WrittenGraph
from trtlint.model.graph import Node, Value

STEP = 16
"""Number of products that one tensor core instruction adds."""
EXACT = 128
"""The simulation covers every instruction of sums with at most this number of products."""
_LONG = 512
"""Sums of up to this number of products are simulated in 4 blocks.

For longer sums, 2 blocks are enough, because many errors average out.
"""
_SLICE_INPUTS = 10
"""First opset in which Slice reads its bounds from inputs: https://onnx.ai/onnx/operators/onnx__Slice.html"""
_LEAST_RANK = 2
_WITHOUT_BIAS = 2


class Sum(Struct, frozen=True):
    """The sum that computes one element of a matrix product or convolution.

    Attributes:
        axes: for each operand, the axis that the sum runs over.
        length: length of the axes; None if it is unknown.
        terms: number of products at each index of the axes. This number is the size of a convolution kernel,
            or 1 for matrices.
    """

    axes: tuple[int, int]
    length: int | None
    terms: int = 1


def sum_of(proto: NodeProto, node: Node | None) -> Sum | None:
    """Describe the sum that computes each output element of a matrix product or convolution.

    The result is None if trtlint does not simulate the operator.

    Args:
        proto: the operator, without a bias.
        node: the node of the operator in the model, for the shapes of the inputs; None if ``proto`` is only
            a part of a node.
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


def accumulate(proto: NodeProto, node: Node | None, write: GraphWriter) -> bool:
    """Write a matrix product or convolution with an FP16 accumulator. Return False if nothing is written.

    Args:
        proto: the operator, with its new inputs and output.
        node: the node of the operator in the model, for the shapes of the inputs; None if they are unknown.
        write: writer of the graph.
    """
    summed = sum_of(proto, node)
    total = None if summed is None else accumulated(proto, summed, write)
    if total is None:
        return False
    write.add("Identity", [total], proto.output[0])
    return True


def accumulated(proto: NodeProto, summed: Sum, write: GraphWriter) -> str | None:
    """Add operators that compute a matrix product or convolution with an FP16 accumulator.

    Args:
        proto: the matrix product or convolution, with its new inputs.
        summed: the sum, from :func:`sum_of`.
        write: writer of the graph.

    Returns:
        The name of the result. None if a single instruction adds all products, or if the opset is too old.
    """
    if write.opset < _SLICE_INPUTS:
        return None
    if summed.length is not None:
        whole = summed.length * summed.terms
        width = STEP if whole <= EXACT else -(-whole // (4 if whole <= _LONG else 2))
        places = max(1, -(-width // STEP) * STEP // summed.terms)
        blocks = -(-summed.length // places)
        if blocks <= 1:
            return None
        growth = math.sqrt(max(1.0, -(-whole // STEP) / blocks))
        count, size = write.constant(blocks, np.int64), write.constant([places], np.int64)
        amplified = None if growth == 1.0 else write.constant(growth)
    else:
        count, size, amplified = _blocks_at_run_time(proto, summed, write)
    body = _body(proto, summed, size, amplified, write)
    # ONNX's reference evaluator does not run the body of a Loop without a condition.
    return write.add("Loop", [count, write.constant(True, np.bool_), write.constant(0.0)], body=body)


def _blocks_at_run_time(proto: NodeProto, summed: Sum, write: GraphWriter) -> tuple[str, str, str]:
    """Add operators that divide a sum of unknown length into blocks.

    Returns:
        The names of three tensors: the number of blocks, the width of a block, and the factor that multiplies
        the rounding error of a block.
    """
    add = write.add
    zero, one = (write.constant([number], np.int64) for number in (0, 1))

    def ceiling(name: str, by: str) -> str:
        return add("Div", [add("Sub", [add("Add", [name, by]), one]), by])

    def at_least_one(name: str) -> str:
        return add("Add", [name, add("Cast", [add("Equal", [name, zero])], to=TensorProto.INT64)])

    shape, place = add("Shape", [proto.input[0]]), write.constant([summed.axes[0]], np.int64)
    if summed.axes[0] < 0:
        place = add("Add", [add("Shape", [shape]), place])
    length = add("Gather", [shape, place], axis=0)
    step = write.constant([STEP], np.int64)
    # An empty axis would have no blocks.  One block gives the zeros of the result.
    width = at_least_one(add("Mul", [ceiling(length, write.constant([EXACT], np.int64)), step]))
    count = ceiling(at_least_one(length), width)
    floats = [add("Cast", [name], to=TensorProto.FLOAT) for name in (ceiling(length, step), count)]
    return count, width, add("Sqrt", [add("Div", floats)])


def _body(proto: NodeProto, summed: Sum, width: str, amplified: str | None, write: GraphWriter) -> GraphProto:
    """Return the body of a Loop that adds one block to the sum, and rounds the sum to FP16.

    Args:
        proto: the matrix product or convolution.
        summed: the sum.
        width: name of the tensor with the width of a block.
        amplified: name of the tensor with the factor of the rounding error; None to round without a factor.
        write: writer of the graph with the Loop.
    """
    index, going, before = (write.fresh() for _ in range(3))
    with write.within(WrittenGraph(main=False)) as body:
        start = write.add("Mul", [index, width])
        end = write.add("Add", [start, width])
        product = NodeProto()
        product.CopyFrom(proto)
        product.name = ""
        product.input[:] = [
            write.add("Slice", [name, start, end, write.constant([axis], np.int64)])
            for name, axis in zip(proto.input[:2], summed.axes, strict=True)
        ]
        product.output[:] = [write.fresh()]
        body.nodes.append(product)
        total = write.add("Add", [before, product.output[0]])
        after = write.add("Cast", [write.add("Cast", [total], to=TensorProto.FLOAT16)], to=TensorProto.FLOAT)
        if amplified is not None:
            error = write.add("Mul", [write.add("Sub", [after, total]), amplified])
            after = write.add("Add", [total, error])
        on = write.add("Identity", [going])
    info = helper.make_tensor_value_info
    return helper.make_graph(
        body.nodes,
        "accumulated",
        [
            info(index, TensorProto.INT64, []),
            info(going, TensorProto.BOOL, []),
            info(before, TensorProto.FLOAT, None),
        ],
        [info(on, TensorProto.BOOL, []), info(after, TensorProto.FLOAT, None)],
        body.initializers,
    )
