"""Tests of type ranges, and of deviations that an opset allows."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from trtlint.network.deviations import _undefined_rounding
from trtlint.network.types import saturated


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("INT8", -128, 127),
        ("UINT8", 0, 255),
        ("INT4", -8, 7),
        ("FP8", -448, 448),
        ("FP4", -6, 6),
        ("FLOAT", -1000, 1000),
    ],
)
def test_quantized_numbers_end_at_those_of_their_type(name: str, low: float, high: float) -> None:
    found = saturated(np.array([-1000.0, 0.0, 1000.0], np.float32), name)
    assert found.astype(np.float32).tolist() == [low, 0, high]


def test_how_resize_rounds_is_open_up_to_opset_10() -> None:
    node, one, other = onnx.NodeProto(), np.zeros((2, 3)), np.zeros((2, 4))
    assert [_undefined_rounding(node, [], one, one, opset) for opset in (9, 10, 11, 13)] == [
        True,
        True,
        False,
        False,
    ]
    assert not _undefined_rounding(node, [], one, other, 10)
