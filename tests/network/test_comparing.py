"""What is reported of a network whose layers are plain data, beside its model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser

from tests.network.test_run import Maker
from trtlint.network.comparing import Comparing
from trtlint.network.judge import Difference
from trtlint.network.layers import Network
from trtlint.network.parsing import WeightFiles

_HEAD = '<ir_version: 8, opset_import: ["" : 18]>'
X = np.array([[-2, -1, 0, 1.5]], np.float32)
NOTHING = {
    "unnamed": 0,
    "uncomputed": 0,
    "reasons": [],
    "sets": 1,
    "differences": [],
    "unclear": [],
    "deviations": [],
    "widened": False,
}


def comparing(folder: Path, text: str, network: Network) -> Comparing:
    """Return the comparison of a model with a network."""
    path = folder / "model.onnx"
    onnx.save(parser.parse_model(_HEAD + text), path)
    return Comparing(path, network, WeightFiles(), lambda _: None)


def agreement(folder: Path, text: str, network: Network, **feeds: Any) -> dict[str, Any]:
    """Return the result of one set of inputs, without its time."""
    found = comparing(folder, text, network)
    assert found.run("random", feeds) == ""
    result = found.agreement()
    assert result.pop("onnxruntime_seconds") >= 0
    return result


def network(*kinds: tuple[str, str, dict[str, Any]], dtype: str = "FLOAT") -> Network:
    """Return a chain of layers: their kinds, the names of their tensors and their settings."""
    maker = Maker()
    last = maker.input("x", dtype)
    for kind, name, settings in kinds:
        last = maker.layer(kind, [last], name, **settings)
    return maker.network(last)


NEG = ("UNARY", "a", {"op": "NEG"})
RELU = ("ACTIVATION", "y", {"type": "RELU"})
TEXT = "g (float[1,4] x) => (float[1,4] y) { a = Neg(x) y = Relu(a) }"
DIFFERENCE = {
    "node": "",
    "op": "Relu",
    "tensor": "y",
    "layer": "y",
    "layer_kind": "UNARY",
    "expected": "0",
    "got": "-1.5",
    "place": (0, 3),
    "worst": 1.5,
    "differing": 1,
    "elements": 4,
    "others": (),
    "oracles": "both",
    "inputs": "random",
}


def test_a_network_that_agrees(tmp_path: Path) -> None:
    found = agreement(tmp_path, TEXT, network(NEG, RELU), x=X)
    assert found == {"tensors": 2, "compared": 2, **NOTHING}


def test_a_layer_that_computes_something_else(tmp_path: Path) -> None:
    other = ("UNARY", "y", {"op": "ABS"})
    found = agreement(tmp_path, TEXT, network(NEG, other), x=X)
    difference = {**DIFFERENCE, "got": "1.5"}
    assert found == {"tensors": 2, "compared": 2, **NOTHING, "differences": [difference]}


def test_later_layers_read_the_values_of_onnx(tmp_path: Path) -> None:
    other = ("UNARY", "a", {"op": "ABS"})
    found = agreement(tmp_path, TEXT, network(other, RELU), x=X)
    difference = {
        **DIFFERENCE,
        "op": "Neg",
        "tensor": "a",
        "layer": "a",
        "worst": 3.0,
        "expected": "-1.5",
        "got": "1.5",
    }
    assert found == {"tensors": 2, "compared": 2, **NOTHING, "differences": [difference]}


def test_a_difference_names_the_nodes_behind_the_last_tensor_that_agrees(tmp_path: Path) -> None:
    text = "g (float[1,4] x) => (float[1,4] y) { a = Neg(x) b = Abs(a) c = Exp(b) y = Relu(c) }"
    found = agreement(tmp_path, text, network(NEG, ("UNARY", "", {"op": "ABS"}), RELU), x=X)
    (difference,) = found.pop("differences")
    assert found.items() >= {"tensors": 4, "compared": 2, "unnamed": 2, "uncomputed": 0}.items()
    assert (difference["tensor"], difference["others"]) == ("y", ("Abs", "Exp"))


def test_layers_that_are_not_computed(tmp_path: Path) -> None:
    text = "g (float[1,4] x) => (float[1,4] y) { a = Neg(x) b = Abs(a) y = Relu(b) }"
    plugins: list[tuple[str, str, dict[str, Any]]] = [("PLUGIN_V2", "a", {}), ("PLUGIN_V3", "b", {})]
    found = agreement(tmp_path, text, network(*plugins, RELU), x=X)
    reasons = [{"reason": f"the layer PLUGIN_V{number}", "tensors": 1} for number in (2, 3)]
    assert found == {"tensors": 3, "compared": 1, **NOTHING, "uncomputed": 2, "reasons": reasons}


def test_another_shape(tmp_path: Path) -> None:
    found = agreement(tmp_path, TEXT, network(NEG, ("SHUFFLE", "y", {"reshape_dims": (4,)})), x=X)
    (difference,) = found["differences"]
    shapes = {"expected": "[1, 4]", "got": "[4]", "place": (), "worst": None, "differing": 4}
    assert difference == {**DIFFERENCE, **shapes, "layer_kind": "SHUFFLE"}


def test_a_tensor_without_a_number_cannot_be_compared(tmp_path: Path) -> None:
    text = "g (float[1,4] x) => (float[1,4] y) { a = Sqrt(x) y = Relu(a) }"
    found = agreement(tmp_path, text, network(("UNARY", "a", {"op": "ABS"}), RELU), x=X - 9)
    reasons = [{"reason": "ONNX's value is NaN everywhere", "tensors": 1}]
    assert found == {"tensors": 2, "compared": 1, **NOTHING, "uncomputed": 1, "reasons": reasons}


def test_the_first_difference_of_several_inputs_is_kept(tmp_path: Path) -> None:
    found = comparing(tmp_path, TEXT, network(NEG, ("UNARY", "y", {"op": "ABS"})))
    for name, array in (("one", -abs(X)), ("two", X), ("three", 2 * X)):
        assert found.run(name, {"x": array}) == ""
    result = found.agreement()
    assert (result["sets"], [each["inputs"] for each in result["differences"]]) == (3, ["two"])


def half(*numbers: float) -> Any:
    """An array of FP16 numbers."""
    return np.array(numbers, np.float16)


@pytest.mark.parametrize(
    ("got", "expected", "opinion", "overflows"),
    [
        (half(np.inf, 5), half(1, 5), half(np.inf, 7), True),
        (half(-np.inf, 5), half(1, 5), half(np.nan, 7), True),
        (half(np.inf, 6), half(1, 5), half(np.inf, 5), False),
        (half(np.inf, 5), half(1, 5), half(1, 5), False),
        (half(1, 5), half(1, 5), half(np.inf, 5), False),
        (half(np.inf, np.inf), half(1, 5), half(np.inf, 5), False),
        (half(np.inf, 5), half(1, 5), half(np.inf, 5, 5), False),
        (half(np.inf, 5), half(1, 5, 5), half(np.inf, 5), False),
        (half(np.inf, 5), np.array([1, 5], np.float32), np.array([np.inf, 5], np.float32), True),
        (np.array([1, 5]), np.array([1, 5]), np.array([1, 5]), False),
    ],
)
def test_overflows_of_16_bits(got: Any, expected: Any, opinion: Any, overflows: bool, tmp_path: Path) -> None:
    one = comparing(tmp_path, TEXT.replace("float", "float16"), network(NEG, RELU, dtype="HALF"))
    assert one._is_overflow(got, expected, opinion, "HALF") is overflows
    wide = comparing(tmp_path, TEXT, network(NEG, RELU))
    assert not wide._is_overflow(got, expected, opinion, "FLOAT")


@pytest.mark.parametrize(("worst", "rounded"), [(0.01, True), (0.0101, False), (None, False)])
def test_rounding_beside_the_largest_operand(worst: float | None, rounded: bool, tmp_path: Path) -> None:
    difference = Difference(None, (), worst, "", "")
    known = {"a": np.array([1, np.inf]), "b": np.array([-100, np.nan]), "c": np.array([], np.float32)}
    wide = comparing(tmp_path, TEXT, network(NEG, RELU))
    assert wide._is_rounding(difference, known) is rounded
    one = comparing(tmp_path, TEXT.replace("float", "float16"), network(NEG, RELU, dtype="HALF"))
    assert one._is_rounding(difference, known)
