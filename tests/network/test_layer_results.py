"""What layers compute, for settings that the parser seldom makes: by hand, or by ONNX's reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx.reference.ops import load_op

from trtlint.network.layers import Layer, NotComputedError
from trtlint.network.movement import LAYERS as MOVEMENT
from trtlint.network.pointwise import LAYERS as POINTWISE
from trtlint.network.products import LAYERS as PRODUCTS
from trtlint.network.quantizing import LAYERS as QUANTIZING
from trtlint.network.reductions import LAYERS as REDUCTIONS
from trtlint.network.types import dtype_of


class Weights:
    """Stored numbers of a layer; None for none."""

    def __init__(self, *numbers: float) -> None:
        self._numbers = numbers

    def array(self) -> Any:
        return np.asarray(self._numbers, np.float32) if self._numbers else None


LAYERS = {**MOVEMENT, **POINTWISE, **PRODUCTS, **QUANTIZING, **REDUCTIONS}
ROW = [[0, 1, 2, 3]]
SQUARE = [[0, 1, 2], [3, 4, 5]]
SAME = {"padding_mode": "SAME_UPPER", "pre_padding": (0, 0), "post_padding": (0, 0)}
BY_ROWS = {"batch_axis": 0, "sequence_axis": 1}
EXACT = {"padding_mode": "EXPLICIT_ROUND_DOWN", "pre_padding": (0, 0), "post_padding": (0, 0)}
PADDED = {**EXACT, "pre_padding": (0, 1), "post_padding": (0, 0)}
CHANNEL = {"mode": "CHANNEL", "scale": Weights(), "shift": Weights(), "power": Weights()}
BY_TWO = {"window_size_nd": (1, 2), "stride_nd": (1, 2)}


def computed(
    kind: str, settings: dict[str, Any], *inputs: Any, types: tuple[str, ...] = ("FLOAT", "INT32")
) -> list[Any]:
    """The outputs of a layer; lists are FP32, arrays keep their types."""
    arrays = [np.asarray(x, np.float32) if isinstance(x, list) else x for x in inputs]
    found = LAYERS[kind](Layer(0, "layer", kind, (), (), types, settings), arrays)
    assert [array.dtype for array in found] == [dtype_of(name) for name in types[: len(found)]]
    return found


def whole(*numbers: Any) -> Any:
    """An array of whole numbers."""
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
        ("SLICE", {"start": (0, 1), "shape": (1, 2), "stride": (1, 2)}, [ROW], [[1, 3]]),
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
        ("GATHER", {"mode": "ND"}, [SQUARE, whole([1, 0], [0, 2])], [3, 2]),
        ("GATHER", {"mode": "ND", "num_elementwise_dims": 1}, [SQUARE, whole([2], [1])], [2, 4]),
        ("SCATTER", {"axis": 1}, [SQUARE, whole([0], [2]), [[9], [8]]], [[9, 1, 2], [3, 4, 8]]),
        ("SCATTER", {"mode": "ND"}, [SQUARE, whole([1, 1]), [7]], [[0, 1, 2], [3, 7, 5]]),
        ("PADDING", {"pre_padding_nd": (0, 1), "post_padding_nd": (1, -1)}, [[[1, 2]]], [[0, 1], [0, 0]]),
        ("PADDING", {"pre_padding_nd": (0, -1), "post_padding_nd": (0, 2)}, [ROW], [[1, 2, 3, 0, 0]]),
        ("PADDING", {"pre_padding_nd": (0, 1)}, [[[1, 2]]], [[0, 1, 2]]),
        ("PADDING", {"post_padding_nd": (0, 1)}, [[[1, 2]]], [[1, 2, 0]]),
        ("ONE_HOT", {"axis": -1}, [whole(1, -1, 5), [2, 7], whole(2)], [[2, 7], [2, 2], [2, 2]]),
        ("ONE_HOT", {"axis": 0}, [whole(1, 0), [0, 1], whole(2)], [[0, 1], [1, 0]]),
        ("NON_ZERO", {}, [[[0, 1], [2, 0]]], [[0, 1], [1, 0]]),
        ("REVERSE_SEQUENCE", BY_ROWS, [SQUARE, whole(2, 3)], [[1, 0, 2], [5, 4, 3]]),
        ("REVERSE_SEQUENCE", {}, [SQUARE, whole(2, 1, 2)], [[3, 1, 5], [0, 4, 2]]),
        ("SQUEEZE", {}, [[[[1], [2]]], whole(0)], [[1], [2]]),
        ("SQUEEZE", {}, [[[[1], [2]]]], [1, 2]),
        ("UNSQUEEZE", {}, [[1, 2], whole(0, 2)], [[[1], [2]]]),
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
        ("UNARY", {"op": "RECIP"}, [[2, 4]], [0.5, 0.25]),
        ("UNARY", {"op": "ROUND"}, [[0.5, 1.5, -0.5]], [0, 2, 0]),
        ("ELEMENTWISE", {"op": "SUB"}, [[3], [1, 5]], [2, -2]),
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
        ("MATRIX_MULTIPLY", {"op0": "NONE", "op1": "NONE"}, [SQUARE, [[1], [0], [2]]], [[4], [13]]),
        ("MATRIX_MULTIPLY", {"op0": "TRANSPOSE", "op1": "NONE"}, [SQUARE, [[1], [2]]], [[6], [9], [12]]),
        ("MATRIX_MULTIPLY", {"op0": "NONE", "op1": "TRANSPOSE"}, [SQUARE, [[1, 0, 2]]], [[4], [13]]),
        ("MATRIX_MULTIPLY", {"op0": "NONE", "op1": "VECTOR"}, [SQUARE, [1, 0, 2]], [4, 13]),
        ("MATRIX_MULTIPLY", {"op0": "VECTOR", "op1": "NONE"}, [[1, 2], SQUARE], [6, 9, 12]),
        ("MATRIX_MULTIPLY", {"op0": "VECTOR", "op1": "VECTOR"}, [[1, 2], [3, 4]], 11),
        ("MATRIX_MULTIPLY", {"op0": "VECTOR", "op1": "VECTOR"}, [[[1, 2]], [[3, 4]]], [11]),
        ("MATRIX_MULTIPLY", {"op0": "TRANSPOSE", "op1": "NONE"}, [[[[1], [2]]], [[[3], [4]]]], [[[11]]]),
        ("MATRIX_MULTIPLY", {"op0": "NONE", "op1": "TRANSPOSE"}, [[[[1, 2]]], [[[3, 4]]]], [[[11]]]),
        ("EINSUM", {"equation": "ij,j->i"}, [SQUARE, [1, 0, 2]], [4, 13]),
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
        ("CUMULATIVE", {"op": "PROD"}, [ROW], "the cumulative operation PROD"),
        ("FILL", {"operation": "RANDOM_UNIFORM"}, [], "random numbers"),
        ("SLICE", {"shape": (1,)}, [ROW], "a slice without start or size"),
        ("SLICE", {"start": (0, 0)}, [ROW], "a slice without start or size"),
        ("SLICE", {"start": (0, 0), "shape": (1, -1)}, [ROW], "a slice of negative size"),
        ("SLICE", {"start": (0, 1), "shape": (1, 4)}, [ROW], "a slice that leaves its bounds"),
        ("SLICE", {"start": (0, 1), "shape": (1, 4), "mode": "X"}, [ROW], "slices of mode X"),
        ("SLICE", {"start": (0, 0), "shape": (1, 1), "mode": "CLAMP"}, [[[]]], "a slice of an empty tensor"),
        ("ACTIVATION", {"type": "OTHER"}, [ROW], "the activation OTHER"),
        ("UNARY", {"op": "OTHER"}, [ROW], "the operation OTHER"),
        ("ELEMENTWISE", {"op": "OTHER"}, [ROW, ROW], "the operation OTHER"),
        ("POOLING", {"type": "MAX", **EXACT, "window_size_nd": (1, 5), "stride_nd": (1, 1)}, [[[ROW]]],
         "a pooling window of this size"),
    ],
)  # fmt: skip
def test_what_is_not_computed(kind: str, settings: dict[str, Any], inputs: list[Any], reason: str) -> None:
    with pytest.raises(NotComputedError, match=reason):
        computed(kind, settings, *inputs)
