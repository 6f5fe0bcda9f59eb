"""Tests of every field of engine layers, from JSON and from one log line."""

from __future__ import annotations

from typing import Any

import pytest

from trtlint.buildfiles import layers as module
from trtlint.buildfiles.errors import BuildFileError
from trtlint.buildfiles.layers import (
    EngineLayer,
    EngineTensor,
    LayerInfo,
    LayerTensor,
    from_json,
    layers_from_json,
    parse_json,
)
from trtlint.buildfiles.oneline import DumpReader, parse_layer, parse_legacy

FULL: dict[str, Any] = {
    "Name": "a [profile 2]",
    "LayerType": "conv",
    "Inputs": [
        {"Name": "x", "Location": "Host", "Dimensions": [1, -1], "Datatype": "Half", "Format": "Linear"},
        {"Name": "y", "Format/Datatype": "Row major linear FP32"},
        {"Dimensions": [1.5], "Datatype": "Int8", "Format/Datatype": "Row major linear FP32"},
        "z",
    ],
    "Outputs": [{"Name": "o", "Dimensions": "1", "Format": "f", "Format/Datatype": "Int8"}],
    "Constants": [{"Name": "c", "Dimensions": []}],
    "ParameterType": "Convolution",
    "Origin": "QDQ",
    "Weights": {"Type": "Int8", "Count": 216},
    "Bias": {"Type": "Float", "Count": 8},
    "Activation": "RELU",
    "HasDynamicFilter": 0,
    "HasDynamicBias": True,
    "TacticName": "kernel",
    "TacticValue": "0x01",
    "StreamId": 2,
    "Metadata": "m",
}
FULL_LAYER = EngineLayer(
    0,
    "a [profile 2]",
    "conv",
    (
        LayerTensor("x", "float16", "Linear"),
        LayerTensor("y", "float32", "Row major linear FP32"),
        LayerTensor("", "int8", "Row major linear FP32"),
    ),
    (LayerTensor("o", "int8", "f"),),
    "kernel",
    "m",
    2,
    "QDQ",
    "int8",
    "RELU",
    dynamic_filter=False,
    dynamic_bias=True,
    profile=2,
)


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (FULL, FULL_LAYER),
        ({}, EngineLayer(0, "")),
        (dict.fromkeys(FULL), EngineLayer(0, "")),
        (
            {**dict.fromkeys(FULL, ""), "StreamId": True, "HasDynamicFilter": "1", "HasDynamicBias": 1.0},
            EngineLayer(0, "", type="", origin="", activation=""),
        ),
        (
            {
                "Name": 3,
                "TacticValue": 7,
                "Weights": {"Type": None},
                "Bias": [],
                "Origin": {},
                "Inputs": {},
            },
            EngineLayer(0, "3"),
        ),
        ("b [profile 1]", EngineLayer(0, "b [profile 1]", profile=1)),
        (5, EngineLayer(0, "5")),
    ],
)
def test_a_layer_in_json(item: object, expected: EngineLayer) -> None:
    assert layers_from_json([item]) == LayerInfo((expected,), detailed=not isinstance(item, str))


def test_layers_are_numbered_and_one_object_makes_them_detailed() -> None:
    found = layers_from_json(["a", {"Name": "b"}, "c"])
    assert found == LayerInfo((EngineLayer(0, "a"), EngineLayer(1, "b"), EngineLayer(2, "c")))
    assert layers_from_json([]) == LayerInfo((), detailed=False)


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (
            {
                "Name": "x",
                "IOMode": "INPUT",
                "DataType": "Half",
                "Dimensions": [-1, 3],
                "ProfileInfo": [{"MinShape": [1, 3], "OptShape": [2, 3], "MaxShape": [4, 3]}],
            },
            EngineTensor("x", True),
        ),
        ({"Name": "y", "IOMode": "Output"}, EngineTensor("y", False)),
        ({"IOMode": "", "ProfileInfo": 3}, EngineTensor("")),
    ],
)
def test_a_tensor_of_the_engine_in_json(item: object, expected: EngineTensor) -> None:
    found = layers_from_json({"Layers": [], "Bindings": ["b", 1, {}], "I/O Tensors": [item, "x"]})
    assert found.tensors == (EngineTensor("b"), expected)
    assert layers_from_json({"Layers": [], "Bindings": "b", "I/O Tensors": {}}).tensors == ()


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        ({"Layers": ["a"]}, True), ({"layers": ["a"]}, True), ({"LayerInfo": ["a"]}, True), ({}, False),
        ({"x": 1}, False), ([], False), (["a"], True), ([{"LayerType": "a"}], True), ([{"Name": "a"}], True),
        ([{"name": "a"}], False), ([1], False), ([[]], False), ("Layers", False), (None, False),
        ([{"a": 1}, {"Name": "a"}], False),
    ],
)  # fmt: skip
def test_json_that_has_layers(root: object, expected: bool) -> None:
    found = from_json(root)
    assert (found is not None) is expected
    assert found is None or len(found.layers) == 1


def test_the_number_of_layers_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_LAYERS", 1000)
    assert len(layers_from_json(["a"] * 1000).layers) == 1000
    with pytest.raises(BuildFileError, match="1,001 layers exceed the limit of 1,000") as caught:
        layers_from_json(["a"] * 1001)
    assert caught.value.line == 1


@pytest.mark.parametrize(
    ("data", "message", "line", "offset"),
    [
        (b'{\n"a": }', "not valid JSON, or cut off: Expecting value", 2, 7),
        (b"[" * 500_000, "the JSON is nested too deeply", 1, None),
        (b"9" * 5000, "a number has too many digits", 1, None),
    ],
)
def test_json_that_cannot_be_read(data: bytes, message: str, line: int, offset: int | None) -> None:
    with pytest.raises(BuildFileError) as caught:
        parse_json(data)
    assert caught.value.message.startswith(message)
    assert (caught.value.line, caught.value.offset) == (line, offset)


@pytest.mark.parametrize(
    ("inputs", "outputs", "weights", "expected"),
    [
        (["float16"], ["int8"], None, "float16"),
        (["float16"], ["int8"], "int8", "int8"),
        (["int64", None], ["bool", "float32"], None, "float32"),
        (["int32", "uint8"], ["int64"], None, "int32"),
        ([None], ["bool"], None, "bool"),
        ([None], [], None, None),
    ],
)
def test_the_precision_of_a_layer(
    inputs: list[Any], outputs: list[Any], weights: Any, expected: str | None
) -> None:
    layer = EngineLayer(
        0,
        "a",
        inputs=tuple(LayerTensor("x", each) for each in inputs),
        outputs=tuple(LayerTensor("y", each) for each in outputs),
        weights=weights,
    )
    assert layer.precision == expected


def test_layers_that_only_copy() -> None:
    assert EngineLayer(0, "a", "Reformat").is_reformat
    assert EngineLayer(0, "Reformatting CopyNode for x", "NoOp").is_reformat
    assert not EngineLayer(0, "a Reformatting CopyNode", "NoOp").is_reformat


ONE_LINE = (
    "Name: a [profile 2], LayerType: conv, Inputs: [ { Name: x, Location: Host, Dimensions: [1,-1], "
    "Format/Datatype: Row major linear FP32 }, { Name: y, z, Dimensions: [], Datatype: Half, "
    "Format: Linear }], "
    "Constants: [ { Name: c, Dimensions: [2] }], Outputs: [ { Name: o, Dimensions: [a] }], "
    'ParameterType: Convolution, Weights: {"Type": "Int8", "Count": 216}, '
    'Bias: {"Type": "Float", "Count": 8}, '
    "Activation: RELU, HasDynamicFilter: 0, HasDynamicBias: 1, Origin: QDQ, TacticName: kernel, "
    "TacticValue: 0x01, StreamId: 12345678, Metadata: [ONNX Layer: a], Outputs: [ { Name: p }]"
)
ONE_LINE_LAYER = EngineLayer(
    5,
    "a [profile 2]",
    "conv",
    (
        LayerTensor("x", "float32", "Row major linear FP32"),
        LayerTensor("y, z", "float16", "Linear"),
    ),
    (LayerTensor("o"),),
    "kernel",
    "[ONNX Layer: a], Outputs: [ { Name: p }]",
    12345678,
    "QDQ",
    "int8",
    "RELU",
    dynamic_filter=False,
    dynamic_bias=True,
    profile=2,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ONE_LINE, ONE_LINE_LAYER),
        ("Name: a, LayerType: b", EngineLayer(5, "a", "b")),
        ("Name: a, LayerType: b, StreamId: 123456789", EngineLayer(5, "a", "b")),
        (
            "Name: a, LayerType: b, StreamId: x, TacticName: , TacticValue: , HasDynamicBias: 2",
            EngineLayer(5, "a", "b"),
        ),
        ("Name: a, LayerType: b, Weights: {, Bias: []", EngineLayer(5, "a", "b")),
        ('Name: a, LayerType: b, Weights: {"Type": 3, "Count": "1"}', EngineLayer(5, "a", "b")),
        ("Name: a, LayerType: b, Inputs: [], Outputs: [], StreamId: 1", EngineLayer(5, "a", "b", stream=1)),
        (
            "Name: a, LayerType: b, Inputs: [], Outputs: [ { Name: o }], StreamId: 1",
            EngineLayer(5, "a", "b", outputs=(LayerTensor("o"),), stream=1),
        ),
        (
            "Name: a, LayerType: b, Inputs: [ { Name: x, Dimensions: [1], Format: f }], Metadata: m",
            EngineLayer(5, "a", "b", (LayerTensor("x", None, "f"),), metadata="m"),
        ),
        (
            "Name: a, LayerType: b, Inputs: [ { Name: x, Format: f }, { Name: y, Dimensions: [1]",
            EngineLayer(5, "a", "b", (LayerTensor("x", None, "f"), LayerTensor("y"))),
        ),
        (
            "Name: a, LayerType: b, Outputs: [ { Name: o }]",
            EngineLayer(5, "a", "b", outputs=(LayerTensor("o"),)),
        ),
        (" Name: a, LayerType: b", None),
        ("Name: a", None),
        ("a, LayerType: b", None),
    ],
)
def test_a_layer_on_one_line(text: str, expected: EngineLayer | None) -> None:
    assert parse_layer(text, 5) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Layer(conv): a -> b, Tactic: 0x1, x (Float[1,3:4]), y -> z (Int8[]) -> o (Half[-1])",
            EngineLayer(
                5,
                "a -> b",
                "conv",
                (
                    LayerTensor("x", "float32", "Float[1,3:4]"),
                    LayerTensor("y -> z", "int8", "Int8[]"),
                ),
                (LayerTensor("o", "float16", "Half[-1]"),),
            ),
        ),
        (
            "Layer(conv): a [profile 1], Tactic: , x (Float[b]) -> ",
            EngineLayer(5, "a [profile 1]", "conv", (LayerTensor("x", "float32", "Float[b]"),), profile=1),
        ),
        (
            "Layer(conv): a, Tactic: 0x1,  -> o (Half[2])",
            EngineLayer(5, "a", "conv", (), (LayerTensor("o", "float16", "Half[2]"),)),
        ),
        (
            "Layer(conv): a, Tactic: 0x1, x (Half[2])",
            EngineLayer(5, "a", "conv", (LayerTensor("x", "float16", "Half[2]"),)),
        ),
        ("Layer(conv): , Tactic: 0x1", EngineLayer(5, "", "conv")),
        ("Layer(conv): a", None),
        (" Layer(conv): a, Tactic: 0x1", None),
        (f"Layer({'c' * 80}): a, Tactic: 1", EngineLayer(5, "a", "c" * 80)),
        (f"Layer({'c' * 81}): a, Tactic: 1", None),
    ],
)
def test_a_layer_of_the_old_form(text: str, expected: EngineLayer | None) -> None:
    assert parse_legacy(text, 5) == expected


def test_the_sections_of_a_list() -> None:
    reader = DumpReader()
    wanted = {}
    for text in (
        "Name: a, LayerType: b", "", "Name: broken", "Layer(c): d, Tactic: 1", "Layer(c) broken", "other",
        "Bindings: ", "x ", "", "Name: e, LayerType: f", "Layer(g): h, Tactic: 1", "I/O Tensors:", "y",
        " Name: z, IOMode: Output, DataType: Half, Dimensions: [ -1, 3 ], ProfileInfo: [ { MinShape: [1], "
        "OptShape: [2], MaxShape: [4] }, { MinShape: [1], OptShape: [2], MaxShape: [] }, "
        "{ MinShape: [1], OptShape: [2] } ]",
        "Name: w, IOMode: Input", "Name: v", "Engine Metadata:", "more",
    ):  # fmt: skip
        wanted[text] = reader.wants(text)
        reader.feed(text)
    assert [text for text, wants in wanted.items() if not wants] == ["other"]
    assert reader.layers == [
        EngineLayer(0, "a", "b"),
        EngineLayer(1, "d", "c"),
        EngineLayer(2, "h", "g"),
    ]
    assert reader.tensors == [
        EngineTensor("x"),
        EngineTensor("Name: e, LayerType: f"),
        EngineTensor("z", False),
        EngineTensor("w", True),
        EngineTensor("v"),
    ]


def test_the_number_of_tensors_is_limited() -> None:
    reader = DumpReader()
    reader.feed("Bindings:")
    for number in range(4097):
        reader.feed(str(number))
    assert [tensor.name for tensor in reader.tensors] == [str(number) for number in range(4096)]
