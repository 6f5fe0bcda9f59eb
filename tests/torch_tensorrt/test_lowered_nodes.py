"""Which operators of a lowered program have no converter, and why."""

from __future__ import annotations

import base64
import sys
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from trtlint.torch_tensorrt import _nodes
from trtlint.torch_tensorrt._layers import LayerReader, watch_owners
from trtlint.torch_tensorrt.asking import _last_line


class Tensor:
    """A tensor of torch."""

    def __init__(self, *shape: int | str) -> None:
        self.shape, self.dtype = shape, "torch.float16"


TORCH = SimpleNamespace(Tensor=Tensor)


def node(target: str, name: str = "", *, op: str = "call_function", **meta: Any) -> Any:
    """Return a node of a graph."""
    return SimpleNamespace(op=op, target=target, name=name or target, meta=meta)


class Converters:
    """The converters of Torch-TensorRT: those of some operators, by target."""

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
    """A validator that refuses."""
    return False


def old(node: Any) -> bool:
    """A validator of older releases, with one parameter, that accepts."""
    return True


def broken(node: Any) -> bool:
    """A validator that fails."""
    raise RuntimeError


@pytest.fixture(autouse=True)
def modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the modules of Torch-TensorRT."""
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
