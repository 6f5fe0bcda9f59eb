"""Tests of reports on a network with plain-data layers, against its model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser

from tests.network.test_run import Maker
from trtlint.network import comparing as module
from trtlint.network.comparing import NetworkComparer, NotComparableError
from trtlint.network.judge import Difference
from trtlint.network.layers import Layer, Network
from trtlint.network.parsing import WeightFiles
from trtlint.network.region import Regions

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


def comparing(
    folder: Path, text: str, network: Network, progress: Callable[[float], None] = lambda _: None
) -> NetworkComparer:
    """Return the comparison of a model with a network."""
    path = folder / "model.onnx"
    onnx.save(parser.parse_model(_HEAD + text), path)
    return NetworkComparer(path, network, WeightFiles(), progress)


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
    reasons = [{"reason": "ONNX's value is NaN everywhere", "tensors": 2}]
    assert found == {"tensors": 2, "compared": 0, **NOTHING, "uncomputed": 2, "reasons": reasons}


def test_an_empty_tensor_cannot_be_compared(tmp_path: Path) -> None:
    text = "g (float[N,4] x) => (float[N,4] y) { a = Neg(x) y = Relu(a) }"
    found = agreement(tmp_path, text, network(NEG, RELU), x=X[:0])
    reasons = [{"reason": "the tensor is empty for these inputs", "tensors": 2}]
    assert found == {"tensors": 2, "compared": 0, **NOTHING, "uncomputed": 2, "reasons": reasons}


def test_the_first_difference_of_several_inputs_is_kept(tmp_path: Path) -> None:
    found = comparing(tmp_path, TEXT, network(NEG, ("UNARY", "y", {"op": "ABS"})))
    for name, array in (("one", -abs(X)), ("two", X), ("three", 2 * X)):
        assert found.run(name, {"x": array}) == ""
    result = found.agreement()
    assert (result["sets"], [each["inputs"] for each in result["differences"]]) == (3, ["two"])


def half(*numbers: float) -> Any:
    """Return an array of FP16 numbers."""
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
    assert not wide._is_rounding(difference, {})
    one = comparing(tmp_path, TEXT.replace("float", "float16"), network(NEG, RELU, dtype="HALF"))
    assert one._is_rounding(difference, known)


def chain(count: int) -> str:
    """Return a model with a chain of nodes."""
    nodes = " ".join(f"t{at} = Neg ({f't{at - 1}' if at else 'x'})" for at in range(count))
    return f"g (float[1,4] x) => (float[1,4] t{count - 1}) {{ {nodes} }}"


def test_the_last_nodes_before_a_difference_are_named(tmp_path: Path) -> None:
    nodes = "a = Neg (x) b = Abs (a) c = Exp (b) d = Sin (c) e = Cos (d) f = Atan (e) h = Erf (f) i = Tan (h)"
    text = f"g (float[1,4] x) => (float[1,4] y) {{ {nodes} j = Sigmoid (i) y = Relu (j) }}"
    found = agreement(tmp_path, text, network(("UNARY", "y", {"op": "EXP"})), x=X)
    (difference,) = found["differences"]
    assert difference["others"] == ("Abs", "Exp", "Sin", "Cos", "Atan", "Erf", "Tan", "Sigmoid")
    assert (found["tensors"], found["unnamed"], found["compared"]) == (10, 9, 1)


def test_the_share_of_the_work(tmp_path: Path) -> None:
    shares: list[float] = []
    found = comparing(tmp_path, TEXT, network(NEG, RELU), shares.append)
    assert found.run("random", {"x": X}) == ""
    assert shares == [0.5, 1.0]
    assert found.run("random", {"x": X}) == ""
    assert shares == [0.5, 1.0] * 2


def test_the_share_of_many_tensors_is_given_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_STEPS", 3)
    shares: list[float] = []
    layers = [("UNARY", f"t{at}", {"op": "NEG"}) for at in range(11)]
    found = comparing(tmp_path, chain(11), network(*layers), shares.append)
    assert found.run("random", {"x": X}) == ""
    assert shares == [3 / 11, 6 / 11, 9 / 11]


def test_not_too_many_differences_are_examined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layers = [("UNARY", f"t{at}", {"op": "ABS"}) for at in range(3)]
    for most in (1, 2, 3):
        monkeypatch.setattr(module, "MOST_DIFFERENCES", most)
        found = agreement(tmp_path, chain(3), network(*layers), x=np.full((1, 4), 2, np.float32))
        assert [each["tensor"] for each in found["differences"]] == ["t0", "t2"][:most]
        assert found["compared"] == 3


def test_the_most_frequent_reasons_come_first(tmp_path: Path) -> None:
    kinds = [*(f"PLUGIN_{at}" for at in range(9)), "PLUGIN_8"]
    layers: list[tuple[str, str, dict[str, Any]]] = [(kind, f"t{at}", {}) for at, kind in enumerate(kinds)]
    found = agreement(tmp_path, chain(10), network(*layers), x=X)
    numbers = [("8", 2), *((str(at), 1) for at in range(7))]
    assert found["reasons"] == [
        {"reason": f"the layer PLUGIN_{at}", "tensors": count} for at, count in numbers
    ]
    assert (found["uncomputed"], found["compared"]) == (10, 0)


def test_inputs_that_the_model_rejects_leave_no_trace(tmp_path: Path) -> None:
    text = "g (float[n,4] x, float[3,4] z) => (float[n,4] y) { a = Neg (x) y = Add (a, z) }"
    maker = Maker()
    x, z = maker.input("x"), maker.input("z")
    y = maker.layer("ELEMENTWISE", [maker.layer("UNARY", [x], "a", op="ABS"), z], "y", op="SUM")
    found = comparing(tmp_path, text, maker.network(y))
    assert {name: dtype.name for name, dtype in found.types.items()} == {"x": "float32", "z": "float32"}
    ones = np.ones((3, 4), np.float32)
    assert "Add" in found.run("bad", {"x": np.ones((2, 4), np.float32), "z": ones})
    empty = {**NOTHING, "tensors": 2, "compared": 0, "sets": 0, "uncomputed": 2}
    assert found.agreement().items() >= empty.items()
    assert found.run("good", {"x": ones, "z": ones}) == ""
    result = found.agreement()
    assert (result["sets"], result["compared"], result["uncomputed"]) == (1, 2, 0)
    assert [(each["tensor"], each["inputs"]) for each in result["differences"]] == [("a", "good")]


@pytest.mark.parametrize(
    ("reader", "op", "differ", "deviations"),
    [
        (
            "y = Slice (all, zero, two)",
            "NEG",
            [],
            ["extra rows at the end of a Loop output, which a Slice removes"],
        ),
        ("y = Neg (all)", "NEG", ["all"], []),
        ("y = Slice (all, zero, two)", "ABS", ["all"], []),
    ],
)
def test_stacked_outputs_of_a_loop(
    reader: str, op: str, differ: list[str], deviations: list[str], tmp_path: Path
) -> None:
    text = f"""g (float[3,2] x) => (float[a,b] y)
        < int64 n = {{2}}, bool t = {{1}}, int64[1] zero = {{0}}, int64[1] two = {{2}} > {{
        all = Loop (n, t) <body = b (int64 i, bool c) => (bool d, float[2] s) {{
            d = Identity (c) r = Gather (x, i) s = Neg (r) }}>
        {reader} }}"""
    maker = Maker()
    found = agreement(
        tmp_path,
        text,
        maker.network(maker.layer("UNARY", [maker.input("x")], "all", op=op)),
        x=np.array([[1, 2], [3, 4], [5, 6]], np.float32),
    )
    assert [each["tensor"] for each in found["differences"]] == differ
    assert [each["got"] for each in found["differences"]] == ["[3, 2]"] * len(differ)
    assert [each["oracles"] for each in found["differences"]] == ["onnxruntime"] * len(differ)
    assert found["deviations"] == deviations


def test_rows_of_other_operators_are_not_cut(tmp_path: Path) -> None:
    text = """g (float[2,2] x) => (float[1,2] y) < int64[1] zero = {0}, int64[1] one = {1} > {
        a = Abs (x) y = Slice (a, zero, one) }"""
    maker = Maker()
    padded = maker.layer("PADDING", [maker.input("x")], "a", pre_padding_nd=(0, 0), post_padding_nd=(1, 0))
    found = agreement(tmp_path, text, maker.network(padded), x=np.ones((2, 2), np.float32))
    assert [(each["tensor"], each["got"]) for each in found["differences"]] == [("a", "[3, 2]")]
    assert found["deviations"] == []


def test_numbers_that_a_loop_carries_are_no_rows(tmp_path: Path) -> None:
    text = """g (float x) => (float y) < int64 n = {1}, bool t = {1} > {
        y = Loop (n, t, x) <body = b (int64 i, bool c, float v) => (bool d, float w) {
            d = Identity (c) w = Neg (v) }> }"""
    maker = Maker()
    same = maker.layer("UNARY", [maker.input("x")], "y", op="ABS")
    found = agreement(tmp_path, text, maker.network(same), x=np.array(3, np.float32))
    assert [(each["got"], each["expected"]) for each in found["differences"]] == [("3", "-3")]


@pytest.mark.parametrize(
    ("opinion", "oracles", "unclear"),
    [
        (np.array([[0, 0, 0, 0]], np.float32), None, ["Relu"]),
        (np.array([[2, 1, 0, 1.5]], np.float32), None, ["Relu"]),
        (np.array([[2, 1, 0, 0]], np.float32), "both", []),
        (None, "onnxruntime", []),
    ],
)
def test_a_second_opinion(
    opinion: Any, oracles: str | None, unclear: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Regions, "second_opinion", lambda *_: opinion)
    found = agreement(tmp_path, TEXT, network(NEG, ("UNARY", "y", {"op": "ABS"})), x=X)
    assert [each["oracles"] for each in found["differences"]] == ([oracles] if oracles else [])
    assert found["unclear"] == [{"tensor": "y", "op": op} for op in unclear]


def test_operators_whose_definition_is_open_are_unclear(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "g (float[1,1,4] x) => (float[1,1,3] y) { y = LpPool <kernel_shape = [2]> (x) }"
    maker = Maker()
    wrong = maker.layer("SHUFFLE", [maker.input("x")], "y", reshape_dims=(1, 4))
    monkeypatch.setattr(Regions, "second_opinion", lambda *_: None)
    found = agreement(tmp_path, text, maker.network(wrong), x=X[None])
    assert (found["differences"], found["unclear"]) == ([], [{"tensor": "y", "op": "LpPool"}])


def test_types_that_only_the_reference_computes(tmp_path: Path) -> None:
    text = "g (double[1,4] x) => (double[1,4] y) { a = Neg (x) y = Tan (a) }"
    one = comparing(tmp_path, text, network(NEG, ("UNARY", "y", {"op": "TAN"})))
    assert one.run("random", {"x": X.astype(np.float64)}) == ""
    assert (one.by_reference, one.widened) == (True, False)
    assert one.agreement().items() >= {"tensors": 2, "compared": 2, **NOTHING}.items()
    found = agreement(tmp_path, text, network(NEG, ("UNARY", "y", {"op": "SIN"})), x=X.astype(np.float64))
    assert [each["oracles"] for each in found["differences"]] == ["reference"]


def test_types_that_onnx_runtime_does_not_compute_are_widened(tmp_path: Path) -> None:
    text = "g (bfloat16[1,4] x) => (bfloat16[1,4] y) { a = Neg (x) y = Tan (a) }"
    layers = [("UNARY", name, {"op": op}) for op, name in (("NEG", "a"), ("TAN", "y"))]
    found = agreement(tmp_path, text, network(*layers, dtype="BF16"), x=X)
    assert found == {"tensors": 2, "compared": 2, **NOTHING, "widened": True}


def test_models_that_no_program_computes(tmp_path: Path) -> None:
    text = "g (float[1,4] x) => (float[1,4] y) { y = NoSuchOperator (x) }"
    with pytest.raises(NotComparableError, match=r"^ONNX Runtime rejects the model: .*NoSuchOperator"):
        comparing(tmp_path, text, network(RELU))


def test_numbers_that_fp32_explains(tmp_path: Path) -> None:
    text = "g (double[1,4] x) => (double[1,4] y) { a = Add (x, x) y = Sub (a, x) }"
    maker = Maker()
    x = maker.input("x")
    a = maker.layer("ELEMENTWISE", [x, x], "a", op="SUM")
    y = maker.layer("ELEMENTWISE", [a, x], "y", op="SUB")
    found = agreement(tmp_path, text, maker.network(y), x=np.array([[1e39, 1, 2, 3]]))
    assert (found["differences"], found["deviations"]) == ([], ["DOUBLE is computed as FLOAT"])


@pytest.mark.parametrize(
    "nodes",
    [
        "y = Cast <to = 1> (a)",
        "b = Identity (a) y = Cast <to = 1> (b)",
        "b = Identity (a) c = Identity (b) y = Cast <to = 1> (c)",
    ],
)
def test_what_follows_from_a_difference_of_types_is_no_difference(nodes: str, tmp_path: Path) -> None:
    text = f"g (float[1,4] x) => (float[1,4] y) {{ a = Cast <to = 2> (x) {nodes} }}"
    maker = Maker()
    x, a, y = maker.input("x"), maker.tensor("a", "INT8"), maker.tensor("y")
    for at, (one, other, kind) in enumerate(((x, a, "INT8"), (a, y, "FLOAT"))):
        maker.layers.append(Layer(at, "", "CAST", (one,), (other,), (kind,), {}))
    found = agreement(tmp_path, text, maker.network(y), x=np.array([[1, 2, 3, 200]], np.float32))
    assert [each["tensor"] for each in found["differences"]] == ["a"]
    assert (found["compared"], found["deviations"], found["unclear"]) == (2, [], [])
