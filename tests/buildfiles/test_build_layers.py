"""Tests of layer information of every generation, and of the names in it."""

# ruff: noqa: E501 (lines of logs are quoted whole)

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.buildfiles.reading import read_layers
from trtlint.buildfiles.errors import BuildFileError
from trtlint.buildfiles.layers import LayerInfo, LayerTensor, data_type, layers_from_json, parse_json
from trtlint.buildfiles.names import LayerNames, NodeRange, layer_names, metadata_nodes
from trtlint.buildfiles.oneline import parse_layer, parse_legacy
from trtlint.buildfiles.record import read_build_file

DETAILED: dict[str, Any] = {
    "Layers": [
        {
            "Name": "conv + relu",
            "LayerType": "CaskConvolution",
            "Inputs": [
                {
                    "Name": "x",
                    "Location": "Device",
                    "Dimensions": [1, 3, 8, 8],
                    "Format/Datatype": "Row major linear FP32",
                }
            ],
            "Outputs": [
                {
                    "Name": "y",
                    "Dimensions": [-1, 8, 8, 8],
                    "Format/Datatype": "Thirty-two wide channel vectorized row major Int8 format",
                }
            ],
            "ParameterType": "Convolution",
            "Weights": {"Type": "Int8", "Count": 216},
            "Bias": {"Type": "Float", "Count": 8},
            "Activation": "RELU",
            "HasDynamicFilter": 1,
            "HasDynamicBias": 0,
            "TacticName": "kernel",
            "TacticValue": "0x01",
            "StreamId": 2,
            "Metadata": "[ONNX Layer: conv]\u001f[ONNX Layer: relu]",
        }
    ],
    "Bindings": ["x", "y"],
}


def test_detailed_with_bindings() -> None:
    info = layers_from_json(DETAILED)
    (layer,) = info.layers
    assert (layer.name, layer.type) == ("conv + relu", "CaskConvolution")
    assert layer.weights == "int8"
    assert layer.inputs == (LayerTensor("x", "float32", "Row major linear FP32"),)
    assert layer.outputs[0].dtype == "int8"
    assert (layer.dynamic_filter, layer.dynamic_bias, layer.precision, layer.stream) == (
        True,
        False,
        "int8",
        2,
    )
    assert [tensor.name for tensor in info.tensors] == ["x", "y"]
    assert layers_from_json(DETAILED["Layers"]).layers == info.layers
    assert layers_from_json({"layers": DETAILED["Layers"]}).layers == info.layers


def test_names_only() -> None:
    info = layers_from_json({"Layers": ["a + b", "c [profile 1]"], "Bindings": ["x"]})
    assert not info.detailed
    assert [(layer.name, layer.profile, layer.precision) for layer in info.layers] == [
        ("a + b", 0, None),
        ("c [profile 1]", 1, None),
    ]
    assert layers_from_json(["a"]).layers[0].name == "a"


def test_generation_with_io_tensors() -> None:
    tensor = {
        "Name": "x",
        "Dimensions": [4],
        "Strides": [1],
        "Datatype": "Half",
        "Format": "(Linear) Row major linear format",
    }
    info = layers_from_json(
        {
            "Layers": [
                {
                    "Name": "__myl_Add_myl0_0",
                    "LayerType": "kgen",
                    "Inputs": [tensor],
                    "Constants": [tensor],
                    "Outputs": [],
                }
            ],
            "I/O Tensors": [
                {
                    "Name": "x",
                    "IOMode": "Input",
                    "DataType": "Half",
                    "Dimensions": [-1],
                    "ProfileInfo": [{"MinShape": [1], "OptShape": [4], "MaxShape": [8]}],
                }
            ],
            "Engine Metadata": [{"Multi-Device": "Disabled"}],
        }
    )
    assert info.layers[0].inputs[0].format == "(Linear) Row major linear format"
    (x,) = info.tensors
    assert (x.name, x.is_input) == ("x", True)


def test_one_line_of_every_generation() -> None:
    layer = parse_layer(
        "Name: _gemm_mha_v2_myl0_4, LayerType: kgen, Inputs: [ { Name: q, Dimensions: [8,16,16], Strides: [16,128,1], "
        "StrideOrder: [1,2,0], Datatype: Half, Format: (Arbitrary) Format with stride order = [1,2,0] }, { Name: k, "
        "Dimensions: [8,16,16], Strides: [16,1,128], StrideOrder: [1,0,2], Datatype: Half, Format: (Linear) Row major "
        "linear format }], Constants: [ { Name: c, Dimensions: [], Strides: [], StrideOrder: [], Datatype: Float, Format: "
        "(Linear) Row major linear format }], Outputs: [], TacticName: t, StreamId: 0, Metadata: [ONNX Layer: a][ONNX "
        "Layer: b [Shuffle]]",
        3,
    )
    assert layer
    assert (layer.index, layer.type, layer.tactic, layer.stream) == (3, "kgen", "t", 0)
    assert [(tensor.name, tensor.dtype) for tensor in layer.inputs] == [("q", "float16"), ("k", "float16")]
    assert layer.inputs[0].format == "(Arbitrary) Format with stride order = [1,2,0]"
    assert layer.outputs == ()
    assert metadata_nodes(layer.metadata) == ("a", "b [Shuffle]")
    empty = parse_layer(
        "Name: __mye1_0_myl0_0, LayerType: shape_call, Inputs: [], Outputs: [], TacticName: , StreamId: 0, Metadata:",
        0,
    )
    assert empty
    assert (empty.inputs, empty.tactic, empty.stream, empty.metadata) == ((), None, 0, None)
    assert parse_layer("Name: nothing else", 0) is None


def test_the_old_form() -> None:
    layer = parse_legacy(
        "Layer(CaskConvolution): layer1.conv + Relu_43, Tactic: 0x9d0f, 205 (Int8[1,64:32,56,56]), 191 (Int8[1,64:32,56,56])"
        " -> 226 -> odd (Float[1,64,56,56])",
        0,
    )
    assert layer
    assert (layer.name, layer.type) == ("layer1.conv + Relu_43", "CaskConvolution")
    assert [(tensor.name, tensor.dtype) for tensor in layer.inputs] == [("205", "int8"), ("191", "int8")]
    assert [tensor.name for tensor in layer.outputs] == ["226 -> odd"]
    station = parse_legacy("Layer(TrainStation): [trainStation1], Tactic: 0x0,  -> ", 0)
    assert station
    assert (station.inputs, station.outputs) == ((), ())
    assert parse_legacy("Layer(x) no", 0) is None


@pytest.mark.parametrize(
    ("phrase", "name"),
    [
        ("Half", "float16"),
        ("Row major linear FP32", "float32"),
        ("Channel major FP16 format where channel % 8 == 0", "float16"),
        ("Thirty-two wide channel vectorized row major Int8 format", "int8"),
        ("BFloat16", "bfloat16"),
        ("N/A due to dynamic shapes", None),
        (None, None),
    ],
)
def test_data_types(phrase: str | None, name: str | None) -> None:
    assert data_type(phrase) == name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Conv_0 + Relu_1", LayerNames(("Conv_0", "Relu_1"))),
        ("q || k || v", LayerNames(("q", "k", "v"))),
        (
            "conv1.weight + QuantizeLinear_8 + Conv_12",
            LayerNames(("conv1.weight", "QuantizeLinear_8", "Conv_12")),
        ),
        ("PWN(Sigmoid_1)", LayerNames(("Sigmoid_1",))),
        (
            "Conv_1 + PWN(PWN(Sigmoid_2), Mul_3) + Add_4",
            LayerNames(("Conv_1", "Sigmoid_2", "Mul_3", "Add_4")),
        ),
        ("(Unnamed Layer* 12) [Shuffle]", LayerNames(("(Unnamed Layer* 12) [Shuffle]",))),
        (
            "PWN((Unnamed Layer* 3) [Activation], a)",
            LayerNames(("(Unnamed Layer* 3) [Activation]", "a")),
        ),
        ("{ForeignNode[/a/Add.../b/Mul]}", LayerNames((), (NodeRange(("/a/Add",), ("/b/Mul",)),))),
        (
            "{ForeignNode[(Unnamed Layer* 1247) [Shuffle].../t/Transpose_2 + /t/Reshape_4]}",
            LayerNames(
                (),
                (NodeRange(("(Unnamed Layer* 1247) [Shuffle]",), ("/t/Transpose_2", "/t/Reshape_4")),),
            ),
        ),
        ("{ForeignNode[only]}", LayerNames((), (NodeRange(("only",), ("only",)),))),
        ("a + {ForeignNode[b...c]} + d", LayerNames(("a", "d"), (NodeRange(("b",), ("c",)),))),
        (
            "Reformatting CopyNode for Input Tensor 0 to Conv_0 + Relu_1",
            LayerNames(("Conv_0", "Relu_1"), reformat=True),
        ),
        ("Reformatting CopyNode for Output Tensor 1 to MaxPool_2", LayerNames(("MaxPool_2",), reformat=True)),
        ("Reformatting CopyNode for Network Input x", LayerNames(("x",), reformat=True)),
        (
            "Reformatting CopyNode for Input Tensor 0 to {ForeignNode[a...b]}",
            LayerNames((), (NodeRange(("a",), ("b",)),), reformat=True),
        ),
        ("node_conv2d [profile 1]", LayerNames(("node_conv2d",))),
        ("node_linear [profile 1]_myl11_2", LayerNames(("node_linear",))),
        (
            "/v/MatMul+/k/MatMul+/q/MatMul_myl0_0",
            LayerNames(("/v/MatMul", "/k/MatMul", "/q/MatMul")),
        ),
        ("__myl_MaxrSubExpSum_myl5_4", LayerNames()),
        ("_gemm_mha_v2_myl0_4", LayerNames()),
        ("__mye260_0_myl5_0", LayerNames()),
        ("[trainStation1]", LayerNames()),
        ("x_clone_2", LayerNames(("x",))),
        ("Unbalanced (a + b", LayerNames(("Unbalanced (a + b",))),
        ("", LayerNames()),
    ],
)
def test_names(name: str, expected: LayerNames) -> None:
    assert layer_names(name) == expected


def test_metadata_decides() -> None:
    both = "[ONNX Layer: /a/Mat[0]]\x1f[ONNX Layer: /b]\x1e[ONNX Layer: /a/Mat[0]]"
    assert layer_names("__myl_X_myl0_0", both) == LayerNames(("/a/Mat[0]", "/b"))
    assert layer_names("Conv_0", "") == LayerNames(("Conv_0",))
    assert layer_names("{ForeignNode[a...c]}", "[ONNX Layer: a][ONNX Layer: b]").nodes == ("a", "b")


@given(st.text(alphabet="aPWN(){}[].,+| \x1e", max_size=200), st.text(max_size=100))
def test_names_never_fail(name: str, metadata: str) -> None:
    assert isinstance(layer_names(name, metadata), LayerNames)


@pytest.mark.parametrize(
    ("name", "times", "nodes", "ranges"),
    [
        ("PWN(", 200_000, 0, 0),
        ("(", 200_000, 1, 0),
        ("{ForeignNode[", 100_000, 0, 1),
        ("a + ", 200_000, 1, 0),
        ("[ONNX Layer: n", 50_000, 1, 0),
    ],
)
def test_long_and_deep_names_say_each_node_once(name: str, times: int, nodes: int, ranges: int) -> None:
    text = name * times
    found = layer_names(text, text)
    assert (len(found.nodes), len(found.ranges)) == (nodes, ranges)
    ends = [end for between in found.ranges for end in (*between.first, *between.last)]
    assert sum(map(len, (*found.nodes, *ends))) <= 2 * len(text)  # an island has two ends


def test_damaged_json_says_where(tmp_path: Path) -> None:
    text = json.dumps(DETAILED, indent=1)
    for end in range(0, len(text) - 1, 7):
        with pytest.raises(BuildFileError):
            layers_from_json(parse_json(text[:end].encode()))
    with pytest.raises(BuildFileError) as cut:
        parse_json(b'{"Layers": [\n"a",\n')
    assert cut.value.line == 3
    for bad in (b"[" * 500_000, b'{"a":' * 100_000, b"9" * 100_000, b"\xff\xfe\x00"):
        path = tmp_path / "x.json"
        path.write_bytes(b'{"Layers": [' + bad)
        with pytest.raises(BuildFileError):
            read_build_file(path)
    for content in ("{}", "[]", '[{"a": 1}]', '{"Layers": 3}'):
        path.write_text(content)
        with pytest.raises(BuildFileError):
            read_build_file(path)


def test_control_characters_in_strings_are_read(tmp_path: Path) -> None:
    path = tmp_path / "layers.json"
    path.write_bytes(b'{"Layers": [{"Name": "a", "Metadata": "[ONNX Layer: a]\x1e[ONNX Layer: b]"}]}')
    assert metadata_nodes(read_layers(path).layers[0].metadata) == ("a", "b")


def test_a_file_without_layers(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("[V] nothing\n")
    with pytest.raises(BuildFileError, match="no engine layers"):
        read_layers(path)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["Name", "Layers", "Inputs", "Dimensions", "Weights", "Type", "Metadata", "count"]
            ),
            inner,
        )
    ),
    max_leaves=20,
)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(values)
def test_any_json_is_layers_or_an_error(root: object) -> None:
    try:
        info = layers_from_json(root)
    except BuildFileError:
        return
    assert isinstance(info, LayerInfo)
    assert all(isinstance(layer.name, str) and layer.precision != "" for layer in info.layers)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a [profile 1000000]", LayerNames(("a [profile 1000000]",))),
        ("a [profile 999999]", LayerNames(("a",))),
        ("a copy", LayerNames(("a",))),
        ("a_myl1", LayerNames(("a_myl1",))),
        ("a+_myl1_2", LayerNames(("a",))),
        ("b+a+b_myl1_2", LayerNames(("b", "a"))),
        ("a+b + c_myl1_2", LayerNames(("a+b", "c"))),
        ("_mha_myl1_2", LayerNames()),
        ("_mha", LayerNames(("_mha",))),
        ("__my_a_myl1_2", LayerNames()),
        ("__my_a", LayerNames(("__my_a",))),
        ("__myl_a", LayerNames()),
        ("a + b + a", LayerNames(("a", "b"))),
        ("a, b", LayerNames(("a, b",))),
        ("PWN(a, b), c", LayerNames(("a", "b", ", c"))),
        ("PWN(f(a, b), c) + d", LayerNames(("f(a, b)", "c", "d"))),
        ("xPWN(a + b)", LayerNames(("xPWN(a + b)",))),
        ("a)", LayerNames(("a)",))),
        ("a]} + b", LayerNames(("a]}", "b"))),
        ("{ForeignNode[a...b", LayerNames((), (NodeRange(("a",), ("b",)),))),
        ("{ForeignNode[a", LayerNames((), (NodeRange(("a",), ("a",)),))),
        ("{ForeignNode[a...]}", LayerNames((), (NodeRange(("a",), ()),))),
        (
            "{ForeignNode[{ForeignNode[a...b]}...c]} + d",
            LayerNames(("d",), (NodeRange(("{ForeignNode[a",), ("b]}...c",)),)),
        ),
        (
            "{ForeignNode[{ForeignNode[a...b]}...c",
            LayerNames(("...c",), (NodeRange(("{ForeignNode[a",), ("b",)),)),
        ),
        (
            "{ForeignNode[a...b]} + {ForeignNode[c...d]}",
            LayerNames((), (NodeRange(("a",), ("b",)), NodeRange(("c",), ("d",)))),
        ),
        ("Reformatting CopyNode for Network Output y", LayerNames(("y",), reformat=True)),
        ("Reformatting CopyNode for y", LayerNames(("Reformatting CopyNode for y",))),
    ],
)
def test_parts_of_names(name: str, expected: LayerNames) -> None:
    assert layer_names(name) == expected


def test_metadata_beside_a_reformat() -> None:
    name = "Reformatting CopyNode for Input Tensor 0 to {ForeignNode[a...b]} [profile 2]"
    ranges = (NodeRange(("a",), ("b",)),)
    assert layer_names(name, "[ONNX Layer: c]") == LayerNames(("c",), ranges, reformat=True)
    assert layer_names(name, "[Other: c]") == LayerNames((), ranges, reformat=True)
    assert metadata_nodes("x[ONNX Layer: a]]\n[ONNX Layer: b\x1f\x1e[ONNX Layer: a]]") == ("a]", "b")
    assert metadata_nodes(None) == metadata_nodes("a") == ()
