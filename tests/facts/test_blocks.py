"""Tests of shared parts of facts: scales, masks, windows and paths to a Softmax."""

# ruff: noqa: E501 - a graph in one line is read at once

from __future__ import annotations

from typing import Any

import onnx
import pytest
from onnx import helper

from tests.graphs import model_of, model_of_bodies
from trtlint.facts.blocks import operand as operands
from trtlint.facts.blocks.geometry import Window, windows
from trtlint.facts.blocks.mask import fill_of
from trtlint.facts.blocks.operand import trace
from trtlint.facts.blocks.softmax import mask_paths
from trtlint.facts.blocks.walk import Scaling, product_of, scaling
from trtlint.model.graph import Graph, Value
from trtlint.model.walks import watching

STORED = """float two = {2}, float nought = {0}, float[4] twos = {2, 2, 2, 2}, float[4] ramp = {1, 2, 3, 4},
float[2,1,1] heads = {1, 2}, float[2,1,4] rows = {}, float[2,3,4] weight = {}, float[2,2] matrix = {1, 2, 3, 4}"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y = Mul (x, two)", ("x", 2.0, False)),
        ("y = Mul (two, x)", ("x", 2.0, False)),
        ("y = Mul (x, twos)", ("x", 2.0, False)),
        ("y = Mul (x, heads)", ("x", None, False)),
        ("y = Mul (x, ramp)", None),
        ("y = Mul (x, rows)", None),
        ("y = Mul (x, fed)", None),
        ("y = Mul (x, z)", None),
        ("y = Div (x, two)", ("x", 0.5, False)),
        ("y = Div (x, nought)", ("x", None, False)),
        ("y = Div (two, x)", None),
        ("y = Div (x, heads)", ("x", None, False)),
        ("y = Mul (weight, two)", ("weight", 2.0, False)),
        ("y = Mul (two, weight)", ("weight", 2.0, False)),
        ("y = Mul (ramp, two)", None),
        ("y = Mul (matrix, two)", None),
        ("y = Add (x, two)", None),
        ("y = my.Mul (x, two)", None),
        ("y = Mul (x)", None),
        ("y = Mul (x, two, two)", None),
        ("y = Mul (x, )", None),
        ("n = Shape (u)  m = ReduceMax (n)  f = Cast <to = 1> (m)  y = Mul (x, f)", ("x", None, True)),
        ("n = Shape (x)  m = ReduceMax <keepdims = 0> (n)  f = Cast <to = 1> (m)  y = Div (x, f)", ("x", 0.25, True)),
        ("n = Sqrt (two)  y = Mul (x, n)", ("x", pytest.approx(2**0.5), True)),
    ],
)  # fmt: skip
def test_scalings(body: str, expected: tuple[str, float | None, bool] | None) -> None:
    model = model_of_bodies(
        [body], "float[2,3,4] x, float[2,3,4] z, float fed, float[N] u", STORED, '"" : 17, "my" : 1'
    )
    node = model.graph.nodes[-1]
    found = scaling(node, model.constants)
    assert (None if found is None else (found.data.name, found.factor, found.run_time)) == expected
    assert found is None or found.node is node


def scaled(*factors: float | None) -> list[Scaling]:
    node: Any = None
    return [Scaling(node, Value("x"), factor, False) for factor in factors]


def test_the_product_of_scalings() -> None:
    assert product_of([]) == 1.0
    assert product_of(scaled(2.0, 0.25, 3.0)) == 1.5
    assert product_of(scaled(2.0, None)) is None


MASKS = """float low = {-1e9}, float lower = {-1e10}, float one = {1}, float[2] pair = {-3, -7}, int64 count = {-5},
int64[1] three = {3}, float[300,300] table = {}, float16 half = {64511}, bool flag = {1}, int64[2] shape = {2, 2}"""


@pytest.mark.parametrize(
    ("body", "fill"),
    [
        ("y = Identity (low)", -1e9),
        ("y = Identity (one)", None),
        ("y = Identity (pair)", -7.0),
        ("y = Identity (count)", -5.0),
        ("y = Identity (half)", -65504.0),
        ("y = Neg (m)", None),
        ("y = Where (b, low, m)", -1e9),
        ("y = Where (b, m, low)", -1e9),
        ("y = Where (b, lower, low)", -1e10),
        ("n = Sub (one, m)  y = Mul (n, low)", -1e9),
        ("n = Sub (one, m)  y = Mul (low, n)", -1e9),
        ("n = Add (m, lower)  y = Max (n, low)", -1e10),
        ("y = Min (m, low)", -1e9),
        ("y = Concat <axis = 0> (m, m, m, m, pair)", -7.0),
        ("y = Div (low, m)", None),
        ("y = Expand (low, sizes)", -1e9),
        ("y = Reshape (m, count)", None),
        ("e = Expand (low, sizes)  y = Trilu (e, count)", -1e9),
        ("e = Expand (low, sizes)  f = Cast <to = 1> (e)  g = Unsqueeze (f, three)  h = Squeeze (g, three)  y = Slice (h, three, three)", -1e9),
        ("e = Expand (low, sizes)  f = Tile (e, sizes)  g = Transpose (f)  y = Gather (g, three)", -1e9),
        ("e = ConstantOfShape <value = float[1] {-4}> (shape)  y = ScatterND (e, sizes, m)", -4.0),
        ("e = ConstantOfShape <value = float[1] {-4}> (shape)  y = Add (e, lower)", -1e10),
    ],
)  # fmt: skip
def test_the_fill_of_a_mask(body: str, fill: float | None) -> None:
    model = model_of_bodies([body], "float[2] m, bool[2] b, int64[2] sizes", MASKS)
    value = model.graph.nodes[-1].output
    assert fill_of(value, model.constants) == (None if fill is None else pytest.approx(fill))


def test_no_mask_has_no_fill() -> None:
    model = model_of_bodies(["y = Neg (x)"], "float[2] x")
    assert fill_of(None, model.constants) is None


def paths(text: str) -> dict[str, list[str]]:
    graph = model_of(f'< ir_version: 10, opset_import: ["" : 23, "my" : 1] > g {text}').graph
    return {
        value.name: [node.output.name for node in (*path.nodes, path.softmax)]
        for value, path in mask_paths(graph).items()
    }


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y = Softmax (x)", {"x": ["y"]}),
        ("y = LogSoftmax (x)", {"x": ["y"]}),
        ("y = my.Softmax (x)", {}),
        ("y = Hardmax (x)", {}),
        ("y = Attention (x, x, x, m)", {"m": ["y"]}),
        ("y = Attention (x, x, x)", {}),
        ("a = Add (x, m)  y = Softmax (a)", {"a": ["y"], "x": ["a", "y"], "m": ["a", "y"]}),
        ("a = Pow (x, m)  y = Softmax (a)", {"a": ["y"]}),
        ("a = my.Add (x, m)  y = Softmax (a)", {"a": ["y"]}),
        ("a = Where (b, x, m)  y = Softmax (a)", {"a": ["y"], "x": ["a", "y"], "m": ["a", "y"]}),
        ("a = ScatterND (x, i, m)  y = Softmax (a)", {"a": ["y"], "x": ["a", "y"], "m": ["a", "y"]}),
        ("a = Concat <axis = 0> (x, m, u, v, w)  y = Softmax (a)", {"a": ["y"], "x": ["a", "y"], "m": ["a", "y"], "u": ["a", "y"], "v": ["a", "y"]}),
        ("a = Tile (x, i)  y = Softmax (a)", {"a": ["y"], "x": ["a", "y"]}),
        ("a = Clip (x, m)  y = Softmax (a)", {"a": ["y"], "x": ["a", "y"]}),
        ("a = Reshape (x, i)  y = Softmax (a)", {"a": ["y"], "x": ["a", "y"]}),
        ("a = ConstantOfShape (i)  y = Softmax (a)", {"a": ["y"]}),
        ("a = Add (x, m)  p = Softmax (a)  b2 = Add (a, m)  y = Softmax (b2)", {"a": ["p"], "x": ["a", "p"], "m": ["a", "p"], "b2": ["y"]}),
        ("a = Neg (x)  c = Neg (a)  p = Softmax (c)  y = Softmax (a)", {"c": ["p"], "a": ["y"], "x": ["a", "y"]}),
        ("y = Softmax (x)  z = Softmax (x)", {"x": ["y"]}),
    ],
)  # fmt: skip
def test_ways_to_a_softmax(body: str, expected: dict[str, list[str]]) -> None:
    inputs = "float[4,4] x, float[4,4] m, bool[4] b, int64[2] i, float[4,4] u, float[4,4] v, float[4,4] w"
    assert paths(f"({inputs}) => (float[] y) {{ {body} }}") == expected


def test_ways_to_a_softmax_have_at_most_eight_operators() -> None:
    chain = "a0 = Neg (x)  " + "  ".join(f"a{n + 1} = Neg (a{n})" for n in range(9))
    found = paths(f"(float[4] x) => (float[4] y) {{ {chain}  y = Softmax (a9) }}")
    assert list(found) == [f"a{n}" for n in range(9, 0, -1)]
    assert found["a1"] == [*(f"a{n}" for n in range(2, 10)), "y"]


@pytest.mark.parametrize(
    ("attributes", "kernel", "expected"),
    [
        ("kernel_shape = [2, 3]", None, (Window(9, 2, 1, 0, 0), Window(8, 3, 1, 0, 0))),
        ("", (2, 3), (Window(9, 2, 1, 0, 0), Window(8, 3, 1, 0, 0))),
        ("kernel_shape = [1, 1]", (2, 3), (Window(9, 1, 1, 0, 0), Window(8, 1, 1, 0, 0))),
        ("", None, None),
        ("", (2, "n"), None),
        ("", (2,), None),
        ("strides = [2, 3], dilations = [1, 4]", (2, 3), (Window(9, 2, 2, 0, 0), Window(8, 9, 3, 0, 0))),
        ("pads = [1, 2, 3, 4]", (2, 3), (Window(9, 2, 1, 1, 3), Window(8, 3, 1, 2, 4))),
        ("strides = [1, 0]", (2, 3), None),
        ("strides = [2]", (2, 3), None),
        ("dilations = [2]", (2, 3), None),
        ("pads = [1, 2]", (2, 3), None),
    ],
)
def test_windows(
    attributes: str, kernel: tuple[Any, ...] | None, expected: tuple[Window, ...] | None
) -> None:
    model = model_of_bodies([f"y = MaxPool <{attributes}> (x)".replace("<> ", "")], "float[1,2,9,8] x")
    assert windows(model.graph.nodes[0], kernel) == expected


@pytest.mark.parametrize("shape", ["[1,2,9,n]", "[1,2]", "[]"])
def test_windows_of_an_unknown_size(shape: str) -> None:
    model = model_of_bodies(["y = MaxPool <kernel_shape = [2, 2]> (x)"], f"float{shape} x")
    assert windows(model.graph.nodes[0]) is None


@pytest.mark.parametrize("kernel", ["33", [3.0, 3.0], 3])
def test_windows_of_a_kernel_that_is_no_list_of_sizes(kernel: object) -> None:
    data = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (1, 2, 9, 8))
    node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=kernel)
    assert windows(Graph(helper.make_graph([node], "g", [data], [])).nodes[0]) is None


def test_windows_along_one_axis() -> None:
    model = model_of_bodies(["y = MaxPool <kernel_shape = [2]> (x)"], "float[1,2,9] x")
    assert windows(model.graph.nodes[0]) == (Window(9, 2, 1, 0, 0),)
    flat = model_of_bodies(["y = MaxPool (x)"], "float[1,2] x")
    assert windows(flat.graph.nodes[0], ()) is None


def test_windows_of_an_operator_without_inputs() -> None:
    node = helper.make_node("MaxPool", [], ["y"], kernel_shape=[3, 3])
    assert windows(Graph(helper.make_graph([node], "g", [], [])).nodes[0]) is None


@pytest.mark.parametrize(
    ("body", "last", "expected"),
    [
        ("v = Neg (x)", "feature", ("v", [], False, None)),
        ("v = Identity (x)", "feature", ("x", [], False, None)),
        ("v = my.Identity (x)", "feature", ("v", [], False, None)),
        ("v = Constant <value = float {1}> ()", "feature", ("v", [], False, None)),
        ("t = Transpose <perm = [0, 2, 1]> (x)  v = Cast <to = 10> (t)", "sequence", ("x", [], False, None)),
        ("q = QuantizeLinear (x, two)  v = DequantizeLinear (q, two)", "sequence", ("x", [], True, None)),
        ("v = Mul (x, two)", "feature", ("x", [2.0], False, False)),
        ("v = Mul (x, one)", "feature", ("x", [], False, None)),
        ("a = Mul (x, two)  v = Transpose <perm = [0, 2, 1]> (a)", "feature", ("x", [2.0], True, True)),
        ("a = Mul (x, two)  b = Transpose <perm = [0, 2, 1]> (a)  v = Div (b, two)", "feature", ("x", [0.5, 2.0], True, False)),
        ("a = Mul (x, heads)  v = Transpose (a)", None, ("x", [None], None, None)),
    ],
)  # fmt: skip
def test_the_origin_of_an_operand(
    body: str, last: operands.Axis | None, expected: tuple[object, ...]
) -> None:
    model = model_of_bodies(
        [body], "float[2,3,4] x", f"float one = {{1}}, {STORED}", '"" : 17, "my" : 1', "v"
    )
    value = model.graph.nodes[-1].output
    found = trace(value, last, model.constants)
    factors = [scale.factor for scale in found.scales]
    root = found.root.name.removesuffix("_0")
    assert (root, factors, found.sequence_last, found.scaled_sequence_last) == expected


@pytest.mark.parametrize(("last", "cut"), [("Identity (x)", True), ("my.Identity (x)", False)])
def test_an_origin_beyond_the_limit(last: str, cut: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search is complete if it has no further value to follow."""
    monkeypatch.setattr(operands, "MAX_STEPS", 2)
    model = model_of_bodies(
        [f"a = {last}  b = Identity (a)  v = Identity (b)"], "float[4] x", "", '"" : 17, "my" : 1', "v"
    )
    with watching() as watch:
        found = trace(model.graph.nodes[-1].output, None, model.constants)
    assert (found.root.name, watch.cut) == ("a_0", cut)


def test_an_origin_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operands, "MAX_STEPS", 2)
    model = model_of_bodies(["b = Identity (x)  v = Identity (b)"], "float[4] x", outputs="v")
    with watching() as watch:
        found = trace(model.graph.nodes[-1].output, None, model.constants)
    assert (found.root.name, watch.cut) == ("x", False)
