"""Tests of quantize and dequantize layers against ONNX's reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx.reference.ops import load_op

from trtlint.network.layers import Layer
from trtlint.network.pointwise import LAYERS

SHAPE = (2, 3, 4)
RANDOM = np.random.default_rng(0)
X = RANDOM.integers(-200, 200, SHAPE).astype(np.float32) / 4  # with many numbers halfway between two
WHOLE = RANDOM.integers(-128, 128, SHAPE, np.int8)


def computed(kind: str, settings: dict[str, Any], inputs: list[Any], output: str) -> Any:
    """Return the output of a layer."""
    return LAYERS[kind](Layer(0, "layer", kind, (), (), (output,), settings), inputs)[0]


@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize(
    ("axis", "settings", "shape", "block"),
    [
        (0, {}, (), 0),
        (0, {"axis": 0}, (2,), 0),
        (1, {"axis": 1}, (3,), 0),
        (1, {"axis": -2}, (3,), 0),
        (2, {"axis": 2}, (4,), 0),
        (2, {}, (4,), 0),
        (2, {}, (2, 3, 2), 2),
        (1, {}, (2, 2, 4), 2),
        (0, {}, (1, 3, 4), 2),
    ],
)
def test_results_are_those_of_onnx(
    shifted: bool, axis: int, settings: dict[str, Any], shape: tuple[int, ...], block: int
) -> None:
    scale = np.exp2(RANDOM.integers(-1, 2, shape)).astype(np.float32)
    zero = [RANDOM.integers(-5, 6, shape).astype(np.int8)] if shifted else []
    given = {"axis": axis, "block_size": block}
    expected = load_op("", "QuantizeLinear", 21).eval(
        X, scale, *(zero or [np.zeros(shape, np.int8)]), **given
    )
    found = computed("QUANTIZE", settings, [X, scale, *zero], "INT8")
    assert found.dtype == np.int8
    np.testing.assert_array_equal(found, expected)
    expected = load_op("", "DequantizeLinear", 21).eval(WHOLE, scale, *zero, **given)
    found = computed("DEQUANTIZE", settings, [WHOLE, scale, *zero], "FLOAT")
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_blocks_of_a_matrix_and_of_a_row() -> None:
    scale = np.array([[1, 2], [4, 8]], np.float32)
    assert computed("DEQUANTIZE", {}, [np.ones((2, 4), np.int8), scale], "FLOAT").tolist() == [
        [1, 1, 2, 2],
        [4, 4, 8, 8],
    ]
    row = np.ones(5, np.int8)
    assert computed("DEQUANTIZE", {}, [row, scale[0]], "FLOAT").tolist() == [1, 1, 1, 2, 2]
    assert computed("DEQUANTIZE", {}, [row[:0], scale[0, :0]], "FLOAT").tolist() == []
