"""Tests of TensorRT networks as plain data, with a fake library."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from trtlint.network import read
from trtlint.network.layers import Layer, Network, Tensor
from trtlint.network.read import NetworkReader
from trtlint.network.settings import plain, read_settings


class Named:
    """An enumeration value."""

    def __init__(self, name: str) -> None:
        self.name = name


class ILayer:
    """A fake layer as the network returns it, without the attributes of its class."""

    def __init__(self, sort: str, inputs: list[Any], outputs: list[Any], **settings: Any) -> None:
        self.type = Named(sort)
        self.name = f"the {sort}"
        self.inputs, self.outputs = inputs, outputs
        self.num_inputs, self.num_outputs = len(inputs), len(outputs)
        self.given = settings

    def get_input(self, port: int) -> Any:
        return self.inputs[port]

    def get_output(self, port: int) -> Any:
        return self.outputs[port]


class Full(ILayer):
    """A fake layer of its class, with the attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["given"][name]
        except KeyError:
            raise AttributeError(name) from None


def library(*names: str) -> Any:
    """Return a fake library with some layer classes."""
    classes = {name: type(name, (Full,), {}) for name in names}
    return SimpleNamespace(**classes, Logger=object, ILayer=ILayer, IActivation=object)


def tensor(name: str, dtype: str = "FLOAT", *shape: int) -> Any:
    """Return a fake library tensor."""
    return SimpleNamespace(name=name, dtype=Named(dtype), shape=shape)


def network(inputs: list[Any], outputs: list[Any], *layers: ILayer) -> Any:
    """Return a fake library network."""
    return SimpleNamespace(
        num_inputs=len(inputs),
        get_input=inputs.__getitem__,
        num_outputs=len(outputs),
        get_output=outputs.__getitem__,
        num_layers=len(layers),
        get_layer=list(layers).__getitem__,
    )


X, Y, Z = tensor("x", "HALF", 2, 3), tensor("y", "FLOAT", 4), tensor("z", "INT32")


def test_layers_and_tensors() -> None:
    layers = (
        ILayer("UNARY", [X], [Y], op=Named("NEG"), other=1),
        ILayer("SLICE", [Y, None, X], [Z], start=(1, 2), stride=None, mode=Named("FILL")),
        ILayer("PLUGIN_V3", [Z], [], op=Named("X")),
        ILayer("TOPK", [Z], [Y, X], k=3),
    )
    found = NetworkReader(
        library("IUnaryLayer", "ISliceLayer", "IPluginV3Layer"), network([X], [Z, Y], *layers)
    )
    assert found.read() == Network(
        (
            Layer(0, "the UNARY", "UNARY", (0,), (1,), ("FLOAT",), {"op": "NEG"}),
            Layer(
                1,
                "the SLICE",
                "SLICE",
                (1, None, 0),
                (2,),
                ("INT32",),
                {"start": (1, 2), "stride": None, "mode": "FILL"},
            ),
            Layer(2, "the PLUGIN_V3", "PLUGIN_V3", (2,), (), (), {}),
            Layer(3, "the TOPK", "TOPK", (2,), (1, 0), ("FLOAT", "HALF"), {}),
        ),
        (Tensor("x", "HALF"), Tensor("y", "FLOAT"), Tensor("z", "INT32")),
        (0,),
        (2, 1),
    )


@pytest.mark.parametrize("kind", ["PLUGIN", "PLUGIN_V2", "PLUGIN_V3"])
def test_plugins_have_no_settings(kind: str) -> None:
    layer = ILayer(kind, [X], [Y])
    NetworkReader(library(f"I{kind.replace('_', '')}Layer"), network([X], [Y], layer)).read()
    assert type(layer) is ILayer


def test_layers_get_their_class() -> None:
    trt = library("IMatrixMultiplyLayer", "IIfConditionalInputLayer", "ILRNLayer", "IAssertionLayer")
    group = object()
    layers = [
        ILayer("MATRIX_MULTIPLY", [X, X], [Y], op0=Named("NONE"), op1=Named("TRANSPOSE")),
        ILayer("CONDITIONAL_INPUT", [X], [Y], conditional=group),
        ILayer("LRN", [X], [Y], alpha=0.5),
        ILayer("ASSERTION", [X], []),
    ]
    found = NetworkReader(trt, network([X], [Y], *layers)).read()
    assert [type(layer) for layer in layers] == [
        trt.IMatrixMultiplyLayer,
        trt.IIfConditionalInputLayer,
        trt.ILRNLayer,
        trt.IAssertionLayer,
    ]
    assert [layer.settings for layer in found.layers] == [
        {"op0": "NONE", "op1": "TRANSPOSE"},
        {},
        {"alpha": 0.5},
        {},
    ]


def test_weights_are_read_later() -> None:
    trt = library("IConstantLayer", "IConvolutionLayer", "IDeconvolutionLayer", "IScaleLayer")
    names = {
        "CONSTANT": ["weights"],
        "CONVOLUTION": ["kernel", "bias"],
        "DECONVOLUTION": ["kernel", "bias"],
        "SCALE": ["shift", "scale", "power"],
    }
    layers = [ILayer(kind, [], [Y], **dict.fromkeys(names[kind])) for kind in names]
    found = NetworkReader(trt, network([], [Y], *layers)).read()
    for layer, source in zip(found.layers, layers, strict=True):
        weights = [(each, held.layer, held.name) for each, held in layer.settings.items()]
        assert weights == [(name, source, name) for name in names[layer.kind]]


def test_layers_of_one_loop_have_one_number() -> None:
    trt = library("IRecurrenceLayer", "ITripLimitLayer", "IConditionLayer", "ILoopOutputLayer")
    one, other, third = object(), object(), object()
    layers = [
        ILayer("RECURRENCE", [X], [Y], loop=one),
        ILayer("CONDITION", [X], [], conditional=other),
        ILayer("TRIP_LIMIT", [X], [], loop=third, kind=Named("COUNT")),
        ILayer("LOOP_OUTPUT", [X], [Y], loop=one, kind=Named("REVERSE"), axis=1),
        ILayer("UNARY", [X], [Y]),
    ]
    found = NetworkReader(trt, network([X], [Y], *layers)).read()
    assert [layer.group for layer in found.layers] == [0, 1, 2, 0, -1]
    assert found.layers[3].settings == {"axis": 1, "kind": "REVERSE"}


def test_tensors_of_an_attention() -> None:
    trt = library("IAttentionInputLayer", "IAttentionOutputLayer")
    mask, scale = tensor("mask", "BOOL", 1), tensor("scale", "FLOAT")
    full = SimpleNamespace(
        norm_op=Named("SOFTMAX"), causal=True, mask=mask, query_lengths=None, key_value_lengths=X,
        normalization_quantize_scale=scale, normalization_quantize_to_type=Named("FP8"),
    )  # fmt: skip
    plain_one = SimpleNamespace(mask=None, normalization_quantize_to_type=Named("FP8"))
    layers = [
        ILayer("ATTENTION_INPUT", [X, Y], [Z], attention=full),
        ILayer("ATTENTION_OUTPUT", [Z], [Y], attention=full),
        ILayer("ATTENTION_INPUT", [X, Y], [Z], attention=plain_one),
    ]
    found = NetworkReader(trt, network([X], [Y], *layers)).read()
    assert [layer.settings for layer in found.layers] == [
        {
            "norm_op": "SOFTMAX",
            "causal": True,
            "mask": 3,
            "normalization_quantize_scale": 4,
            "key_value_lengths": 0,
            "normalization_quantize_to_type": "FP8",
        },
        {},
        {},
    ]
    assert [layer.group for layer in found.layers] == [0, 0, 1]
    assert [each.name for each in found.tensors] == ["x", "y", "z", "mask", "scale"]


def test_very_large_networks_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "_MOST_LAYERS", 2)
    monkeypatch.setattr(read, "_MOST_PORTS", 3)
    layers = [ILayer("UNARY", [X] * 4, [Y] * 4) for _ in range(3)]
    found = NetworkReader(library(), network([X], [Y], *layers)).read()
    assert [(layer.inputs, layer.outputs) for layer in found.layers] == [((0, 0, 0), (1, 1, 1))] * 2


class Unset:
    """Attributes that an older release lacks or that are unset."""

    first = 1

    @property
    def second(self) -> int:
        raise RuntimeError("not set")

    last = Named("LAST")


def test_attributes_that_are_not_set_are_left_out() -> None:
    assert list(read_settings(Unset(), ("first", "second", "third", "last"))) == [
        ("first", 1),
        ("last", "LAST"),
    ]
    assert list(read_settings(Unset(), ())) == []


class Dims:
    """Unset dimensions."""

    def __len__(self) -> int:
        return -1

    def __iter__(self) -> Any:
        raise ValueError("__len__() should return >= 0")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (0, 0),
        (0.5, 0.5),
        ("text", "text"),
        (Named("SUM"), "SUM"),
        ([1, 2.5, True], (1, 2.5, 1)),
        ((), ()),
        (Dims(), None),
        (object(), None),
        (["a"], None),
        (SimpleNamespace(name=3), None),
    ],
)
def test_values_as_plain_data(value: Any, expected: Any) -> None:
    found = plain(value)
    assert (found, type(found)) == (expected, type(expected))
