"""Tests of operators without a converter in a lowered program, with the reasons."""

from __future__ import annotations

import base64
import sys
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from trtlint.torch_tensorrt import _layers, _nodes
from trtlint.torch_tensorrt._layers import LayerReader, watch_owners
from trtlint.torch_tensorrt.asking import _last_line


class Tensor:
    """A fake torch tensor."""

    def __init__(self, *shape: int | str) -> None:
        self.shape, self.dtype = shape, "torch.float16"


TORCH = SimpleNamespace(Tensor=Tensor)


def node(target: str, name: str = "", *, op: str = "call_function", **meta: Any) -> Any:
    """Return a node of a graph."""
    return SimpleNamespace(op=op, target=target, name=name or target, meta=meta)


class Converters:
    """Fake Torch-TensorRT converters of some operators, by target."""

    def __init__(self, **registries: Any) -> None:
        self.registries = [registries]
        self.compilation_settings = SimpleNamespace(fallback_data_dependent_ops=True)
        self.disallowed_targets = {"excluded", "qualified"}

    def __contains__(self, node: Any) -> bool:
        return str(node.target).startswith("good")

    def qualified_name_or_str(self, target: str) -> str:
        return "qualified" if target == "by_name" else target


def candidate(validator: Any = None, *, dynamic: bool = False) -> Any:
    """Return a converter with a validator."""
    return SimpleNamespace(capability_validator=validator, supports_dynamic_shapes=dynamic)


def small(node: Any, settings: Any = None) -> bool:
    """Reject the node."""
    return False


def old(node: Any) -> bool:
    """Accept the node with one parameter, like validators of older releases."""
    return True


def broken(node: Any) -> bool:
    """Raise an error."""
    raise RuntimeError


@pytest.fixture(autouse=True)
def modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Install fake Torch-TensorRT modules."""
    support = SimpleNamespace(
        _has_complex_dtype=lambda node: node.target == "complex",
        _requires_output_allocator=lambda node: node.target == "data",
    )
    converters = Converters(
        refusing=[candidate(small), candidate(broken), candidate(small)],
        static=candidate(),
        dynamic=[candidate(old)],
        accepting=[candidate(old, dynamic=True)],
    )
    for name, module in (
        ("conversion", {"DYNAMO_CONVERTERS": converters}),
        ("conversion._ConverterRegistry", {"has_dynamic_shapes": lambda node: "dynamic" in node.target}),
        ("partitioning._global_partitioner", {"TorchTensorRTOperatorSupport": support}),
    ):
        monkeypatch.setitem(sys.modules, f"torch_tensorrt.dynamo.{name}", SimpleNamespace(**module))


def test_the_operators_without_a_converter() -> None:
    targets = (
        *("good", "complex", "data", "good_for_cpu", "excluded", "by_name", "missing", "refusing"),
        *("static", "dynamic", "accepting", "good too"),
    )
    nodes = [node("x", op="placeholder"), *map(node, targets), node("y", op="output")]
    found = _nodes.operators(TORCH, SimpleNamespace(graph=SimpleNamespace(nodes=nodes)))
    assert found["operators"] == len(targets)
    assert [(each["op"], each["reason"]["kind"], each["reason"]["by"]) for each in found["fallbacks"]] == [
        ("complex", "complex", ""),
        ("data", "data", "fallback_data_dependent_ops"),
        ("good_for_cpu", "cpu", ""),
        ("excluded", "excluded", "torch_executed_ops"),
        ("by_name", "excluded", "torch_executed_ops"),
        ("missing", "none", ""),
        ("refusing", "validator", "small, broken"),
        ("static", "static", "dynamic shapes"),
        ("dynamic", "static", "dynamic shapes"),
        ("accepting", "validator", ""),
    ]


def test_at_most_so_many_operators_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_nodes, "_MOST_NODES", 2)
    graph = SimpleNamespace(nodes=[node("missing") for _ in range(4)])
    found = _nodes.operators(TORCH, SimpleNamespace(graph=graph))
    assert (found["operators"], len(found["fallbacks"])) == (4, 2)


def test_nodes_as_data() -> None:
    given: dict[str, Any] = {
        "nn_module_stack": {"a": ("net", "Net"), "b": ("net.head", "Head")},
        "stack_trace": "t" * 5000,
    }
    assert _nodes.node_data(TORCH, node("relu", "relu_1", val=Tensor(2, "s0"), **given)) == {
        "name": "relu_1",
        "op": "relu",
        "module": "net.head",
        "trace": "t" * 4000,
        "type": "float16[2, s0]",
    }
    plain = {"name": "n", "op": "relu", "module": "", "trace": "", "type": ""}
    assert _nodes.node_data(TORCH, node("relu", "n", nn_module_stack={"a": "net"}, val=3)) == plain
    assert _nodes.node_data(TORCH, node("relu", "n", nn_module_stack=None, stack_trace=None)) == plain
    assert _nodes.node_data(TORCH, None) == {"name": "", "op": ""}
    assert _nodes.node_data(TORCH, "text") == {"name": "text", "op": ""}


def test_equal_traces_are_sent_once() -> None:
    traces: dict[str, int] = {}
    found = [
        _nodes.place_of(TORCH, node("relu", name, stack_trace=trace), traces)
        for name, trace in (("a", "one"), ("b", "two"), ("c", "one"))
    ]
    assert [each["trace"] for each in found] == [0, 1, 0]
    assert list(traces) == ["one", "two"]
    assert found[1] == {"name": "b", "op": "relu", "module": "", "trace": 1}


def weights(data: bytes, size: int | None = None) -> Any:
    """Return weights with their bytes."""
    return SimpleNamespace(nbytes=len(data) if size is None else size, tobytes=lambda: data)


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (weights(b"12345678"), True),
        (weights(b""), False),
        (weights(b"1" * 32, 4 << 20), True),
        (weights(b"1" * 32, (4 << 20) + 1), False),
        (weights(bytes(1 << 20)), True),
        (weights(bytes(range(256)) * 4096), True),
        (SimpleNamespace(nbytes=8), False),
        (SimpleNamespace(tobytes=lambda: b"8"), False),
    ],
)
def test_values_of_constants(given: Any, sent: bool) -> None:
    found = LayerReader(SimpleNamespace(), None, {})._values(given)
    assert (found is not None) is sent
    if found is not None:
        assert zlib.decompress(base64.b64decode(found)) == given.tobytes()


def test_random_values_are_too_large() -> None:
    reader = LayerReader(SimpleNamespace(), None, {})
    random = np.random.default_rng(0)
    assert reader._values(weights(random.bytes(1 << 17))) is None
    assert reader._values(weights(random.bytes(1 << 15))) is not None


def test_each_layer_has_the_node_that_made_it() -> None:
    net = SimpleNamespace(num_layers=2)

    def run_node(node: str) -> str:
        net.num_layers += len(node)
        return node.upper()

    interpreter = SimpleNamespace(ctx=SimpleNamespace(net=net), run_node=run_node)
    owners, nodes = watch_owners(interpreter)
    assert [interpreter.run_node(each) for each in ("a", "", "bc")] == ["A", "", "BC"]
    assert (owners, nodes) == ({2: 0, 3: 1, 4: 1}, ["a", "bc"])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ""),
        ("\n \n", ""),
        ("first\n last \n\n", " (last)"),
        ("x" * 3000, f" ({'x' * 200})"),
        (None, ""),
    ],
)
def test_the_last_line_of_a_log(text: str | None, line: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "log").write_text(text, "utf-8")
    assert _last_line(tmp_path / "log") == line


def enum(name: str) -> Any:
    """Return a member of an enumeration of TensorRT."""
    return SimpleNamespace(name=name)


class UnknownShape:
    """A shape of unknown rank."""

    def __iter__(self) -> Any:
        raise ValueError


def tensor(name: str, shape: Any = (1,), dtype: str = "FLOAT") -> Any:
    """Return a tensor of TensorRT."""
    return SimpleNamespace(name=name, shape=shape, dtype=enum(dtype))


class ILayer:
    """A fake layer as the network returns it; attributes of its kind need the class of the kind."""

    def __init__(self, kind: str, name: str, inputs: list[Any], outputs: list[Any], **own: Any) -> None:
        self.type, self.name, self.own = enum(kind), name, own
        self.num_inputs, self.get_input = len(inputs), inputs.__getitem__
        self.num_outputs, self.get_output = len(outputs), outputs.__getitem__


class Known(ILayer):
    """A fake layer with readable attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return vars(self)["own"][name]
        except KeyError:
            raise AttributeError(name) from None


def net(layers: list[Any], inputs: list[Any] | None = None, outputs: list[Any] | None = None) -> Any:
    """Return a network of TensorRT."""
    first, last = inputs or [], outputs or []
    return SimpleNamespace(
        num_layers=len(layers), get_layer=layers.__getitem__,
        num_inputs=len(first), get_input=first.__getitem__,
        num_outputs=len(last), get_output=last.__getitem__,
    )  # fmt: skip


KINDS = (
    *("Activation", "Constant", "Convolution", "Deconvolution", "Scale", "AttentionInput", "AttentionOutput"),
    *("IfConditionalInput", "Recurrence", "PluginV3", "Concatenation"),
)
TRT = SimpleNamespace(**{f"I{kind}Layer": type(kind, (Known,), {}) for kind in KINDS}, Other=int)


def read(*layers: Any, owners: dict[int, int] | None = None) -> list[Any]:
    """Return the layers of a network, without tensors."""
    found = LayerReader(TRT, net(list(layers)), owners or {}).read()
    assert found is not None
    return list(found["layers"])


def test_tensors_of_a_network_are_listed_once() -> None:
    a, b, c = tensor("a" * 301, (2, -1), "HALF"), tensor("b", UnknownShape()), tensor("c", ())
    layers = [ILayer("FILL", "f", [], [b]), ILayer("OTHER", "o" * 301, [a, None, b], [c, a])]
    assert LayerReader(TRT, net(layers, [a], [c, a]), {1: 4}).read() == {
        "tensors": [["a" * 300, "HALF", [2, -1]], ["b", "FLOAT", None], ["c", "FLOAT", []]],
        "inputs": [0],
        "outputs": [2, 0],
        "layers": [
            {"kind": "FILL", "name": "f", "inputs": [], "outputs": [1], "settings": {}, "node": -1},
            {"kind": "OTHER", "name": "o" * 300, "inputs": [0, None, 1], "outputs": [2, 0], "settings": {},
             "node": 4},
        ],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "own", "settings"),
    [
        ("ACTIVATION", {"type": enum("RELU"), "alpha": 0.5}, {"alpha": 0.5}),
        ("CONCATENATION", {"axis": 1}, {"axis": 1}),
        ("PLUGIN_V3", {"axis": 1}, {}),
        ("UNKNOWN", {"axis": 1}, {}),
        ("CONVOLUTION", {"num_groups": 2, "kernel": weights(b"1"), "bias": SimpleNamespace(size=3)},
         {"num_groups": 2, "kernel": 0, "bias": 3}),
        ("DECONVOLUTION", {"kernel": SimpleNamespace(size=None), "bias": None}, {"kernel": 0, "bias": 0}),
        ("SCALE", {"shift": SimpleNamespace(size=1), "scale": SimpleNamespace(size=2),
                   "power": SimpleNamespace(size=3)}, {"shift": 1, "scale": 2, "power": 3}),
        ("CONSTANT", {"shape": (2, 1), "weights": weights(b"12")},
         {"shape": (2, 1), "data": base64.b64encode(zlib.compress(b"12", 1)).decode()}),
        ("CONSTANT", {"shape": (2, 1), "weights": None}, {"shape": (2, 1)}),
    ],
)  # fmt: skip
def test_settings_of_a_layer(kind: str, own: dict[str, Any], settings: dict[str, Any]) -> None:
    (found,) = read(ILayer(kind, "l", [], [], **own))
    # The kind of a layer hides its setting of the same name.
    assert {name: value for name, value in found["settings"].items() if name != "type"} == settings


@pytest.mark.parametrize(("count", "kept"), [(2, 2), (256, 256), (257, 256)])
def test_ports_of_a_layer(count: int, kept: int) -> None:
    many = [tensor("t")] * count
    assert [len(read(ILayer("X", "l", *ends))[0][name]) for ends, name in (
        ((many, []), "inputs"), (([], many), "outputs"),
    )] == [kept, kept]  # fmt: skip


def test_the_mask_of_attention() -> None:
    mask = tensor("mask")
    attention = SimpleNamespace(norm_op=enum("SOFTMAX"), causal=True, mask=mask)
    plain = SimpleNamespace(causal=False)
    layers = [
        ILayer("ATTENTION_INPUT", "a", [tensor("q")], [], attention=attention),
        ILayer("ATTENTION_OUTPUT", "b", [], [], attention=attention),
        ILayer("ATTENTION_INPUT", "c", [mask], [], attention=plain),
        ILayer("ATTENTION_INPUT", "d", [], [], attention=SimpleNamespace(mask=None)),
    ]
    found = read(*layers)
    assert [each["settings"] for each in found] == [
        {"norm_op": "SOFTMAX", "causal": True, "mask": 0},
        {},
        {"causal": False, "mask": None},
        {"mask": None},
    ]
    assert [each["inputs"] for each in found] == [[1], [], [0], []]


@pytest.mark.parametrize(("limit", "fits"), [(2, True), (1, False)])
def test_a_network_with_too_many_layers(monkeypatch: pytest.MonkeyPatch, limit: int, fits: bool) -> None:
    monkeypatch.setattr(_layers, "MOST_LAYERS", limit)
    layers = [ILayer("X", "l", [], [])] * 2
    assert (LayerReader(TRT, net(layers), {}).read() is not None) is fits


def test_nodes_of_layers_beyond_the_limit_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_layers, "MOST_LAYERS", 5)
    graph = SimpleNamespace(num_layers=3)

    def run_node(node: int) -> None:
        graph.num_layers += node
        if node == 4:
            raise ValueError

    interpreter = SimpleNamespace(ctx=SimpleNamespace(net=graph), run_node=run_node)
    owners, nodes = watch_owners(interpreter)
    interpreter.run_node(1)
    with pytest.raises(ValueError):  # noqa: PT011 - the error of the node itself
        interpreter.run_node(4)
    assert (owners, nodes) == ({3: 0, 4: 1}, [1, 4])


def sizes_sent(given: list[Any]) -> list[bool]:
    """Return the weights that one reader sends."""
    reader = LayerReader(SimpleNamespace(), None, {})
    return [reader._values(each) is not None for each in given]


def test_compressed_values_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    data = bytes(range(200))
    size = len(zlib.compress(data, 1))
    monkeypatch.setattr(_layers, "_MOST_SENT_IN_ALL", 2 * size)
    assert sizes_sent([weights(data)] * 3 + [weights(b"1")]) == [True, True, False, False]
    monkeypatch.setattr(_layers, "_MOST_SENT_IN_ALL", 2 * size - 1)
    assert sizes_sent([weights(data)] * 2) == [True, False]
    monkeypatch.setattr(_layers, "_MOST_SENT", size)
    assert sizes_sent([weights(data)]) == [True]
    monkeypatch.setattr(_layers, "_MOST_SENT", size - 1)
    assert sizes_sent([weights(data)]) == [False]


def test_large_values_that_do_not_compress_are_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first part decides: it must compress to a quarter of its size."""
    first, rest = bytes(range(16)) * 4, bytes(1000)
    size = len(zlib.compress(first, 1))
    monkeypatch.setattr(_layers, "_MOST_SENT", len(first + rest) - 1)
    monkeypatch.setattr(_layers, "_SAMPLE", 64)
    assert (size, sizes_sent([weights(first + rest)])) == (27, [False])
    monkeypatch.setattr(_layers, "_SAMPLE", 4 * 27)
    more = first + bytes(44)
    assert len(zlib.compress(more, 1)) > 27
    assert sizes_sent([weights(bytes(64) + rest)]) == [True]
    monkeypatch.setattr(_layers, "_MOST_SENT", len(first + rest))
    assert sizes_sent([weights(first + rest)]) == [True]


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("aten.a", "aten.a"),
        (len, "len"),
        (SimpleNamespace(__name__="hidden"), "namespace(__name__='hidden')"),
        (type("Op", (), {"__call__": 0, "_schema": 1, "__name__": "x", "__str__": lambda _: "aten.b"})(),
         "aten.b"),
        (type("Callable", (), {"__call__": 0, "__str__": lambda _: "c"})(), "c"),
    ],
)  # fmt: skip
def test_names_of_operators(target: Any, name: str) -> None:
    assert _nodes._operator(target) == name


def test_data_of_nodes_is_cut() -> None:
    long = SimpleNamespace(
        op="call_function", target="t", name="n" * 1001,
        meta={"nn_module_stack": {"a": ("m" * 1001, "M")}, "stack_trace": "a" + "b" * 4000,
              "val": Tensor(*["s"] * 400)},
    )  # fmt: skip
    assert _nodes.node_data(TORCH, long) == {
        "name": "n" * 1000,
        "op": "t",
        "module": "m" * 1000,
        "trace": "b" * 4000,
        "type": f"float16[{', '.join(['s'] * 400)}]"[:1000],
    }
    traces: dict[str, int] = {}
    assert _nodes.place_of(TORCH, long, traces)["trace"] == 0
    assert list(traces) == ["b" * 2000]
    assert _nodes.place_of(TORCH, "x" * 1001, traces) == {
        "name": "x" * 1000, "op": "", "module": "", "trace": 1,
    }  # fmt: skip


def reason(each: Any, converters: Any, **support: Any) -> Any:
    """Return the reason why one node runs in PyTorch."""
    modules: dict[str, Any] = {**sys.modules}
    modules["torch_tensorrt.dynamo.conversion"].DYNAMO_CONVERTERS = converters
    partitioner = modules["torch_tensorrt.dynamo.partitioning._global_partitioner"]
    partitioner.TorchTensorRTOperatorSupport = SimpleNamespace(**support)
    found = _nodes.operators(TORCH, SimpleNamespace(graph=SimpleNamespace(nodes=[each])))["fallbacks"]
    return found[0]["reason"] if found else None


DATA = {"_requires_output_allocator": lambda node: node.target == "data"}


def test_operators_whose_size_depends_on_the_data() -> None:
    own = Converters(data=candidate())
    expected = {"kind": "data", "by": "fallback_data_dependent_ops"}
    assert reason(node("data"), own, **DATA) == expected
    assert reason(node("good"), own, **DATA) is None
    assert reason(node("data"), own) == {"kind": "static", "by": "dynamic shapes"}
    own.compilation_settings.fallback_data_dependent_ops = False
    assert reason(node("data"), own, **DATA) == {"kind": "static", "by": "dynamic shapes"}
    own.compilation_settings = SimpleNamespace()
    assert reason(node("data"), own, **DATA) == {"kind": "static", "by": "dynamic shapes"}


def unnamed(length: int) -> Any:
    """Return a validator that rejects, with a long name or without a name."""
    refuse = lambda node, settings: False  # noqa: E731
    refuse.__name__ = "v" * length
    return refuse if length else type("Validator", (), {"__call__": lambda *_: False})()


@pytest.mark.parametrize(
    ("candidates", "kind", "by"),
    [
        ([candidate(unnamed(0)), candidate(unnamed(3))], "validator", "a validator, vvv"),
        ([candidate(unnamed(1001))], "validator", "v" * 1000),
        ([candidate(small), candidate()], "static", "dynamic shapes"),
        ([candidate(), candidate(small)], "static", "dynamic shapes"),
        ([candidate(small), candidate(old)], "validator", "small"),
    ],
)
def test_reasons_of_converters(candidates: list[Any], kind: str, by: str) -> None:
    assert reason(node("op"), Converters(op=candidates)) == {"kind": kind, "by": by}


def test_converters_of_all_registries_are_asked() -> None:
    own = Converters(op=[candidate(small)])
    own.registries.append({"op": (candidate(broken),), "other": candidate()})
    assert reason(node("op"), own) == {"kind": "validator", "by": "small, broken"}


def test_releases_without_a_test_for_dynamic_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Converters(dynamic_op=[candidate(old)])
    name = "torch_tensorrt.dynamo.conversion._ConverterRegistry"
    static, refused = {"kind": "static", "by": "dynamic shapes"}, {"kind": "validator", "by": ""}
    found = []
    for functions in (
        {},
        {"has_dynamic_shapes": lambda _: True},
        {"has_dynamic_shapes": lambda _: True, "node_has_dynamic_shapes": lambda _: False},
    ):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(**functions))
        found.append(reason(node("dynamic_op"), own))
    assert found == [refused, static, refused]


def test_at_most_2000_operators_are_listed() -> None:
    graph = SimpleNamespace(nodes=[node("good_for_cpu")] * 2001)
    found = _nodes.operators(TORCH, SimpleNamespace(graph=graph))
    assert (found["operators"], len(found["fallbacks"])) == (2001, 2000)
