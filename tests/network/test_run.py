"""Networks that are computed without NVIDIA's libraries: layers as plain data."""

from __future__ import annotations

from typing import Any

import numpy as np

from trtlint.network.layers import Array, Layer, Network, Tensor
from trtlint.network.run import Missing, Runner, Value
from trtlint.network.schedule import schedule


class Maker:
    """Makes a network of FP32 tensors, layer by layer."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.layers: list[Layer] = []
        self.inputs: list[int] = []

    def tensor(self, name: str, dtype: str = "FLOAT") -> int:
        self.tensors.append(Tensor(name, dtype))
        return len(self.tensors) - 1

    def input(self, name: str, dtype: str = "FLOAT") -> int:
        self.inputs.append(self.tensor(name, dtype))
        return self.inputs[-1]

    def layer(self, sort: str, inputs: list[int], name: str = "", group: int = -1, **settings: Any) -> int:
        outputs: tuple[int, ...] = ()
        if sort not in ("TRIP_LIMIT", "CONDITION"):
            outputs = (self.tensor(name or f"{sort} {len(self.layers)}"),)
        types = tuple(self.tensors[output].dtype for output in outputs)
        self.layers.append(
            Layer(len(self.layers), name, sort, tuple(inputs), outputs, types, settings, group)
        )
        return outputs[0] if outputs else -1

    def network(self, *outputs: int) -> Network:
        return Network(tuple(self.layers), tuple(self.tensors), tuple(self.inputs), outputs)


def run(network: Network, **feeds: Array) -> dict[str, Value]:
    """Compute a network; return its outputs by name."""
    found: dict[str, Value] = {}

    def watch(tensor: int, _: Layer, value: Value) -> Value:
        if tensor in network.outputs:
            found[network.tensors[tensor].name] = value
        return value

    Runner(network, watch).run(feeds)
    return found


def test_layers_are_computed_in_the_order_of_their_tensors() -> None:
    maker = Maker()
    x = maker.input("x")
    later = maker.tensor("later")
    y = maker.layer("ACTIVATION", [later], "y", type="RELU")
    maker.layers.append(Layer(1, "neg", "UNARY", (x,), (later,), ("FLOAT",), {"op": "NEG"}))
    found = run(maker.network(y), x=np.array([-2.0, 1.0], np.float32))
    assert np.array_equal(np.asarray(found["y"]), [2.0, 0.0])


def test_a_layer_that_is_not_known_is_missing_and_so_is_what_follows() -> None:
    maker = Maker()
    x = maker.input("x")
    y = maker.layer("ACTIVATION", [maker.layer("PLUGIN_V3", [x])], "y", type="RELU")
    z = maker.layer("UNARY", [x], "z", op="NEG")
    found = run(maker.network(y, z), x=np.ones(1, np.float32))
    assert found["y"] == Missing("the layer PLUGIN_V3")
    assert not isinstance(found["z"], Missing)


def test_the_branch_that_is_not_taken_is_not_computed() -> None:
    maker = Maker()
    x, c = maker.input("x"), maker.input("c", "BOOL")
    maker.layer("CONDITION", [c], group=0)
    then = maker.layer("UNARY", [x], "then", op="NEG")
    other = maker.layer("PLUGIN_V3", [x], "other")
    y = maker.layer("CONDITIONAL_OUTPUT", [then, other], "y", group=0)
    network = maker.network(y)
    seen = []

    def watch(tensor: int, _: Layer, value: Value) -> Value:
        seen.append((network.tensors[tensor].name, value))
        return value

    Runner(network, watch).run({"x": np.ones(1, np.float32), "c": np.array(True)})
    values = dict(seen)
    assert np.array_equal(np.asarray(values["y"]), [-1.0])
    assert values["other"] == Missing("the layer is in a branch of an If that does not run")


def test_a_loop_carries_its_state_and_stacks_its_outputs() -> None:
    maker = Maker()
    x, n = maker.input("x"), maker.input("n", "INT32")
    maker.layer("TRIP_LIMIT", [n], group=0, kind="COUNT")
    state = maker.tensor("state")
    grown = maker.layer("ELEMENTWISE", [state, x], "grown", op="SUM")
    maker.layers.append(Layer(len(maker.layers), "", "RECURRENCE", (x, grown), (state,), ("FLOAT",), {}, 0))
    last = maker.layer("LOOP_OUTPUT", [state], "last", group=0, kind="LAST_VALUE", axis=0)
    every = maker.layer("LOOP_OUTPUT", [grown, n], "every", group=0, kind="CONCATENATE", axis=0)
    found = run(maker.network(last, every), x=np.ones(1, np.float32), n=np.array(3, np.int32))
    assert np.array_equal(np.asarray(found["last"]), [4.0])
    assert np.array_equal(np.asarray(found["every"]), [[2.0], [3.0], [4.0]])


def test_tensors_are_dropped_behind_their_last_reader() -> None:
    maker = Maker()
    x = maker.input("x")
    a = maker.layer("UNARY", [x], "a", op="NEG")
    b = maker.layer("UNARY", [a], "b", op="ABS")
    c = maker.layer("UNARY", [b], "c", op="NEG")
    block = schedule(maker.network(c))
    assert block.last == [(), (a,), (b,)]
