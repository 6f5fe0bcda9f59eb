"""Tests of results for rare layer settings, against explicit numbers or ONNX's reference."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx.reference.ops import load_op

from trtlint.network import onnxops, pointwise, products, reductions
from trtlint.network.layers import Layer, NotComputedError
from trtlint.network.movement import LAYERS as MOVEMENT
from trtlint.network.pointwise import LAYERS as POINTWISE
from trtlint.network.products import LAYERS as PRODUCTS
from trtlint.network.reductions import LAYERS as REDUCTIONS
from trtlint.network.types import dtype_of


class Weights:
    """Stored numbers of a layer, or None."""

    def __init__(self, *numbers: float) -> None:
        self._numbers = numbers

    def array(self) -> Any:
        return np.asarray(self._numbers, np.float32) if self._numbers else None


LAYERS = {**MOVEMENT, **POINTWISE, **PRODUCTS, **REDUCTIONS}
ROW = [[0, 1, 2, 3]]
SQUARE = [[0, 1, 2], [3, 4, 5]]
SAME = {"padding_mode": "SAME_UPPER", "pre_padding": (0, 0), "post_padding": (0, 0)}
BY_ROWS = {"batch_axis": 0, "sequence_axis": 1}
EXACT = {"padding_mode": "EXPLICIT_ROUND_DOWN", "pre_padding": (0, 0), "post_padding": (0, 0)}
PADDED = {**EXACT, "pre_padding": (0, 1), "post_padding": (0, 0)}
CHANNEL = {"mode": "CHANNEL", "scale": Weights(), "shift": Weights(), "power": Weights()}
CONV = {**EXACT, "kernel_size_nd": (1, 1), "stride_nd": (1, 1), "dilation_nd": (1, 1), "bias": Weights()}
TWO_NUMBERS = {"operation": "LINSPACE", "shape": (2,)}
BY_TWO = {"window_size_nd": (1, 2), "stride_nd": (1, 2)}


def computed(
    kind: str, settings: dict[str, Any], *inputs: Any, types: tuple[str, ...] = ("FLOAT", "INT32")
) -> list[Any]:
    """Return the outputs of a layer. Lists become FP32, and arrays keep their types."""
    arrays = [np.asarray(x, np.float32) if isinstance(x, list) else x for x in inputs]
    found = LAYERS[kind](Layer(0, "layer", kind, (), (), types, settings), arrays)
    assert [array.dtype for array in found] == [dtype_of(name) for name in types[: len(found)]]
    return found


def whole(*numbers: Any) -> Any:
    """Return an array of integers."""
    return np.asarray(numbers, np.int32)


@pytest.mark.parametrize(
    ("kind", "settings", "inputs", "expected"),
    [
        ("REDUCE", {"op": "SUM", "axes": 0b10}, [SQUARE], [3, 12]),
        ("REDUCE", {"op": "SUM", "axes": 0b10, "keep_dims": True}, [SQUARE], [[3], [12]]),
        ("REDUCE", {"op": "PROD", "axes": 0b11}, [[[1, 2], [3, 4]]], 24),
        ("REDUCE", {"op": "AVG", "axes": 0b1}, [SQUARE], [1.5, 2.5, 3.5]),
        ("REDUCE", {"op": "MAX", "axes": 0b10}, [[[-3, -1], [2, -5]]], [-1, 2]),
        ("REDUCE", {"op": "MIN", "axes": 0b10}, [[[3, 1], [2, 5]]], [1, 2]),
        ("REDUCE", {"op": "MAX", "axes": 0b10}, [np.zeros((2, 0), np.float32)], [-np.inf, -np.inf]),
        ("REDUCE", {"op": "MIN", "axes": 0b10}, [np.zeros((2, 0), np.float32)], [np.inf, np.inf]),
        ("REDUCE", {"op": "NONE"}, [SQUARE], SQUARE),
        ("REDUCE", {"op": "SUM"}, [SQUARE], SQUARE),
        ("SOFTMAX", {"axes": 0b11}, [[[0, 0], [0, 0]]], [[0.25, 0.25], [0.25, 0.25]]),
        ("SOFTMAX", {"axes": 0b10}, [np.zeros((2, 0), np.float32)], np.zeros((2, 0))),
        ("SOFTMAX", {}, [SQUARE], [[1, 1, 1]] * 2),
        ("NORMALIZATION", {"axes": 0b10}, [[[0.001, -0.001]], [[1]], [[2]]], [[2.3015113, 1.6984887]]),
        ("NORMALIZATION", {}, [[[7]], [[1]], [[2]]], [[2]]),
        ("TOPK", {"op": "MAX", "k": 1, "axes": 0b1}, [SQUARE], [[3, 4, 5]]),
        ("TOPK", {"op": "MIN", "axes": 0b1}, [SQUARE, whole([2])], SQUARE),
        ("FILL", {"operation": "LINSPACE", "shape": (3,)}, [], [0, 1, 2]),
        ("FILL", {"operation": "LINSPACE", "alpha": 3.0}, [], 3),
        ("FILL", {**TWO_NUMBERS, "alpha": 3.0, "beta": 2.0}, [None, None, [5]], [3, 8]),
        ("FILL", {**TWO_NUMBERS, "alpha": 3.0, "beta": 2.0}, [None, [4]], [4, 6]),
        ("SOFTMAX", {"axes": 0b10}, [[[0, 0], [1000, 1000]]], [[0.5, 0.5], [0.5, 0.5]]),
        ("SOFTMAX", {"axes": 0b1}, [[[0, 0], [1000, 0]]], [[0, 0.5], [1, 0.5]]),
        ("TOPK", {"op": "MAX", "k": 2, "axes": 0b10}, [[[1, 3, 2, 3]]], [[3, 3]]),
        ("TOPK", {"op": "MIN", "k": 2, "axes": 0b10}, [[[1, 3, 0, 3]]], [[0, 1]]),
        ("TOPK", {"op": "MIN", "k": 2, "axes": 0b10}, [[[1, 3, 0, 3]], whole(1)], [[0]]),
        ("CUMULATIVE", {"op": "SUM"}, [SQUARE], [[0, 1, 2], [3, 5, 7]]),
        ("CUMULATIVE", {"op": "SUM"}, [SQUARE, whole(1)], [[0, 1, 3], [3, 7, 12]]),
        ("CUMULATIVE", {"op": "SUM", "exclusive": True}, [SQUARE, whole(1)], [[0, 0, 1], [0, 3, 7]]),
        ("CUMULATIVE", {"op": "SUM", "reverse": True}, [SQUARE, whole(1)], [[3, 3, 2], [12, 9, 5]]),
        (
            "CUMULATIVE",
            {"op": "SUM", "reverse": True, "exclusive": True},
            [SQUARE, whole(1)],
            [[3, 2, 0], [9, 5, 0]],
        ),
        ("FILL", {"operation": "LINSPACE", "shape": (3,), "alpha": 2.0, "beta": 0.5}, [], [2, 2.5, 3]),
        ("FILL", {"operation": "LINSPACE", "shape": (2, 2), "alpha": 5.0, "beta": 0.0}, [], [[5, 5], [5, 5]]),
        ("FILL", {"operation": "LINSPACE"}, [whole(2), [7], [3]], [7, 10]),
        ("FILL", {"operation": "LINSPACE"}, [whole(2, 2), [0], [10, 1]], [[0, 1], [10, 11]]),
        ("SHUFFLE", {"reshape_dims": (3, 2)}, [SQUARE], [[0, 1], [2, 3], [4, 5]]),
        ("SHUFFLE", {"reshape_dims": (0, -1, 1)}, [SQUARE], [[[0], [1], [2]], [[3], [4], [5]]]),
        ("SHUFFLE", {"first_transpose": (1, 0), "reshape_dims": (6,)}, [SQUARE], [0, 3, 1, 4, 2, 5]),
        ("SHUFFLE", {"second_transpose": (1, 0)}, [SQUARE, whole(3, 2)], [[0, 2, 4], [1, 3, 5]]),
        ("SHUFFLE", {"reshape_dims": (3, 2)}, [SQUARE, None], [[0, 1], [2, 3], [4, 5]]),
        ("SHUFFLE", {"reshape_dims": (2, 3)}, [SQUARE, whole(0, -1, 1)], [[[0], [1], [2]], [[3], [4], [5]]]),
        ("SHUFFLE", {"reshape_dims": (0, 2), "zero_is_placeholder": False}, [[[]]], np.zeros((0, 2))),
        ("SHUFFLE", {}, [SQUARE], SQUARE),
        ("SHUFFLE", {"first_transpose": (1, 0, 2, 3)}, [SQUARE], [[0, 3], [1, 4], [2, 5]]),
        ("SHUFFLE", {"first_transpose": (1, 0)}, [[1, 2]], [1, 2]),
        ("SLICE", {"start": (0, 1), "shape": (1, 2), "stride": (1, 2)}, [ROW], [[1, 3]]),
        ("SLICE", {"start": (0, 3), "shape": (1, 1), "stride": (1, -1)}, [ROW], [[3]]),
        ("SLICE", {"start": (0, 2), "shape": (1, 3), "stride": (1, 0)}, [ROW], [[2, 2, 2]]),
        ("SLICE", {"start": (0, 0), "shape": (1, 4), "stride": (1, 1)}, [ROW], ROW),
        ("SLICE", {"start": (0, 0), "shape": (1, 2), "stride": (1, 3)}, [ROW], [[0, 3]]),
        ("SLICE", {"start": (0, 0), "shape": (1, 5), "mode": "WRAP"}, [ROW], [[0, 1, 2, 3, 0]]),
        ("SLICE", {"start": (0, 1), "shape": (1, 0)}, [ROW], np.zeros((1, 0))),
        ("SLICE", {"start": (0, 3), "shape": (1, 3), "stride": (1, -1), "mode": "FILL"}, [ROW], [[3, 2, 1]]),
        ("SLICE", {"start": (1, 1), "shape": (2, 2), "mode": "FILL"}, [SQUARE], [[4, 5], [0, 0]]),
        ("SLICE", {"start": (0, -3), "shape": (1, 4), "mode": "REFLECT"}, [[[7, 8]]], [[8, 7, 8, 7]]),
        ("SLICE", {"start": (0, 3), "shape": (1, 2), "stride": (1, -2)}, [ROW], [[3, 1]]),
        ("SLICE", {"start": (0, -1), "shape": (1, 6), "mode": "FILL"}, [ROW], [[0, 0, 1, 2, 3, 0]]),
        (
            "SLICE",
            {"start": (0, -1), "shape": (1, 6), "mode": "FILL"},
            [ROW, None, None, None, [9]],
            [[9, 0, 1, 2, 3, 9]],
        ),
        ("SLICE", {"start": (0, -2), "shape": (1, 8), "mode": "CLAMP"}, [ROW], [[0, 0, 0, 1, 2, 3, 3, 3]]),
        ("SLICE", {"start": (0, -2), "shape": (1, 8), "mode": "WRAP"}, [ROW], [[2, 3, 0, 1, 2, 3, 0, 1]]),
        ("SLICE", {"start": (0, -2), "shape": (1, 8), "mode": "REFLECT"}, [ROW], [[2, 1, 0, 1, 2, 3, 2, 1]]),
        ("SLICE", {"start": (0, -1), "shape": (1, 3), "mode": "REFLECT"}, [[[5]]], [[5, 5, 5]]),
        ("SLICE", {"start": (1,), "shape": (2,)}, [ROW, None, None, None, None, whole(1)], [[1, 2]]),
        ("SLICE", {}, [ROW, whole(0, 3), whole(1, 2), whole(1, -2)], [[3, 1]]),
        ("SLICE", {"start": (0, 1), "stride": (1, 2)}, [ROW, None, whole(1, 2)], [[1, 3]]),
        ("SLICE", {"shape": (1, 2), "stride": (1, 2)}, [ROW, whole(0, 1)], [[1, 3]]),
        ("SLICE", {"start": (0, 1), "shape": (1, 2)}, [ROW, None, None, whole(1, 2)], [[1, 3]]),
        ("SLICE", {"start": (0, 1), "shape": (1, 2), "axes": (-2, -1)}, [ROW], [[1, 2]]),
        ("SLICE", {"start": (0, 1), "shape": (0, 2)}, [ROW], np.zeros((0, 2))),
        ("CONCATENATION", {"axis": 1}, [ROW, ROW], [[0, 1, 2, 3, 0, 1, 2, 3]]),
        ("GATHER", {"axis": 1}, [SQUARE, whole(2, 0)], [[2, 0], [5, 3]]),
        ("GATHER", {"axis": 1, "num_elementwise_dims": 1}, [SQUARE, whole([2], [0])], [[2], [3]]),
        ("GATHER", {"axis": 0, "mode": "ELEMENT"}, [SQUARE, whole([1, 0, 1])], [[3, 1, 5]]),
        ("GATHER", {}, [SQUARE, whole(1)], [SQUARE[1]]),
        ("GATHER", {"axis": 1, "mode": "ELEMENT"}, [SQUARE, whole([2], [0])], [[2], [3]]),
        ("GATHER", {"axis": 2, "num_elementwise_dims": 1}, [[SQUARE, SQUARE], whole([2], [0])],
         [[[2], [5]], [[0], [3]]]),
        ("GATHER", {"axis": 1, "num_elementwise_dims": 1}, [np.zeros((0, 3, 2), np.float32),
         np.zeros((0, 4), np.int32)], np.zeros((0, 4, 2))),
        ("GATHER", {"mode": "ND"}, [SQUARE, whole([1], [0])], [SQUARE[1], SQUARE[0]]),
        ("GATHER", {"mode": "ND", "num_elementwise_dims": 1}, [[SQUARE, SQUARE], whole([[1, 0]], [[0, 2]])],
         [[3], [2]]),
        ("GATHER", {"mode": "ND"}, [SQUARE, whole([1, 0], [0, 2])], [3, 2]),
        ("GATHER", {"mode": "ND", "num_elementwise_dims": 1}, [SQUARE, whole([2], [1])], [2, 4]),
        ("SCATTER", {"axis": 1}, [SQUARE, whole([0], [2]), [[9], [8]]], [[9, 1, 2], [3, 4, 8]]),
        ("SCATTER", {"mode": "ND"}, [SQUARE, whole([1, 1]), [7]], [[0, 1, 2], [3, 7, 5]]),
        ("SCATTER", {}, [SQUARE, whole([1, 0]), [[9, 8]]], [[0, 8, 2], [9, 4, 5]]),
        ("SCATTER", {"axis": 1}, [SQUARE, whole([0]), [[9, 8], [7, 6]]], [[9, 1, 2], [3, 4, 5]]),
        ("SCATTER", {"mode": "ND"}, [SQUARE, whole([1]), [[7, 8, 9]]], [[0, 1, 2], [7, 8, 9]]),
        ("SCATTER", {"mode": "ND"}, [SQUARE, np.zeros((0, 2), np.int32), []], SQUARE),
        ("SCATTER", {"mode": "ND"}, [SQUARE, np.zeros((0,), np.int32), [SQUARE[1], SQUARE[0]]],
         [SQUARE[1], SQUARE[0]]),
        ("PADDING", {"pre_padding_nd": (1, 0), "post_padding_nd": (-1, 0)}, [SQUARE], [[0, 0, 0], [0, 1, 2]]),
        ("PADDING", {"pre_padding_nd": (-1, 0), "post_padding_nd": (1, 2)}, [SQUARE],
         [[3, 4, 5, 0, 0], [0] * 5]),
        ("PADDING", {"pre_padding_nd": (0, 1), "post_padding_nd": (1, -1)}, [[[1, 2]]], [[0, 1], [0, 0]]),
        ("PADDING", {"pre_padding_nd": (0, -1), "post_padding_nd": (0, 2)}, [ROW], [[1, 2, 3, 0, 0]]),
        ("PADDING", {"pre_padding_nd": (0, 1)}, [[[1, 2]]], [[0, 1, 2]]),
        ("PADDING", {"post_padding_nd": (0, 1)}, [[[1, 2]]], [[1, 2, 0]]),
        ("ONE_HOT", {"axis": -1}, [whole(1, -1, 5), [2, 7], whole(2)], [[2, 7], [2, 2], [2, 2]]),
        ("ONE_HOT", {"axis": 0}, [whole(1, 0), [0, 1], whole(2)], [[0, 1], [1, 0]]),
        ("ONE_HOT", {}, [whole(1, 0), [2, 7], whole(2)], [[2, 7], [7, 2]]),
        ("ONE_HOT", {"axis": 1}, [whole([1, 0]), [2, 7], whole([3])], [[[2, 7], [7, 2], [2, 2]]]),
        ("NON_ZERO", {}, [[[0, 1], [2, 0]]], [[0, 1], [1, 0]]),
        ("REVERSE_SEQUENCE", BY_ROWS, [SQUARE, whole(2, 3)], [[1, 0, 2], [5, 4, 3]]),
        ("REVERSE_SEQUENCE", {}, [SQUARE, whole(2, 1, 2)], [[3, 1, 5], [0, 4, 2]]),
        ("SQUEEZE", {}, [[[[1], [2]]], whole(0)], [[1], [2]]),
        ("SQUEEZE", {}, [[[[1], [2]]]], [1, 2]),
        ("UNSQUEEZE", {}, [[1, 2], whole(0, 2)], [[[1], [2]]]),
        ("REVERSE_SEQUENCE", {"sequence_axis": 1, "batch_axis": 0}, [SQUARE, whole(0, 1)], SQUARE),
        ("UNSQUEEZE", {}, [[1, 2], whole(-1)], [[1], [2]]),
        (
            "KV_CACHE_UPDATE",
            {},
            [np.zeros((2, 1, 3, 1), np.float32), np.ones((2, 1, 2, 1), np.float32), whole(0, 1)],
            [[[[1], [1], [0]]], [[[0], [1], [1]]]],
        ),
        ("ACTIVATION", {"type": "RELU"}, [[-1, 0, 2]], [0, 0, 2]),
        ("ACTIVATION", {"type": "LEAKY_RELU", "alpha": 0.5}, [[-2, 0, 2]], [-1, 0, 2]),
        ("ACTIVATION", {"type": "LEAKY_RELU"}, [[-2, 0, 2]], [0, 0, 2]),
        ("ACTIVATION", {"type": "SELU", "alpha": 2.0}, [[-2, 0, 2]], [0, 0, 0]),
        ("ACTIVATION", {"type": "ELU", "alpha": 2.0}, [[-100, 0, 2]], [-2, 0, 2]),
        ("ACTIVATION", {"type": "SELU", "alpha": 2.0, "beta": 3.0}, [[-100, 0, 2]], [-6, 0, 6]),
        ("ACTIVATION", {"type": "SOFTSIGN"}, [[-1, 0, 3]], [-0.5, 0, 0.75]),
        ("ACTIVATION", {"type": "SOFTPLUS", "alpha": 2.0, "beta": 1.0}, [[-100, 100]], [0, 200]),
        ("ACTIVATION", {"type": "SOFTPLUS", "alpha": 1.0, "beta": 3.0}, [[100]], [300]),
        ("ACTIVATION", {"type": "CLIP", "alpha": -1.0, "beta": 1.5}, [[-2, 0, 2]], [-1, 0, 1.5]),
        ("ACTIVATION", {"type": "HARD_SIGMOID", "alpha": 0.25, "beta": 0.5}, [[-4, 1, 4]], [0, 0.75, 1]),
        ("ACTIVATION", {"type": "SCALED_TANH", "alpha": 2.0, "beta": 50.0}, [[-1, 0, 1]], [-2, 0, 2]),
        ("ACTIVATION", {"type": "THRESHOLDED_RELU", "alpha": 1.0}, [[0.5, 1, 2]], [0, 0, 2]),
        ("ACTIVATION", {"type": "SIGMOID"}, [[-80, 0, 80]], [0, 0.5, 1]),
        ("ACTIVATION", {"type": "GELU_ERF"}, [[-10, 0, 10]], [0, 0, 10]),
        ("ACTIVATION", {"type": "GELU_ERF"}, [[1]], [0.8413447]),
        ("ACTIVATION", {"type": "GELU_TANH"}, [[1, 2]], [0.841192, 1.954598]),
        ("ACTIVATION", {"type": "CLIP", "alpha": -1.0, "beta": 1.5}, [np.float32(7)], 1.5),
        ("ACTIVATION", {"type": "HARD_SIGMOID", "alpha": 0.25, "beta": 0.5}, [np.float32(-7)], 0),
        ("ACTIVATION", {"type": "HARD_SIGMOID", "beta": 0.5}, [[-4, 4]], [0.5, 0.5]),
        ("ACTIVATION", {"type": "TANH"}, [[-100, 0, 0.5, 100]], [-1, 0, 0.46211716, 1]),
        ("ACTIVATION", {"type": "SIGMOID"}, [[1]], [0.7310586]),
        ("UNARY", {"op": "ERF"}, [[0.5, -1]], [0.5204999, -0.8427008]),
        ("UNARY", {"op": "RECIP"}, [[2, 4]], [0.5, 0.25]),
        ("UNARY", {"op": "ROUND"}, [[0.5, 1.5, -0.5]], [0, 2, 0]),
        ("ELEMENTWISE", {"op": "SUB"}, [[3], [1, 5]], [2, -2]),
        ("ELEMENTWISE", {"op": "DIV"}, [[3, -7], [2, 2]], [1.5, -3.5]),
        ("ELEMENTWISE", {"op": "POW"}, [[2, 4], [-1, 0.5]], [0.5, 2]),
        ("ELEMENTWISE", {"op": "FLOOR_DIV"}, [[-3], [2]], [-2]),
        ("ELEMENTWISE", {"op": "POW"}, [[3], [2]], [9]),
        ("PARAMETRIC_RELU", {}, [[-2, 0, 2], [0.5]], [-1, 0, 2]),
        ("SELECT", {}, [np.array([True, False]), [1, 2], [3, 4]], [1, 4]),
        (
            "SCALE",
            {"scale": Weights(2), "shift": Weights(1), "power": Weights(2), "mode": "UNIFORM"},
            [[[0, 1]]],
            [[1, 9]],
        ),
        (
            "SCALE",
            {**CHANNEL, "scale": Weights(2, 3)},
            [[[1, 1], [2, 2]]],
            [[2, 3], [4, 6]],
        ),
        (
            "SCALE",
            {**CHANNEL, "scale": Weights(1, 2), "channel_axis": 0},
            [[[1, 1], [2, 2]]],
            [[1, 1], [4, 4]],
        ),
        (
            "SCALE",
            {"scale": Weights(), "shift": Weights(1, 2), "power": Weights(), "mode": "ELEMENTWISE"},
            [[[1, 1]]],
            [[2, 3]],
        ),
        (
            "SCALE",
            {"scale": Weights(1, 2, 3, 4), "shift": Weights(), "power": Weights(), "mode": "ELEMENTWISE",
             "channel_axis": 0},
            [[[1, 1], [1, 1]]],
            [[1, 2], [3, 4]],
        ),
        ("MATRIX_MULTIPLY", {"op0": "NONE", "op1": "NONE"}, [SQUARE, [[1], [0], [2]]], [[4], [13]]),
        ("MATRIX_MULTIPLY", {"op0": "TRANSPOSE", "op1": "TRANSPOSE"}, [SQUARE, [[1, 2]]], [[6], [9], [12]]),
        ("MATRIX_MULTIPLY", {"op0": "TRANSPOSE", "op1": "TRANSPOSE"}, [[SQUARE] * 2, [[[1, 2]], [[0, 1]]]],
         [[[6], [9], [12]], [[3], [4], [5]]]),
        ("MATRIX_MULTIPLY", {"op0": "NONE", "op1": "NONE"}, [np.zeros((2, 0), np.float32),
         np.zeros((0, 3), np.float32)], [[0] * 3] * 2),
        ("MATRIX_MULTIPLY", {"op0": "TRANSPOSE", "op1": "NONE"}, [whole([1], [2]), whole([3], [4])], [[11]]),
        ("MATRIX_MULTIPLY", {"op0": "NONE", "op1": "TRANSPOSE"}, [whole([1, 2]), whole([3, 4])], [[11]]),
        ("MATRIX_MULTIPLY", {"op0": "NONE", "op1": "VECTOR"}, [[SQUARE] * 2, [[1, 0, 2], [0, 1, 0]]],
         [[4, 13], [1, 4]]),
        ("MATRIX_MULTIPLY", {"op0": "VECTOR", "op1": "NONE"}, [[[1, 2], [0, 1]], [SQUARE] * 2],
         [[6, 9, 12], [3, 4, 5]]),
        ("MATRIX_MULTIPLY", {"op0": "TRANSPOSE", "op1": "NONE"}, [SQUARE, [[1], [2]]], [[6], [9], [12]]),
        ("MATRIX_MULTIPLY", {"op0": "NONE", "op1": "TRANSPOSE"}, [SQUARE, [[1, 0, 2]]], [[4], [13]]),
        ("MATRIX_MULTIPLY", {"op0": "NONE", "op1": "VECTOR"}, [SQUARE, [1, 0, 2]], [4, 13]),
        ("MATRIX_MULTIPLY", {"op0": "VECTOR", "op1": "NONE"}, [[1, 2], SQUARE], [6, 9, 12]),
        ("MATRIX_MULTIPLY", {"op0": "VECTOR", "op1": "VECTOR"}, [[1, 2], [3, 4]], 11),
        ("MATRIX_MULTIPLY", {"op0": "VECTOR", "op1": "VECTOR"}, [[[1, 2]], [[3, 4]]], [11]),
        ("MATRIX_MULTIPLY", {"op0": "TRANSPOSE", "op1": "NONE"}, [[[[1], [2]]], [[[3], [4]]]], [[[11]]]),
        ("MATRIX_MULTIPLY", {"op0": "NONE", "op1": "TRANSPOSE"}, [[[[1, 2]]], [[[3, 4]]]], [[[11]]]),
        ("EINSUM", {"equation": "ij,j->i"}, [SQUARE, [1, 0, 2]], [4, 13]),
        ("CONVOLUTION", CONV, [[[ROW]], [[[[2]]]]], [[[[0, 2, 4, 6]]]]),
        ("CONVOLUTION", CONV, [[[ROW]], [[[[2]]]], [1]], [[[[1, 3, 5, 7]]]]),
        ("CONVOLUTION", {**CONV, **SAME, "stride_nd": (1, 3)}, [[[ROW]], [[[[1, 1]]]]], [[[[1, 3]]]]),
        (
            "CONVOLUTION",
            {**CONV, "pre_padding": (0, 1), "stride_nd": (1, 2)},
            [[[ROW]], [[[[1]]]]],
            [[[[0, 1, 3]]]],
        ),
        ("POOLING", {"type": "MAX", **BY_TWO, **EXACT}, [[[[[-4, -3, -2, -1, 0]]]]], [[[[-3, -1]]]]),
        ("POOLING", {"type": "MAX", **BY_TWO, **PADDED}, [[[[[-4, -3, -2, -1, 0]]]]], [[[[-4, -2, 0]]]]),
        ("POOLING", {"type": "MAX", **BY_TWO, **SAME}, [[[[[-4, -3, -2]]]]], [[[[-3, -2]]]]),
        (
            "POOLING",
            {"type": "MAX", **BY_TWO, **SAME, "padding_mode": "SAME_LOWER"},
            [[[[[-4, -3, -2]]]]],
            [[[[-4, -2]]]],
        ),
        (
            "POOLING",
            {"type": "MAX", **BY_TWO, **EXACT, "padding_mode": "EXPLICIT_ROUND_UP"},
            [[[[[1, 2, 3]]]]],
            [[[[2, 3]]]],
        ),
        ("POOLING", {"type": "AVERAGE", **BY_TWO, **PADDED}, [[[[[2, 4, 6]]]]], [[[[2, 5]]]]),
        (
            "POOLING",
            {"type": "AVERAGE", **BY_TWO, **PADDED, "average_count_excludes_padding": False},
            [[[[[2, 4, 6]]]]],
            [[[[1, 5]]]],
        ),
        (
            "POOLING",
            {"type": "MAX_AVERAGE_BLEND", **BY_TWO, **EXACT, "blend_factor": 0.25},
            [[[[[2, 4]]]]],
            [[[[3.75]]]],
        ),
    ],
)  # fmt: skip
def test_results(kind: str, settings: dict[str, Any], inputs: list[Any], expected: Any) -> None:
    found = computed(kind, settings, *inputs, types=("FLOAT", "INT32"))[0]
    np.testing.assert_allclose(found, np.asarray(expected, np.float32), rtol=1e-5, atol=1e-6)
    assert found.shape == np.asarray(expected).shape


@pytest.mark.parametrize(
    ("kind", "settings", "inputs", "type_", "expected"),
    [
        ("REDUCE", {"op": "MAX", "axes": 0b1}, [whole()], "INT32", -(2**31)),
        ("REDUCE", {"op": "MIN", "axes": 0b1}, [whole()], "INT32", 2**31 - 1),
        ("REDUCE", {"op": "MAX", "axes": 0b1}, [np.array([], bool)], "BOOL", False),
        ("REDUCE", {"op": "MIN", "axes": 0b1}, [np.array([], bool)], "BOOL", True),
        ("REDUCE", {"op": "SUM", "axes": 0b1}, [np.array([100, 100], np.int8)], "INT8", -56),
        ("TOPK", {"op": "MAX", "k": 2, "axes": 0b1}, [np.array([-128, 5, 127], np.int8)], "INT8", [127, 5]),
        ("FILL", {"operation": "LINSPACE", "shape": (3,), "alpha": 7, "beta": 1 << 40}, [], "INT64",
         [7, 7 + (1 << 40), 7 + (2 << 40)]),
        ("ELEMENTWISE", {"op": "DIV"}, [whole(-7, 7, 7), whole(2, -2, 0)], "INT32", [-3, -3, 0]),
        ("ELEMENTWISE", {"op": "DIV"}, [whole(-(2**31), 2**31 - 1), whole(3, -2)], "INT32",
         [-715827882, -1073741823]),
        ("ELEMENTWISE", {"op": "POW"}, [whole(3), whole(4)], "INT32", [81]),
        ("ACTIVATION", {"type": "CLIP", "alpha": -1.5, "beta": 1e30}, [whole(-9, 9)], "INT32", [-1, 9]),
        ("ACTIVATION", {"type": "CLIP", "alpha": -1e30, "beta": 1e30}, [np.array([-(2**62), 2**62])], "INT64",
         [-(2**62), 2**62]),
        ("ACTIVATION", {"type": "CLIP", "alpha": -5, "beta": 300}, [np.array([0, 255], np.uint8)], "UINT8",
         [0, 255]),
        ("ACTIVATION", {"type": "CLIP", "alpha": -0.5, "beta": 7}, [np.array([True, False])], "BOOL",
         [True, False]),
        ("ACTIVATION", {"type": "CLIP", "alpha": 1, "beta": 7}, [np.array([True, False])], "BOOL",
         [True, True]),
        ("ACTIVATION", {"type": "RELU"}, [np.array([-1, 2], np.float16)], "HALF", [0, 2]),
        ("UNARY", {"op": "ABS"}, [np.array([-1, 2], np.int8)], "INT8", [1, 2]),
        ("CAST", {}, [np.array([3, -4], ml_dtypes.int4)], "FLOAT", [3, -4]),
        ("CAST", {}, [np.array([1.5, -3], ml_dtypes.bfloat16)], "INT32", [1, -3]),
        ("CAST", {}, [np.array([300, -300], np.int32)], "INT64", [300, -300]),
        ("CAST", {}, [np.array([300, 1 << 24], np.int64)], "FLOAT", [300, 1 << 24]),
        ("CAST", {}, [np.array([200], np.uint8)], "INT32", [200]),
        ("CAST", {}, [np.array([True, False])], "FLOAT", [1, 0]),
        ("CAST", {}, [np.array([1.5, 500], np.float32)], "FP8", [1.5, 448]),
        ("CAST", {}, [np.array([1.5, np.nan], ml_dtypes.float8_e4m3fn)[:1]], "FP8", [1.5]),
        ("CAST", {}, [np.array([100], np.int64)], "FP4", [6]),
        ("TOPK", {"op": "MIN", "k": 2, "axes": 0b1}, [np.array([-128, 5, 127], np.int8)], "INT8", [-128, 5]),
        ("POOLING", {"type": "MAX", **BY_TWO, **PADDED}, [np.array([[[[-4, -3, -2]]]], np.int8)], "INT8",
         [[[[-4, -2]]]]),
        ("CAST", {}, [np.array([0.0, -0.5, np.nan], np.float32)], "BOOL", [False, True, True]),
        ("CAST", {}, [np.array([-1.9, 1.9], np.float32)], "INT32", [-1, 1]),
        ("CAST", {}, [np.array([9.0, -9.0], np.float32)], "INT4", [7, -8]),
        ("CONSTANT", {"shape": (2, 1), "weights": Weights(3, 4)}, [], "FLOAT", [[3], [4]]),
        ("CONSTANT", {"shape": (2,), "weights": Weights(3, 4)}, [], "INT32", [0x40400000, 0x40800000]),
        ("CONSTANT", {"shape": (2,), "weights": Weights(3, 4)}, [], "INT64", [3, 4]),
        ("CONSTANT", {"shape": (0, 2), "weights": Weights()}, [], "HALF", []),
        ("CONSTANT", {"weights": Weights()}, [], "FLOAT", 0),
        ("CONSTANT", {"weights": Weights(5)}, [], "FLOAT", 5),
        ("NON_ZERO", {}, [np.array(True)], "INT64", []),
        ("SHAPE", {}, [np.zeros((2, 0, 5))], "INT64", [2, 0, 5]),
        ("QUANTIZE", {}, [np.array([0.5, 1.5, -300], np.float32), np.float32(1)], "INT8", [0, 2, -128]),
        ("QUANTIZE", {"axis": 0}, [np.ones((2, 1), np.float32), np.array([0.5, 0.25], np.float32)], "INT8",
         [[2], [4]]),
        ("QUANTIZE", {}, [np.array([1, -1], np.float32), np.float32(0.5), np.array(128, np.uint8)], "UINT8",
         [130, 126]),
    ],
)  # fmt: skip
def test_results_of_other_types(
    kind: str, settings: dict[str, Any], inputs: list[Any], type_: str, expected: Any
) -> None:
    found = computed(kind, settings, *inputs, types=(type_, "INT32"))[0]
    assert found.tolist() == expected


@pytest.mark.parametrize(
    ("settings", "inputs", "expected"),
    [
        ({}, [np.array([1, -2], np.int8), np.float32(0.5)], [0.5, -1]),
        ({}, [np.array([130, 126], np.uint8), np.float32(0.5), np.array(128, np.uint8)], [1, -1]),
        ({"axis": 0}, [np.array([[1], [1]], np.int8), np.array([2, 4], np.float32)], [[2], [4]]),
        ({}, [np.array([[1], [1]], np.int8).T, np.array([2, 4], np.float32)], [[2, 4]]),
        ({}, [np.ones((2, 4), np.int8), np.array([[1, 2], [3, 4]], np.float32)],
         [[1, 1, 2, 2], [3, 3, 4, 4]]),
        ({}, [np.ones((1, 3), np.int8), np.array([[1, 2]], np.float32)], [[1, 1, 2]]),
        ({}, [np.ones((4, 2), np.int8), np.array([[1, 2], [3, 4]], np.float32)],
         [[1, 2], [1, 2], [3, 4], [3, 4]]),
    ],
)  # fmt: skip
def test_dequantized_numbers(settings: dict[str, Any], inputs: list[Any], expected: Any) -> None:
    assert computed("DEQUANTIZE", settings, *inputs)[0].tolist() == expected


def test_positions_come_with_the_largest_numbers() -> None:
    values, places = computed(
        "TOPK", {"op": "MAX", "k": 3, "axes": 0b10}, [[1, 3, 2, 3]], types=("FLOAT", "INT32")
    )
    assert (values.tolist(), places.tolist()) == ([[3, 3, 2]], [[1, 3, 2]])
    found, count = computed("NON_ZERO", {}, [0, 4, 5], types=("INT64", "INT64"))
    assert (found.tolist(), int(count)) == ([[1, 2]], 2)
    for scalar in (False, True):
        found, count = computed("NON_ZERO", {}, np.array(scalar), types=("INT64", "INT64"))
        assert (found.shape, int(count)) == ((0, int(scalar)), scalar)


def test_axes_are_a_mask_of_32_bits() -> None:
    assert reductions.axes_of(0) == ()
    assert reductions.axes_of(0xFFFF_FFFF) == tuple(range(32))
    assert reductions.axes_of(1 << 32) == ()


@pytest.mark.parametrize("window", [1, 2, 3, 4])
def test_lrn_is_that_of_onnx(window: int) -> None:
    x = np.random.default_rng(0).normal(size=(1, 5, 2, 3)).astype(np.float32)
    squares = np.zeros_like(x)
    for channel in range(5):  # https://onnx.ai/onnx/operators/onnx__LRN.html
        first, last = max(0, channel - (window - 1) // 2), min(4, channel + window // 2)
        squares[:, channel] = (x[:, first : last + 1] ** 2).sum(axis=1)
    (found,) = computed("LRN", {"window_size": window, "alpha": 0.5, "beta": 0.75, "k": 2.0}, x)
    np.testing.assert_allclose(found, x / (2 + 0.5 / window * squares) ** 0.75, rtol=1e-5)


@pytest.mark.parametrize(("groups", "parameters"), [(1, 1), (2, 2), (2, 4)])
def test_normalizations_are_those_of_onnx(groups: int, parameters: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 4, 3)).astype(np.float32)
    scale, bias = rng.normal(size=(2, 1, parameters, 1)).astype(np.float32)
    settings = {"num_groups": groups, "axes": 0b110, "epsilon": 0.5}
    (found,) = computed("NORMALIZATION", settings, x, scale, bias)
    apart = x.reshape(2, groups, -1)
    centre = apart - apart.mean(axis=2, keepdims=True)
    plain = (centre / np.sqrt((centre**2).mean(axis=2, keepdims=True) + 0.5)).reshape(x.shape)
    each = 4 // parameters if groups > 1 and parameters > 1 else 1
    wide_scale, wide_bias = (np.repeat(given, each, axis=1) for given in (scale, bias))
    np.testing.assert_allclose(found, plain * wide_scale + wide_bias, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "op", "groups", "shape"),
    [
        ("CONVOLUTION", "Conv", 2, (6, 2, 3, 2)),
        ("CONVOLUTION", "Conv", 1, (6, 4, 3, 2)),
        ("DECONVOLUTION", "ConvTranspose", 1, (4, 6, 3, 2)),
    ],
)
@pytest.mark.parametrize("connected", [True, False])
def test_convolutions_are_those_of_onnx(
    kind: str, op: str, groups: int, shape: tuple[int, ...], connected: bool
) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1, 4, 6, 5)).astype(np.float32)
    kernel, bias = rng.normal(size=shape).astype(np.float32), rng.normal(size=6).astype(np.float32)
    settings: dict[str, Any] = {
        "num_groups": groups,
        "num_output_maps": 6,
        "kernel_size_nd": (3, 2),
        "stride_nd": (2, 1),
        "dilation_nd": (1, 2),
        "pre_padding": (1, 0),
        "post_padding": (0, 1),
    }
    stored = {"kernel": Weights(*kernel.reshape(-1)), "bias": Weights(*bias)}
    inputs = [x, kernel, bias] if connected else [x]
    (found,) = computed(kind, {**settings, **({} if connected else stored)}, *inputs)
    given = {"strides": [2, 1], "dilations": [1, 2], "pads": [1, 0, 0, 1], "group": groups}
    expected = load_op("", op, 11).eval(x, kernel, bias, **given)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("kind", "settings", "inputs", "reason"),
    [
        ("REDUCE", {"op": "OTHER"}, [ROW], "the reduction OTHER"),
        ("TOPK", {"op": "MAX", "k": 1, "axes": 0b11}, [ROW], "a TopK over several axes"),
        ("TOPK", {"op": "MAX", "k": 1}, [ROW], "a TopK over several axes"),
        ("CUMULATIVE", {"op": "PROD"}, [ROW], "the cumulative operation PROD"),
        ("FILL", {"operation": "RANDOM_UNIFORM"}, [], "random numbers"),
        ("SLICE", {"shape": (1,)}, [ROW], "a slice without start or size"),
        ("SLICE", {"start": (0, 0)}, [ROW], "a slice without start or size"),
        ("SLICE", {"start": (0, 0), "shape": (1, -1)}, [ROW], "a slice of negative size"),
        ("SLICE", {"start": (0, 1), "shape": (1, 4)}, [ROW], "a slice outside the bounds of its input"),
        ("SLICE", {"start": (0, 1), "shape": (1, 4), "mode": "X"}, [ROW], "slices of mode X"),
        ("SLICE", {"start": (0, 0), "shape": (1, 1), "mode": "CLAMP"}, [[[]]], "a slice of an empty tensor"),
        ("ACTIVATION", {"type": "OTHER"}, [ROW], "the activation OTHER"),
        ("UNARY", {"op": "OTHER"}, [ROW], "the operation OTHER"),
        ("ELEMENTWISE", {"op": "OTHER"}, [ROW, ROW], "the operation OTHER"),
        ("POOLING", {"type": "MAX", **EXACT, "window_size_nd": (1, 5), "stride_nd": (1, 1)}, [[[ROW]]],
         "a pooling window larger than its input"),
        ("POOLING", {"type": "MAX", **EXACT, "window_size_nd": (2, 1), "stride_nd": (1, 1)}, [[[ROW]]],
         "a pooling window larger than its input"),
        ("CONVOLUTION", {"kernel": Weights(), "bias": Weights()}, [[[ROW]]], "a convolution without weights"),
        ("CONVOLUTION", {**CONV, "padding_mode": "EXPLICIT_ROUND_UP"}, [[[ROW]], [[[[2]]]]],
         "a convolution with padding mode EXPLICIT_ROUND_UP"),
    ],
)  # fmt: skip
def test_what_is_not_computed(kind: str, settings: dict[str, Any], inputs: list[Any], reason: str) -> None:
    with pytest.raises(NotComputedError, match=reason):
        computed(kind, settings, *inputs)


@pytest.mark.parametrize("kind", ["MAX", "AVERAGE", "MAX_AVERAGE_BLEND"])
@pytest.mark.parametrize("excludes", [True, False])
@pytest.mark.parametrize("mode", ["EXPLICIT_ROUND_DOWN", "EXPLICIT_ROUND_UP"])
@pytest.mark.parametrize(
    ("window", "stride", "before", "after"),
    [
        ((2, 3), (1, 2), (0, 0), (0, 0)),
        ((3, 2), (2, 3), (1, 0), (0, 1)),
        ((2, 2), (3, 2), (1, 1), (1, 1)),
        ((1, 4), (1, 3), (0, 2), (0, 3)),
    ],
)
def test_pooled_windows(
    kind: str,
    excludes: bool,
    mode: str,
    window: tuple[int, int],
    stride: tuple[int, int],
    before: tuple[int, int],
    after: tuple[int, int],
) -> None:
    x = np.random.default_rng(0).normal(size=(1, 2, 5, 6)).astype(np.float32)
    settings = {
        "type": kind,
        "window_size_nd": window,
        "stride_nd": stride,
        "pre_padding": before,
        "post_padding": after,
        "padding_mode": mode,
        "average_count_excludes_padding": excludes,
        "blend_factor": 0.25,
    }
    (found,) = computed("POOLING", settings, x)
    spaces = [size + first + last for size, first, last in zip((5, 6), before, after, strict=True)]
    rounded = math.ceil if mode.endswith("UP") else math.floor
    sizes = zip(spaces, window, stride, strict=True)
    counts = [rounded((space - size) / step) + 1 for space, size, step in sizes]
    assert found.shape == (1, 2, *counts)
    for channel, row, column in np.ndindex(2, *counts):
        places = [
            (row * stride[0] + down - before[0], column * stride[1] + right - before[1])
            for down, right in np.ndindex(*window)
        ]
        inside = [x[0, channel, a, b] for a, b in places if 0 <= a < 5 and 0 <= b < 6]
        framed = [each for each in places if each[0] < 5 + after[0] and each[1] < 6 + after[1]]
        largest = max(inside, default=-np.inf)
        count = len(inside if excludes else framed)
        average = sum(inside) / count if count else np.nan
        expected = {"MAX": largest, "AVERAGE": average, "MAX_AVERAGE_BLEND": 0.75 * largest + 0.25 * average}
        np.testing.assert_allclose(found[0, channel, row, column], expected[kind], rtol=1e-5)


def test_the_largest_pooling_window(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"type": "MAX", **BY_TWO, **EXACT}
    monkeypatch.setattr(products, "_MOST_PLACES", 2)
    assert computed("POOLING", settings, [[ROW]])[0].tolist() == [[[[1, 3]]]]
    monkeypatch.setattr(products, "_MOST_PLACES", 1)
    with pytest.raises(NotComputedError):
        computed("POOLING", settings, [[ROW]])


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("ACTIVATION", {"type": "SIGMOID"}),
        ("ACTIVATION", {"type": "TANH"}),
        ("ACTIVATION", {"type": "HARD_SIGMOID", "alpha": 0.25, "beta": 0.5}),
        ("SOFTMAX", {"axes": 0b1}),
        ("SOFTMAX", {"axes": 0b10}),
        ("SOFTMAX", {"axes": 0b11}),
    ],
)
def test_large_tensors_have_the_same_results(
    kind: str, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def compute(op: str, inputs: Any, attributes: Any) -> Any:
        asked.append(op)
        return onnxops.compute(op, inputs, attributes)

    for module in (pointwise, reductions):
        monkeypatch.setattr(module, "compute", compute)
    x = np.array([[-3, 0, 0.5], [1, 2, -8]], np.float32)
    infinite = np.array([[-np.inf, 0, 0.5], [1, 2, -8]], np.float32)
    for array, alone in ((x, settings.get("axes") == 0b11), (infinite, kind == "SOFTMAX")):
        small = computed(kind, settings, array)[0]
        assert asked == []
        for module in (pointwise, reductions):
            monkeypatch.setattr(module, "LARGE", 6)
        computed(kind, settings, array)
        assert asked == []
        for module in (pointwise, reductions):
            monkeypatch.setattr(module, "LARGE", 5)
        np.testing.assert_allclose(computed(kind, settings, array)[0], small, atol=1e-6)
        assert bool(asked) is not alone
        asked.clear()
        doubles = computed(kind, settings, array.astype(np.float64), types=("FLOAT",))[0]
        np.testing.assert_allclose(doubles, small, rtol=1e-5)
        assert asked == []
        for module in (pointwise, reductions):
            monkeypatch.setattr(module, "LARGE", 1 << 16)
