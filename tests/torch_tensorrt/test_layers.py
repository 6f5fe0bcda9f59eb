"""The ONNX operators of TensorRT's layers."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from trtlint.torch_tensorrt.layers import Operators

STILL = [0, 1, 2, 3, 4, 5, 6, 7]


def made(kind: str, before: list[int], after: list[int], dtype: str = "FLOAT", **settings: Any) -> list[str]:
    """The operators of a layer with one input, each with its attributes and stored numbers."""
    found = Operators(kind, settings, [("x", "FLOAT", before)], [("y", dtype, after)]).made()
    words = []
    for each in found:
        numbers = [
            struct.unpack(f"<{len(data) // 8}q", data) if type_ == "INT64" else struct.unpack("<f", data)
            for type_, _, data in each.stored
            if data is not None
        ]
        words.append(" ".join(map(str, [each.domain + each.op, *each.attributes, *numbers])))
    return words


@pytest.mark.parametrize(
    ("kind", "before", "after", "settings", "expected"),
    [
        ("SHUFFLE", [2, 3, 4], [2, 4, 3], {"first_transpose": [0, 2, 1], "second_transpose": STILL},
         ["Transpose ('perm', [0, 2, 1])"]),
        ("SHUFFLE", [2, 3, 4], [4, 6], {"first_transpose": STILL, "second_transpose": [1, 0, *STILL[2:]]},
         ["Reshape (6, 4)", "Transpose ('perm', [1, 0])"]),
        ("SHUFFLE", [1, 2, 3], [2, 3, 1], {"first_transpose": [1, 2, 0], "second_transpose": STILL},
         ["Reshape (2, 3, 1)"]),
        ("SHUFFLE", [2, 3], [2, 3], {"first_transpose": STILL, "second_transpose": STILL}, ["Identity"]),
        ("SLICE", [4, 8], [4, 3], {"start": [0, 2], "stride": [1, 2], "shape": [4, 3], "mode": "DEFAULT"},
         ["Slice (2,) (7,) (1,) (2,)"]),
        ("SLICE", [4, 1], [4, 3], {"start": [0, 0], "stride": [1, 0], "shape": [4, 3], "mode": "DEFAULT"},
         ["Expand (4, 3)"]),
        ("SLICE", [4, 3], [4, 3], {"start": [0, 0], "stride": [1, 1], "shape": [4, 3], "mode": "DEFAULT"},
         ["Identity"]),
        ("SLICE", [4, 3], [4, 5], {"start": [0, 0], "stride": [1, 1], "shape": [4, 5], "mode": "REFLECT"},
         ["tensorrtSLICE"]),
        ("REDUCE", [2, 3, 4], [2, 3, 1], {"op": "AVG", "axes": 4, "keep_dims": True},
         ["ReduceMean ('keepdims', 1) (2,)"]),
        ("SOFTMAX", [2, 3, 4], [2, 3, 4], {"axes": 4}, ["Softmax ('axis', 2)"]),
        ("ACTIVATION", [4], [4], {"type": "CLIP", "alpha": 0.0, "beta": 6.0}, ["Clip (0.0,) (6.0,)"]),
        ("ACTIVATION", [4], [4], {"type": "SCALED_TANH"}, ["tensorrtACTIVATION"]),
        ("NORMALIZATION", [2, 8, 16], [2, 8, 16], {"axes": 4, "epsilon": 0.5},
         ["LayerNormalization ('epsilon', 0.5) ('stash_type', 1) ('axis', 2)"]),
        ("NORMALIZATION", [2, 8, 4, 4], [2, 8, 4, 4], {"axes": 12, "epsilon": 0.5, "num_groups": 4},
         ["GroupNormalization ('epsilon', 0.5) ('stash_type', 1) ('num_groups', 4)"]),
        ("SCALE", [1, 8, 4, 4], [1, 8, 4, 4], {"scale": 8, "shift": 8, "power": 0}, ["Mul", "Add"]),
        ("NMS", [1, 8, 4], [1, 8], {}, ["tensorrtNMS"]),
    ],
)  # fmt: skip
def test_layers_become_operators(
    kind: str, before: list[int], after: list[int], settings: dict[str, Any], expected: list[str]
) -> None:
    assert made(kind, before, after, **settings) == expected


def test_casts_name_the_type_of_onnx() -> None:
    assert made("CAST", [4], [4], "HALF") == ["Cast ('to', 10)"]
    assert made("CAST", [4], [4], "FLOAT") == ["Identity"]


def test_the_kernel_of_a_convolution_has_its_shape() -> None:
    settings = {"num_output_maps": 8, "kernel_size_nd": [3, 3], "num_groups": 2, "kernel": 144, "bias": 8}
    (found,) = Operators(
        "CONVOLUTION", settings, [("x", "HALF", [1, 4, 9, 9])], [("y", "HALF", [1, 8, 7, 7])]
    ).made()
    assert [shape for _, shape, _ in found.stored] == [[8, 2, 3, 3], [8]]
