"""Tests of layers equivalent to their node, by inputs, weights and settings."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from msgspec.structs import replace
from onnx import helper, numpy_helper

from trtlint.network.layers import Array, Layer, Network, Tensor
from trtlint.network.parsing import WeightFiles
from trtlint.network.twins import Initializers, Twins

X = np.ones((1, 2, 4, 4), np.float32)
KERNEL = np.arange(6 * 2 * 9, dtype=np.float32).reshape(6, 2, 3, 3)
BIAS = np.arange(6, dtype=np.float32)


def model(*nodes: onnx.NodeProto, **weights: Array) -> onnx.ModelProto:
    """Return a model of some nodes with stored tensors."""
    kinds = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, None)
    output = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    stored = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    return helper.make_model(helper.make_graph(nodes, "g", [kinds], [output], stored))


def given(array: Array | None) -> Any:
    """Return weights of a layer."""
    return SimpleNamespace(array=lambda: None if array is None else array.reshape(-1))


def layer(kind: str, inputs: tuple[int, ...], **settings: Any) -> Layer:
    """Return a layer that computes tensor 2."""
    return Layer(0, "layer", kind, inputs, (2,), ("FLOAT",), settings)


CONVOLUTION = layer(
    "CONVOLUTION",
    (0,),
    padding_mode="EXPLICIT_ROUND_DOWN",
    kernel_size_nd=(3, 3),
    stride_nd=(2, 1),
    dilation_nd=(1, 1),
    pre_padding=(1, 0),
    post_padding=(1, 1),
    num_groups=1,
    num_output_maps=6,
    kernel=given(KERNEL),
    bias=given(BIAS),
)
CONV = model(
    helper.make_node("Conv", ["x", "w", "b"], ["y"], strides=[2, 1], pads=[1, 0, 1, 1]), w=KERNEL, b=BIAS
)
TENSORS = tuple(Tensor(name, "FLOAT") for name in ("x", "", "y"))


def twin(proto: onnx.ModelProto, one: Layer, inputs: list[Array], shared: dict[int, str]) -> bool:
    """Return whether a layer is equivalent to the node that computes ``y``."""
    network = Network((one,), TENSORS, (0,), (2,))
    twins = Twins(proto, network, {2: "y"}, Initializers(proto, WeightFiles()))
    return twins.is_twin(one, inputs, shared)


def test_a_convolution_with_the_settings_of_its_node_is_its_twin() -> None:
    assert twin(CONV, CONVOLUTION, [X], {0: "x"})


@pytest.mark.parametrize(
    "changed",
    [
        {"stride_nd": (1, 1)},
        {"dilation_nd": (2, 1)},
        {"pre_padding": (0, 0), "post_padding": (1, 2)},
        {"num_groups": 2},
        {"padding_mode": "SAME_UPPER"},
        {"kernel": given(KERNEL + 1)},
        {"bias": given(-BIAS)},
        {"bias": given(None)},
    ],
)
def test_a_convolution_with_another_setting_is_not(changed: dict[str, Any]) -> None:
    other = replace(CONVOLUTION, settings={**CONVOLUTION.settings, **changed})
    assert not twin(CONV, other, [X], {0: "x"})


def test_a_convolution_of_other_values_is_not() -> None:
    assert not twin(CONV, CONVOLUTION, [X], {})
    assert not twin(CONV, CONVOLUTION, [X], {0: "z"})
    assert not twin(CONV, CONVOLUTION, [X.astype(np.float16)], {0: "x"})


def test_a_product_with_a_stored_matrix_is_a_twin_only_of_that_matrix() -> None:
    weight = np.arange(12, dtype=np.float32).reshape(4, 3)
    proto = model(helper.make_node("MatMul", ["x", "w"], ["y"]), w=weight)
    product = layer("MATRIX_MULTIPLY", (0, 1), op0="NONE", op1="NONE")
    x = np.ones((2, 5, 4), np.float32)
    assert twin(proto, product, [x, weight[None]], {0: "x"})
    assert not twin(proto, product, [x, weight[None] + 1], {0: "x"})
    assert not twin(proto, product, [x, weight[None]], {})
    assert not twin(proto, product, [x, weight], {0: "x"})  # the ranks of a layer's inputs are equal
    turned = layer("MATRIX_MULTIPLY", (0, 1), op0="NONE", op1="TRANSPOSE")
    assert not twin(proto, turned, [x, weight[None]], {0: "x"})


WEIGHT = np.arange(12, dtype=np.float32).reshape(4, 3)
ROWS = np.ones((5, 4), np.float32)
PRODUCT = layer("MATRIX_MULTIPLY", (0, 1), op0="NONE", op1="NONE")


@pytest.mark.parametrize(
    ("weight", "x", "array", "expected"),
    [
        (WEIGHT, ROWS, WEIGHT, True),
        (WEIGHT, ROWS[None, None], WEIGHT[None, None], True),
        (WEIGHT[None], ROWS[None], WEIGHT[None], True),
        (np.stack([WEIGHT, WEIGHT]), ROWS[None], np.stack([WEIGHT, WEIGHT]), True),
        (WEIGHT[None], ROWS, WEIGHT, False),
        (WEIGHT[:, 0], ROWS, WEIGHT[:, :1], False),
        (WEIGHT[:, 0], ROWS[0], WEIGHT[:, 0], False),
        (WEIGHT, ROWS, WEIGHT.reshape(3, 4), False),
        (WEIGHT.astype(np.float64), ROWS, WEIGHT, False),
    ],
)
def test_products_with_stored_matrices(weight: Any, x: Any, array: Any, expected: bool) -> None:
    proto = model(helper.make_node("MatMul", ["x", "w"], ["y"]), w=weight)
    assert twin(proto, PRODUCT, [x, array], {0: "x"}) is expected


def test_layers_behind_others_are_twins() -> None:
    proto = model(helper.make_node("MatMul", ["x", "w"], ["y"]), w=WEIGHT)
    other = layer("ACTIVATION", (0,))
    network = Network((other, replace(PRODUCT, index=1)), TENSORS, (0,), (2,))
    twins = Twins(proto, network, {2: "y"}, Initializers(proto, WeightFiles()))
    assert twins.is_twin(network.layers[1], [ROWS, WEIGHT], {0: "x"})
    assert not twins.is_twin(other, [ROWS, WEIGHT], {0: "x"})


@pytest.mark.parametrize(
    ("shared", "expected"),
    [
        ({0: "x", 1: "w"}, True),
        ({0: "x"}, False),
        ({1: "w"}, False),
        ({0: "w", 1: "x"}, False),
        ({0: "x", 1: "z"}, False),
    ],
)
def test_products_of_two_computed_tensors(shared: dict[int, str], expected: bool) -> None:
    proto = model(helper.make_node("MatMul", ["x", "w"], ["y"]))
    assert twin(proto, PRODUCT, [ROWS, WEIGHT], shared) is expected


def test_a_matrix_equals_only_a_matrix_of_the_same_node() -> None:
    proto = model(helper.make_node("MatMul", ["x", "w"], ["y"]), w=WEIGHT)
    shared = {0: "x"}
    assert twin(proto, PRODUCT, [ROWS, WEIGHT], shared)
    assert not twin(proto, replace(PRODUCT, types=("HALF",)), [ROWS, WEIGHT], shared)
    assert not twin(proto, replace(PRODUCT, outputs=(1,)), [ROWS, WEIGHT], shared)
    assert not twin(proto, replace(PRODUCT, kind="ELEMENTWISE"), [ROWS, WEIGHT], shared)
    assert not twin(proto, replace(PRODUCT, inputs=(0,)), [ROWS], shared)
    assert not twin(proto, replace(PRODUCT, inputs=(0, 1, 1)), [ROWS, WEIGHT, WEIGHT], shared)
    for node in (
        helper.make_node("Gemm", ["x", "w"], ["y"]),
        helper.make_node("MatMul", ["x", "w"], ["y"], domain="my"),
    ):
        assert not twin(model(node, w=WEIGHT), PRODUCT, [ROWS, WEIGHT], shared)


@pytest.mark.parametrize("bias", [None, BIAS])
@pytest.mark.parametrize("stored", [None, BIAS])
def test_a_bias_equals_that_of_the_node(bias: Any, stored: Any) -> None:
    inputs, weights = ["x", "w", "b"], {"w": KERNEL, "b": BIAS}
    node = helper.make_node("Conv", inputs[: 2 if stored is None else 3], ["y"])
    settings = {
        **CONVOLUTION.settings,
        "stride_nd": (1, 1),
        "pre_padding": (0, 0),
        "post_padding": (0, 0),
        "bias": given(bias),
    }
    one = replace(CONVOLUTION, settings=settings)
    assert twin(model(node, **weights), one, [X], {0: "x"}) is ((bias is None) == (stored is None))
    assert not twin(model(node, b=BIAS), one, [X], {0: "x"})
    padded = helper.make_node("Conv", inputs[:2], ["y"], auto_pad="SAME_UPPER")
    assert not twin(
        model(padded, **weights), replace(one, settings={**settings, "bias": given(None)}), [X], {0: "x"}
    )


def test_stored_tensors_in_other_files(tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(b"1234" + WEIGHT.tobytes())
    proto = model(helper.make_node("MatMul", ["x", "w"], ["y"]), w=WEIGHT)
    tensor = proto.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL

    def read(**place: str) -> Any:
        del tensor.external_data[:]
        for key, value in place.items():
            tensor.external_data.add(key=key, value=value)
        return Initializers(proto, WeightFiles()).array("w")

    path = str(tmp_path / "weights")
    assert np.array_equal(read(location=path, offset="4", length="48"), WEIGHT)
    assert read(location=path, offset="8", length="48") is None
    assert read(location=path, offset="4", length="24") is None
    assert read(location=path, offset="4") is None
    assert read(location=f"{path}.none", offset="4", length="48") is None
    assert Initializers(proto, WeightFiles()).array("x") is None


def test_known_tensors(tmp_path: Path) -> None:
    proto = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 18]>
        g (float[1] x) => (float[1] y) < float[1] w = {3}, float[1] far = {4}, float[1] lost = {5} > {
        k = Constant <value = float {2}> () i = Constant <value_int = 7> () y = Add (x, w) }"""
    )
    (tmp_path / "weights").write_bytes(np.array([9], np.float32).tobytes())
    for tensor, file in zip(proto.graph.initializer[1:], ("weights", "missing"), strict=True):
        tensor.data_location = onnx.TensorProto.EXTERNAL
        place = (("location", str(tmp_path / file)[1:]), ("offset", "0"), ("length", "4"))
        for key, value in place:
            tensor.external_data.add(key=key, value=value)
    external = proto.graph.node.add(op_type="Constant", output=["e"])
    external.attribute.add(
        name="value", type=onnx.AttributeProto.TENSOR
    ).t.data_location = onnx.TensorProto.EXTERNAL
    proto.graph.node.add(op_type="Constant")

    stored = Initializers(proto, WeightFiles())
    arrays = {name: stored.array(name) for name in ("x", "w", "far", "lost", "k", "i", "e", "y")}
    found = {name: array.tolist() for name, array in arrays.items() if array is not None}
    assert found == {"w": [3], "far": [9], "k": 2}
