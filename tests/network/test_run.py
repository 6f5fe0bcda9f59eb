"""Tests of networks computed without NVIDIA's libraries, from plain-data layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from trtlint.network import run as run_module
from trtlint.network.iterations import MOST
from trtlint.network.layers import Array, Layer, Network, Tensor
from trtlint.network.run import MissingTensor, Runner, Value
from trtlint.network.schedule import schedule


class Maker:
    """Builder of networks with FP32 tensors, layer by layer."""

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
    """Compute a network and return its outputs by name."""
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
    assert found["y"] == MissingTensor("the layer PLUGIN_V3")
    assert not isinstance(found["z"], MissingTensor)


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
    assert values["other"] == MissingTensor("the layer is in a branch that its If did not select")


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


def test_inputs_without_a_value_are_missing() -> None:
    maker = Maker()
    x, z = maker.input("x"), maker.input("z")
    y = maker.layer("ELEMENTWISE", [x, z], "y", op="SUM")
    assert run(maker.network(y), x=np.ones(1, np.float32)) == {"y": MissingTensor("no value was given")}


def test_values_of_inputs_get_the_type_of_the_network() -> None:
    maker = Maker()
    h = maker.input("h", "HALF")
    maker.layers.append(Layer(0, "", "IDENTITY", (h,), (maker.tensor("y", "INT32"),), ("INT32",), {}))
    found = np.asarray(run(maker.network(1), h=np.array([2.0009], np.float64))["y"])
    assert (found.dtype, found.tolist()) == (np.int32, [2])


def reasons(
    kind: str, *inputs: Array, types: tuple[str, ...] = ("FLOAT", "INT32"), **settings: Any
) -> list[Any]:
    """Return the outputs of one layer as lists, or the missing support."""
    maker = Maker()
    given = [maker.input(f"x{at}") for at in range(len(inputs))]
    outputs = tuple(maker.tensor(f"y{at}", name) for at, name in enumerate(types))
    maker.layers.append(Layer(0, "", kind, tuple(given), outputs, types, settings))
    network = maker.network(*outputs)
    found = run(network, **{f"x{at}": array for at, array in enumerate(inputs)})
    return [each if isinstance(each, MissingTensor) else each.tolist() for each in found.values()]


ROW = np.array([1, -2], np.float32)


def test_reasons_for_missing_outputs() -> None:
    assert reasons("UNARY", ROW, types=("FLOAT",), op="NEG") == [[-1, 2]]
    few = MissingTensor("the computation of the layer gave fewer outputs than the layer has")
    assert reasons("UNARY", ROW, op="NEG") == [[-1, 2], few]
    assert reasons("TOPK", ROW, types=("FLOAT", "INT32"), op="MAX", k=1, axes=1) == [[1], [0]]
    assert reasons("UNARY", ROW, op="X") == [MissingTensor("the operation X")] * 2
    (shuffled,) = reasons("SHUFFLE", ROW, types=("FLOAT",), reshape_dims=(3,))
    assert isinstance(shuffled, MissingTensor)
    assert shuffled.reason.startswith("SHUFFLE: cannot reshape array of size 2 into shape (3")
    (long,) = reasons("UNARY", ROW, types=("FLOAT",), op="a  b\n" * 100)
    assert long == MissingTensor(("the operation " + "a b " * 100)[:200])


def test_layers_without_outputs_and_inputs() -> None:
    assert reasons("ASSERTION", ROW, types=()) == []
    maker = Maker()
    x = maker.input("x")
    outputs = (maker.tensor("y"),)
    maker.layers.append(Layer(0, "", "SLICE", (x, None), outputs, ("FLOAT",), {"start": (0,), "shape": (1,)}))
    maker.layers.append(Layer(1, "", "CONDITIONAL_INPUT", (x,), (maker.tensor("z"),), ("FLOAT",), {}))
    found = run(maker.network(1, 2), x=ROW)
    assert {name: np.asarray(each).tolist() for name, each in found.items()} == {"y": [1], "z": [1, -2]}


def test_tensors_of_an_attention_are_inputs() -> None:
    ones = np.ones((1, 1, 1, 1), np.float32)
    for given, expected in ((True, 1), (False, 0)):
        maker = Maker()
        query, mask, scale = maker.input("q"), maker.input("mask", "BOOL"), maker.input("scale")
        y = maker.layer("ATTENTION_INPUT", [query] * 3, "y", mask=mask, normalization_quantize_scale=None)
        z = maker.layer("ATTENTION_INPUT", [query] * 3, "z", normalization_quantize_scale=scale)
        found = run(
            maker.network(y, z), q=ones, mask=np.full((1, 1, 1, 1), given), scale=np.array(4, np.float32)
        )
        assert {name: np.asarray(each).item() for name, each in found.items()} == {"y": expected, "z": 1}
    assert isinstance(run(maker.network(y), q=ones)["y"], MissingTensor)


def test_values_that_are_already_known_are_not_computed() -> None:
    maker = Maker()
    x = maker.input("x")
    a = maker.layer("UNARY", [x], "a", op="NEG")
    b = maker.layer("PLUGIN_V3", [a], "b")
    y = maker.layer("UNARY", [b], "y", op="ABS")
    asked: list[Any] = []

    def foresee(layer: Layer, inputs: Any) -> Array | None:
        asked.append((layer.name, [np.asarray(each).tolist() for each in inputs]))
        return np.array([7], np.float32) if layer.name == "b" else None

    seen: dict[str, Any] = {}

    def watch(tensor: int, layer: Layer, value: Value) -> Value:
        seen[layer.name] = np.asarray(value).tolist()
        return np.asarray(value) * 10

    Runner(maker.network(y), watch, foresee).run({"x": np.array([1], np.float32)})
    assert asked == [("a", [[1]]), ("b", [[-10]]), ("y", [[70]])]
    assert seen == {"a": [-1], "b": [7], "y": [70]}


@pytest.mark.parametrize(
    ("condition", "types", "expected"),
    [
        (np.array(True), "FLOAT", [-1, 2]),
        (np.array([True]), "FLOAT", [-1, 2]),
        (np.array(False), "FLOAT", [1, 2]),
        (np.array(False), "INT32", [1, 2]),
        (None, "FLOAT", MissingTensor("no value was given")),
    ],
)
def test_the_output_of_a_conditional(condition: Any, types: str, expected: Any) -> None:
    maker = Maker()
    x, c = maker.input("x"), maker.input("c", "BOOL")
    maker.layer("CONDITION", [c], group=3)
    then, other = maker.layer("UNARY", [x], op="NEG"), maker.layer("UNARY", [x], op="ABS")
    y = maker.tensor("y", types)
    maker.layers.append(Layer(5, "", "CONDITIONAL_OUTPUT", (then, other), (y,), (types,), {}, 3))
    feeds = {"x": ROW} if condition is None else {"x": ROW, "c": condition}
    found = run(maker.network(y), **feeds)["y"]
    if isinstance(expected, MissingTensor):
        assert found == expected
    else:
        assert np.asarray(found).tolist() == expected
        assert np.asarray(found).dtype == {"FLOAT": np.float32, "INT32": np.int32}[types]


def test_conditionals_that_are_not_complete() -> None:
    maker = Maker()
    x, c = maker.input("x"), maker.input("c", "BOOL")
    y, z = maker.tensor("y"), maker.tensor("z")
    maker.layers.append(Layer(0, "", "CONDITIONAL_OUTPUT", (x, x), (y,), ("FLOAT",), {}, 1))
    maker.layer("CONDITION", [c], group=2)
    maker.layers.append(Layer(2, "", "CONDITIONAL_OUTPUT", (x, None), (z,), ("FLOAT",), {}, 2))
    found = run(maker.network(y, z), x=ROW, c=np.array(False))
    assert found == {"y": MissingTensor("a condition is missing"), "z": MissingTensor("a branch is missing")}


class Loop:
    """A loop that adds ``x`` to a state in each iteration, and writes the state."""

    def __init__(self, **bounds: Any) -> None:
        self.maker = Maker()
        self.x, self.n = self.maker.input("x"), self.maker.input("n", "INT32")
        self.go = self.maker.input("go", "BOOL")
        self.state = self.maker.tensor("state")
        for kind, tensor in bounds.items():
            self.maker.layer("TRIP_LIMIT", [getattr(self, tensor)], group=0, kind=kind)
        self.grown = self.maker.layer("ELEMENTWISE", [self.state, self.x], "grown", op="SUM")
        self.add("RECURRENCE", (self.x, self.grown), self.state)

    def add(self, sort: str, inputs: tuple[int | None, ...], output: int, **settings: Any) -> None:
        """Add a layer of the loop."""
        number = len(self.maker.layers)
        self.maker.layers.append(Layer(number, "", sort, inputs, (output,), ("FLOAT",), settings, 0))

    def output(self, kind: str, tensor: int, room: int | None = None, axis: int = 0) -> int:
        """Add an output of the loop."""
        found = self.maker.tensor(f"{kind} {len(self.maker.tensors)}")
        inputs = (tensor,) if room is None else (tensor, room)
        self.add("LOOP_OUTPUT", inputs, found, kind=kind, axis=axis)
        return found

    def run(self, *outputs: int, **feeds: Any) -> list[Any]:
        """Return the outputs as lists, or the missing support."""
        given = {"x": np.array([1, 2], np.float32), "n": np.array(3, np.int32), "go": np.array(True), **feeds}
        found = run(self.maker.network(*outputs), **given)
        return [each if isinstance(each, MissingTensor) else each.tolist() for each in found.values()]


def test_outputs_of_a_loop() -> None:
    loop = Loop(COUNT="n")
    outputs = [
        loop.output("LAST_VALUE", loop.state, loop.n),
        loop.output("LAST_VALUE", loop.grown, loop.n),
        loop.output("CONCATENATE", loop.state),
        loop.output("CONCATENATE", loop.grown, loop.n, axis=1),
        loop.output("REVERSE", loop.grown, loop.n),
    ]
    assert loop.run(*outputs) == [
        [4, 8],
        [4, 8],
        [[1, 2], [2, 4], [3, 6]],
        [[2, 3, 4], [4, 6, 8]],
        [[4, 8], [3, 6], [2, 4]],
    ]
    none = MissingTensor("the loop runs no iteration")
    assert loop.run(*outputs, n=np.array(0, np.int32)) == [[1, 2], none, none, none, none]
    assert loop.run(*outputs, n=np.array(1, np.int32)) == [[2, 4], [2, 4], [[1, 2]], [[2], [4]], [[2, 4]]]


def test_stacked_outputs_have_room_for_all_iterations() -> None:
    loop = Loop(COUNT="n")
    room = loop.maker.input("room", "INT32")
    outputs = [loop.output(kind, loop.grown, room) for kind in ("CONCATENATE", "REVERSE")]
    assert loop.run(*outputs, room=np.array(4, np.int32)) == [
        [[2, 4], [3, 6], [4, 8], [0, 0]],
        [[0, 0], [4, 8], [3, 6], [2, 4]],
    ]
    assert loop.run(*outputs, room=np.array([2], np.int32)) == [[[2, 4], [3, 6]], [[3, 6], [2, 4]]]


def test_outputs_are_stacked_on_a_new_first_axis() -> None:
    loop = Loop(COUNT="n")
    output = loop.maker.tensor("output")
    loop.add("LOOP_OUTPUT", (loop.grown,), output, kind="CONCATENATE")
    assert loop.run(output) == [[[2, 4], [3, 6], [4, 8]]]


def test_a_condition_ends_a_loop() -> None:
    loop = Loop(WHILE="go")
    output = loop.output("CONCATENATE", loop.grown)
    assert loop.run(output, go=np.array([False])) == [MissingTensor("the loop runs no iteration")]
    reason = f"a loop of more than {MOST} iterations"
    loop = Loop(COUNT="n", WHILE="go")
    output = loop.output("CONCATENATE", loop.grown)
    assert loop.run(output) == [[[2, 4], [3, 6], [4, 8]]]
    assert loop.run(output, n=np.array(MOST + 1, np.int32)) == [MissingTensor(reason)]


def test_the_last_condition_is_that_of_the_iteration() -> None:
    loop = Loop(WHILE="x")
    loop.maker.layers[0] = loop.maker.layers[0].__class__(
        0, "", "TRIP_LIMIT", (loop.state,), (), (), {"kind": "WHILE"}, 0
    )
    minus = np.array([-1], np.float32)
    loop.maker.layers[1] = loop.maker.layers[1].__class__(
        1, "grown", "ELEMENTWISE", (loop.state, loop.n), (loop.grown,), ("FLOAT",), {"op": "SUM"}
    )
    last, every = loop.output("LAST_VALUE", loop.state), loop.output("CONCATENATE", loop.grown)
    found = loop.run(last, every, x=-3 * minus, n=np.array([-1], np.int32))
    assert found == [[0], [[2], [1], [0]]]


@pytest.mark.parametrize("kind", ["COUNT", "WHILE"])
def test_loops_whose_end_is_not_known(kind: str) -> None:
    loop = Loop(**{kind: "go"})
    output = loop.output("LAST_VALUE", loop.grown)
    loop.maker.inputs.remove(loop.go)
    loop.maker.inputs.append(loop.maker.tensor("other"))
    words = {
        "COUNT": "a loop whose number of iterations is not known",
        "WHILE": "a loop whose condition is not known: no layer computes the tensor",
    }
    assert loop.run(output) == [MissingTensor(words[kind])]
    endless = Loop()
    output = endless.output("LAST_VALUE", endless.grown)
    assert endless.run(output) == [MissingTensor(words["COUNT"])]


def test_the_smallest_count_ends_a_loop() -> None:
    loop = Loop(COUNT="n")
    other = loop.maker.input("other", "INT32")
    loop.maker.layer("TRIP_LIMIT", [other], group=0, kind="COUNT")
    output = loop.output("LAST_VALUE", loop.state)
    assert loop.run(output, other=np.array(1, np.int32)) == [[2, 4]]
    assert loop.run(output, other=np.array(9, np.int32)) == [[4, 8]]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [[1, 2], [3, 4]]),
        ({"axis": 0, "reverse": False}, [[1, 2], [3, 4]]),
        ({"axis": 1}, [[1, 3, 5], [2, 4, 6]]),
        ({"axis": 0, "reverse": True}, [[5, 6], [3, 4]]),
        ({"axis": 1, "reverse": True}, [[2, 4, 6], [1, 3, 5]]),
    ],
)
def test_slices_of_an_iterated_tensor(settings: dict[str, Any], expected: list[Any]) -> None:
    loop = Loop(COUNT="n")
    table = loop.maker.input("table")
    each = loop.maker.tensor("each")
    loop.add("ITERATOR", (table,), each, **settings)
    output = loop.output("CONCATENATE", each)
    rows = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    assert loop.run(output, table=rows, n=np.array(2, np.int32)) == [expected]


def test_iterated_tensors_that_are_missing() -> None:
    loop = Loop(COUNT="n")
    each = loop.maker.tensor("each")
    loop.add("ITERATOR", (None,), each)
    used = loop.maker.layer("UNARY", [each], "used", op="NEG")
    outputs = [loop.output("CONCATENATE", used), loop.output("LAST_VALUE", loop.state)]
    assert loop.run(*outputs) == [MissingTensor("an input is not connected"), [4, 8]]


def test_stacked_outputs_that_are_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "MOST", 3)
    loop = Loop(COUNT="n")
    room = loop.maker.input("room", "INT32")
    output = loop.output("CONCATENATE", loop.state, room)
    assert loop.run(output, room=np.array(3, np.int32)) == [[[1, 2], [2, 4], [3, 6]]]
    too_long = MissingTensor("a loop output of more than 3 iterations")
    assert loop.run(output, room=np.array(4, np.int32)) == [too_long]
    many = MissingTensor("a loop of more than 3 iterations")
    assert loop.run(output, room=np.array(3, np.int32), n=np.array(4, np.int32)) == [many]
