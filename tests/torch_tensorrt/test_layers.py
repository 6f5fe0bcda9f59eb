"""Tests of the ONNX operators of TensorRT's layers."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from onnx import TensorProto

from trtlint.torch_tensorrt.layers import TYPES, Operators, Substitute

STILL = [0, 1, 2, 3, 4, 5, 6, 7]


def made(kind: str, before: list[int], after: list[int], dtype: str = "FLOAT", **settings: Any) -> list[str]:
    """Return the operators of a layer with one input, with attributes and stored numbers."""
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


def ints(*numbers: int) -> tuple[str, tuple[int], bytes]:
    """Return a stored vector of INT64."""
    return "INT64", (len(numbers),), struct.pack(f"<{len(numbers)}q", *numbers)


def foreign(kind: str) -> list[Substitute]:
    """Return the operator of a layer without an ONNX equivalent."""
    return [Substitute(kind, domain="tensorrt")]


def of(
    kind: str, inputs: list[Any], after: Any, settings: dict[str, Any], dtype: str = "FLOAT"
) -> list[Substitute]:
    """Return the operators of a layer. Inputs are shapes, and ``...`` is an absent input."""
    given = [None if each is ... else ("x", "FLOAT", each) for each in inputs]
    return Operators(kind, settings, given, [("y", dtype, after)]).made()


@pytest.mark.parametrize(
    ("kind", "settings", "expected"),
    [
        ("SELECT", {}, [Substitute("Where")]),
        ("EINSUM", {"equation": "ij,jk->ik", "other": 1},
         [Substitute("Einsum", (("equation", "ij,jk->ik"),))]),
        ("SHAPE", {}, [Substitute("Shape")]),
        ("ATTENTION_OUTPUT", {}, [Substitute("Identity")]),
        ("ELEMENTWISE", {"op": "SUB"}, [Substitute("Sub")]),
        ("ELEMENTWISE", {"op": "FLOOR_DIV"}, foreign("ELEMENTWISE")),
        ("ELEMENTWISE", {}, foreign("ELEMENTWISE")),
        ("UNARY", {"op": "NOT"}, [Substitute("Not")]),
        ("UNARY", {"op": "ACOS"}, foreign("UNARY")),
        ("ACTIVATION", {"type": "RELU", "alpha": 2.0}, [Substitute("Relu")]),
        ("ACTIVATION", {"type": "LEAKY_RELU", "alpha": 2, "beta": 3},
         [Substitute("LeakyRelu", (("alpha", 2.0),))]),
        ("ACTIVATION", {"type": "ELU"}, [Substitute("Elu", (("alpha", 0.0),))]),
        ("ACTIVATION", {"type": "THRESHOLDED_RELU", "alpha": 2},
         [Substitute("ThresholdedRelu", (("alpha", 2.0),))]),
        ("ACTIVATION", {"type": "HARD_SIGMOID", "alpha": 2, "beta": 3},
         [Substitute("HardSigmoid", (("alpha", 2.0), ("beta", 3.0)))]),
        ("ACTIVATION", {"type": "HARD_SIGMOID"},
         [Substitute("HardSigmoid", (("alpha", 0.0), ("beta", 0.0)))]),
        ("ACTIVATION", {"type": "CLIP", "alpha": -1, "beta": 6},
         [Substitute("Clip", stored=(("FLOAT", (), struct.pack("<f", -1)),
                                     ("FLOAT", (), struct.pack("<f", 6))))]),
        ("REDUCE", {"op": "SUM", "axes": 0b101, "keep_dims": False},
         [Substitute("ReduceSum", (("keepdims", 0),), (ints(0, 2),), rest=False)]),
        ("REDUCE", {"op": "MAX", "axes": 0b11000000, "keep_dims": True},
         [Substitute("ReduceMax", (("keepdims", 1),), (ints(6, 7),), rest=False)]),
        ("REDUCE", {"op": "NONE", "axes": 1}, foreign("REDUCE")),
        ("REDUCE", {"op": "SUM"}, foreign("REDUCE")),
        ("SOFTMAX", {"axes": 0b110}, foreign("SOFTMAX")),
        ("SOFTMAX", {"axes": 0}, foreign("SOFTMAX")),
        ("SOFTMAX", {}, foreign("SOFTMAX")),
        ("MATRIX_MULTIPLY", {"op0": "NONE", "op1": "TRANSPOSE"}, [Substitute("MatMul")]),
        ("MATRIX_MULTIPLY", {"op0": "NONE", "op1": "VECTOR"}, foreign("MATRIX_MULTIPLY")),
        ("MATRIX_MULTIPLY", {"op0": "VECTOR", "op1": "NONE"}, foreign("MATRIX_MULTIPLY")),
        ("POOLING", {"type": "MAX", "window_size_nd": (3, 2)},
         [Substitute("MaxPool", (("kernel_shape", [3, 2]),))]),
        ("POOLING", {"type": "MAX_AVERAGE_BLEND", "window_size_nd": (3, 2)}, foreign("POOLING")),
        ("POOLING", {"type": "AVERAGE"}, foreign("POOLING")),
        ("CONCATENATION", {"axis": 2}, [Substitute("Concat", (("axis", 2),))]),
        ("CONCATENATION", {}, [Substitute("Concat", (("axis", 0),))]),
        ("GATHER", {"axis": 1}, [Substitute("Gather", (("axis", 1),))]),
        ("GATHER", {"mode": "DEFAULT", "num_elementwise_dims": 0}, [Substitute("Gather", (("axis", 0),))]),
        ("GATHER", {"mode": "DEFAULT", "num_elementwise_dims": 1}, foreign("GATHER")),
        ("GATHER", {"mode": "ND"}, foreign("GATHER")),
        ("ATTENTION_INPUT", {"causal": True}, [Substitute("Attention", (("scale", 1.0), ("is_causal", 1)))]),
        ("ATTENTION_INPUT", {}, [Substitute("Attention", (("scale", 1.0), ("is_causal", 0)))]),
    ],
)  # fmt: skip
def test_operators_by_the_settings_of_a_layer(
    kind: str, settings: dict[str, Any], expected: list[Substitute]
) -> None:
    assert of(kind, [[2, 3, 4], [2, 3, 4]], [2, 3, 4], settings) == expected


SWAP = [1, 0, *STILL[2:]]


@pytest.mark.parametrize(
    ("inputs", "after", "first", "second", "expected"),
    [
        ([None], [4], STILL, STILL, foreign("SHUFFLE")),
        ([], [4], STILL, STILL, foreign("SHUFFLE")),
        ([[4]], None, STILL, STILL, foreign("SHUFFLE")),
        ([[2, 3]], [2, 3], None, None, [Substitute("Identity", rest=False)]),
        # An order with an axis twice is ignored.
        ([[2, 3]], [2, 3], [1, 1], [0], [Substitute("Identity", rest=False)]),
        ([[2, 3]], [3, 2], SWAP, STILL,
         [Substitute("Transpose", (("perm", [1, 0]),), rest=False, shape=[3, 2])]),
        ([[2, 3]], [3, 2], STILL, SWAP, [Substitute("Transpose", (("perm", [1, 0]),), rest=False)]),
        ([[2, 3]], [6], SWAP, STILL,
         [Substitute("Transpose", (("perm", [1, 0]),), rest=False, shape=[3, 2]),
          Substitute("Reshape", (), (ints(6),), rest=False, shape=[6])]),
        ([[6]], [3, 2], STILL, SWAP,
         [Substitute("Reshape", (), (ints(2, 3),), rest=False, shape=[2, 3]),
          Substitute("Transpose", (("perm", [1, 0]),), rest=False)]),
        # The second input has the sizes.
        ([[6], [2]], [2, 3], STILL, STILL, [Substitute("Reshape", (), (), shape=[2, 3])]),
        ([[2, 3], [2]], [2, 3], STILL, STILL, [Substitute("Reshape", (), (), shape=[2, 3])]),
        ([[6], ...], [2, 3], STILL, STILL,
         [Substitute("Reshape", (), (ints(2, 3),), rest=False, shape=[2, 3])]),
        # Axes of length 1 need no transpose, only a reshape.
        ([[6]], [3, 2, 1], STILL, [0, 2, 1],
         [Substitute("Reshape", (), (ints(3, 1, 2),), rest=False, shape=[3, 1, 2]),
          Substitute("Reshape", (), (ints(3, 2, 1),), rest=False)]),
        ([[3, 2]], [3, 2, 1], STILL, [0, 2, 1],
         [Substitute("Reshape", (), (ints(3, 1, 2),), rest=False, shape=[3, 1, 2]),
          Substitute("Reshape", (), (ints(3, 2, 1),), rest=False)]),
        ([[3, 1, 2]], [3, 2, 1], STILL, [0, 2, 1], [Substitute("Identity", rest=False)]),
    ],
)  # fmt: skip
def test_shuffles(
    inputs: list[Any],
    after: Any,
    first: list[int] | None,
    second: list[int] | None,
    expected: list[Substitute],
) -> None:
    settings = {"first_transpose": first, "second_transpose": second}
    assert of("SHUFFLE", inputs, after, settings) == expected


def sliced(start: list[int], size: list[int], stride: list[int], **more: Any) -> dict[str, Any]:
    """Return the settings of a slice."""
    return {"start": start, "shape": size, "stride": stride, "mode": "STRICT_BOUNDS"} | more


def cut(*bounds: tuple[int, ...]) -> list[Substitute]:
    """Return a slice with starts, ends, axes and steps."""
    return [Substitute("Slice", (), tuple(ints(*each) for each in bounds))]


SLICE = foreign("SLICE")


@pytest.mark.parametrize(
    ("inputs", "after", "settings", "expected"),
    [
        ([[9, 9]], [3, 2], sliced([1, 2], [3, 2], [2, 3]), cut((1, 2), (6, 6), (0, 1), (2, 3))),
        ([[9, 9]], [9, 2], sliced([0, 0], [9, 2], [1, 1]), cut((0,), (2,), (1,), (1,))),
        ([[9, 9]], [9, 2], sliced([0, 0], [9, 2], [1, 1], mode="DEFAULT"), cut((0,), (2,), (1,), (1,))),
        ([[9, 9]], [9, 1], sliced([0, 4], [9, 1], [1, 1]), cut((4,), (5,), (1,), (1,))),
        ([[9, 9]], [9, 0], sliced([0, 4], [9, 0], [1, 1]), cut((4,), (4,), (1,), (1,))),
        ([[1, 9]], [1, 2], sliced([0, 0], [1, 2], [2, 1]), cut((0, 0), (1, 2), (0, 1), (2, 1))),
        ([[9, 9]], [9, 2], sliced([0, 0], [9, 2], [1, 1], mode="FILL"), SLICE),
        ([[9, 9], [2]], [9, 2], sliced([0, 0], [9, 2], [1, 1]), SLICE),
        ([None], [9, 2], sliced([0, 0], [9, 2], [1, 1]), SLICE),
        ([[9, 9]], None, sliced([0, 0], [9, 2], [1, 1]), SLICE),
        ([[9, 9]], [9, 2], {**sliced([0, 0], [9, 2], [1, 1]), "start": None}, SLICE),
        ([[9, 9]], [9, 2], {**sliced([0, 0], [9, 2], [1, 1]), "stride": None}, SLICE),
        ([[9, 9]], [9, 2], {**sliced([0, 0], [9, 2], [1, 1]), "shape": None}, SLICE),
        ([[9, 9]], [9, 2], sliced([0, 0], [9, 2], [1, 1], axes=[0, 1]), SLICE),
        ([[9, 9]], [9, 2], sliced([0, 0], [2], [1, 1], axes=[1]), SLICE),
        ([[9, 9]], [9, 2], sliced([0], [2], [1]), SLICE),
        ([[9, 9]], [9, 2], sliced([0, 0], [2], [1]), SLICE),
        ([[9, 9]], [9, 2], sliced([0, 0, 0], [9, 2], [1, 1, 1]), SLICE),
        # A step of 0 repeats an axis of length 1.
        ([[3, 1]], [3, 4], sliced([0, 0], [3, 4], [1, 0]), [Substitute("Expand", (), (ints(3, 4),))]),
        ([[3, 2]], [3, 4], sliced([0, 0], [3, 4], [1, 0]), SLICE),
        ([[3, 1]], [2, 4], sliced([0, 0], [2, 4], [1, 0]), SLICE),
        ([[1, 1]], [2, 4], sliced([0, 0], [2, 4], [0, 0]), [Substitute("Expand", (), (ints(2, 4),))]),
        # The whole tensor.
        ([[9, 9]], [9, 9], sliced([0, 0], [9, 9], [1, 1]), [Substitute("Identity")]),
        ([[9, 1]], [9, 1], sliced([0, 0], [9, 1], [1, 2]), cut((0,), (1,), (1,), (2,))),
        ([[]], [], sliced([], [], []), [Substitute("Identity")]),
        # Dynamic sizes: an axis that is cut must have a known size.
        ([[-1, 9]], [-1, 2], sliced([0, 0], [-1, 2], [1, 1]), cut((0,), (2,), (1,), (1,))),
        ([[-1, 9]], [-1, 9], sliced([0, 0], [-1, 9], [1, 1]), cut((), (), (), ())),
        ([[-1, 9]], [-1, 9], sliced([1, 0], [-1, 9], [1, 1]), SLICE),
        ([[9, 9]], [-1, 9], sliced([0, 0], [-1, 9], [1, 1]), SLICE),
        ([[-1, 9]], [4, 9], sliced([0, 0], [4, 9], [1, 1]), cut((0,), (4,), (0,), (1,))),
        ([[9, 9]], [9, 4], sliced([0, 8], [9, 4], [1, -2]), SLICE),
        ([[9, 9]], [9, 9], sliced([0, 8], [9, 9], [1, -1]), SLICE),
    ],
)  # fmt: skip
def test_slices(inputs: list[Any], after: Any, settings: dict[str, Any], expected: list[Substitute]) -> None:
    assert of("SLICE", inputs, after, settings) == expected


@pytest.mark.parametrize(
    ("kind", "inputs", "after", "settings", "expected"),
    [
        ("CONVOLUTION", [[1, 4, 9, 9]], [1, 8, 7, 7],
         {"num_output_maps": 8, "kernel_size_nd": (3, 3), "num_groups": 2, "kernel": 144, "bias": 8,
          "stride_nd": (2, 1), "dilation_nd": (1, 3), "pre_padding": (0, 1), "post_padding": (2, 3)},
         [Substitute("Conv", (("group", 2), ("kernel_shape", [3, 3]), ("strides", [2, 1]),
                              ("dilations", [1, 3]), ("pads", [0, 1, 2, 3])),
               (("HALF", [8, 2, 3, 3], None), ("HALF", [8], None)))]),
        ("DECONVOLUTION", [[1, 4, 9]], [1, 6, 7],
         {"num_output_maps": 6, "kernel_size_nd": (3,), "num_groups": 2, "kernel": 36},
         [Substitute("ConvTranspose", (("group", 2), ("kernel_shape", [3])), (("HALF", [4, 3, 3], None),))]),
        # The weights are an input, and one half of the padding is unknown.
        ("CONVOLUTION", [[1, 4, 9], [8, 4, 3]], [1, 8, 7],
         {"num_output_maps": 8, "kernel_size_nd": (3,), "bias": 8, "pre_padding": (1,)},
         [Substitute("Conv", (("group", 1), ("kernel_shape", [3])), ())]),
        ("CONVOLUTION", [[1, 1, 9]], [1, 8, 7], {"num_output_maps": 8, "kernel_size_nd": (3,), "kernel": 24},
         [Substitute("Conv", (("group", 1), ("kernel_shape", [3])), (("HALF", [8, 1, 3], None),))]),
        ("CONVOLUTION", [[1, -1, 9]], [1, 8, 7],
         {"num_output_maps": 8, "kernel_size_nd": (3,), "num_groups": 0, "kernel": 24},
         [Substitute("Conv", (("group", 1), ("kernel_shape", [3])), (("HALF", [8, 0, 3], None),))]),
        ("CONVOLUTION", [[1, 4, 9]], [1, 8, 7], {"num_output_maps": 8}, foreign("CONVOLUTION")),
        ("CONVOLUTION", [None], [1, 8, 7], {"num_output_maps": 8, "kernel_size_nd": (3,)},
         foreign("CONVOLUTION")),
        ("CONVOLUTION", [[1, 4, 9]], None, {"num_output_maps": 8, "kernel_size_nd": (3,)},
         foreign("CONVOLUTION")),
        ("SCALE", [[2, 8, 4]], [2, 8, 4], {"scale": 8, "shift": 4, "channel_axis": 2},
         [Substitute("Mul", (), (("HALF", [1, 1, 8], None),), shape=[2, 8, 4]),
          Substitute("Add", (), (("HALF", [1, 1, 4], None),), shape=[2, 8, 4])]),
        ("SCALE", [[2, 8, 4]], [2, 8, 4], {"scale": 8},
         [Substitute("Mul", (), (("HALF", [1, 8, 1], None),), shape=[2, 8, 4])]),
        ("SCALE", [[2, 8, 4]], [2, 8, 4], {"shift": 1},
         [Substitute("Add", (), (("HALF", [1, 1, 1], None),), shape=[2, 8, 4])]),
        ("SCALE", [[2, 8]], [2, 8], {"shift": 2, "channel_axis": 2},
         [Substitute("Add", (), (("HALF", [1, 1], None),), shape=[2, 8])]),
        ("SCALE", [[2, 8]], [2, 8], {"shift": 0}, [Substitute("Identity")]),
        ("SCALE", [[2, 8]], [2, 8], {"scale": 8, "power": 1}, foreign("SCALE")),
        ("SCALE", [None], None, {"scale": 8}, foreign("SCALE")),
    ],
)  # fmt: skip
def test_layers_with_weights(
    kind: str, inputs: list[Any], after: Any, settings: dict[str, Any], expected: list[Substitute]
) -> None:
    assert of(kind, inputs, after, settings, "HALF") == expected


EPSILON = ("epsilon", 1e-5)
FULL = ("stash_type", 1)
BATCH_NORM = [Substitute("InstanceNormalization", (EPSILON,))]


def layer_norm(axis: int) -> list[Substitute]:
    """Return a normalization over the axes from one axis on."""
    return [Substitute("LayerNormalization", (EPSILON, FULL, ("axis", axis)))]


@pytest.mark.parametrize(
    ("inputs", "settings", "expected"),
    [
        ([[2, 8, 16]], {"axes": 0b110}, layer_norm(1)),
        ([[2, 8, 16]], {"axes": 0b100, "num_groups": 1}, layer_norm(2)),
        ([[2, 8, 16]], {"axes": 0b111}, layer_norm(0)),
        ([[2, 8, 16]], {"axes": 0b010}, foreign("NORMALIZATION")),
        ([[2, 8, 16]], {"axes": 0b101}, foreign("NORMALIZATION")),
        ([[2, 8, 16]], {}, foreign("NORMALIZATION")),
        ([[2, 8, 16]], {"axes": 0}, foreign("NORMALIZATION")),
        ([None], {"axes": 0b100}, foreign("NORMALIZATION")),
        ([[2, 8, 16]], {"axes": 0b100, "compute_precision": "HALF", "epsilon": 1},
         [Substitute("LayerNormalization", (("epsilon", 1.0), ("stash_type", 10), ("axis", 2)))]),
        ([[2, 8, 4, 4]], {"axes": 0b1100, "compute_precision": "FLOAT", "num_groups": 2},
         [Substitute("GroupNormalization", (EPSILON, FULL, ("num_groups", 2)))]),
        # One weight for each channel makes the normalization over the space that of an instance.
        ([[2, 8, 4, 4], [1, 8, 1, 1]], {"axes": 0b1100}, BATCH_NORM),
        ([[2, 8, 4], [1, 8, 1]], {"axes": 0b100}, BATCH_NORM),
        ([[2, 8, 4, 4], [1, 8, 1, 1]], {"axes": 0b1110}, layer_norm(1)),
        ([[2, 8, 4, 4], [1, 8, 1, 1]], {"axes": 0b0100}, foreign("NORMALIZATION")),
        ([[2, 8, 4, 4], [1, 8, 4, 1]], {"axes": 0b1100}, layer_norm(2)),
        ([[2, 8, 4, 4], [1, 1, 1, 1]], {"axes": 0b1100}, layer_norm(2)),
        ([[2, 8, 4, 4], [8, 1, 1]], {"axes": 0b1100}, layer_norm(2)),
        ([[2, 8, 4, 4], None], {"axes": 0b1100}, layer_norm(2)),
        ([[2, 8, 4, 4], ...], {"axes": 0b1100}, layer_norm(2)),
        ([[2, 8], [1, 8]], {"axes": 0b10}, layer_norm(1)),
    ],
)  # fmt: skip
def test_normalizations(inputs: list[Any], settings: dict[str, Any], expected: list[Substitute]) -> None:
    assert of("NORMALIZATION", inputs, [2, 8, 16], settings) == expected


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [([[4]], [Substitute("Identity")]), ([...], [Substitute("Cast", (("to", 1),))])],
)
def test_casts_to_the_same_or_from_an_unknown_type(inputs: list[Any], expected: list[Substitute]) -> None:
    assert of("CAST", inputs, [4], {}) == expected


def test_element_types_have_the_numbers_of_onnx() -> None:
    other = {"HALF": "FLOAT16", "BF16": "BFLOAT16", "FP8": "FLOAT8E4M3FN", "FP4": "FLOAT4E2M1"}
    assert dict(TYPES) == {name: TensorProto.DataType.Value(other.get(name, name)) for name in TYPES}
    assert len(TYPES) == 11
