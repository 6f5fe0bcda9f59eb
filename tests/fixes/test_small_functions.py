"""Tests of single functions of proofs and rewrites."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.fixes.proposing import outcome, small
from tests.fixes.test_small_parts import value
from trtlint.examples import fixed as examples
from trtlint.facts.blocks.walk import Scaling
from trtlint.fixes import boundary, costs, reference
from trtlint.fixes.patch import Bound, Draft, NotApplicable, opset_of
from trtlint.fixes.reference import NoImplementationError, run_reference
from trtlint.fixes.rewrites import _attention, _computing, _products, drop_second_quantizer
from trtlint.fixes.rewrites._numbers import Numbers

FLOAT32 = 3.4028234663852886e38


def test_a_model_without_an_opset_has_opset_1() -> None:
    model: Any = SimpleNamespace(opset=None)
    assert opset_of(model) == 1
    assert opset_of(small("(float x) => (float y) { y = Neg (x) }", 17)) == 17


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (-8.0, 4.0, [-8.0, 4.0, -7.92, 3.96, -7.96, 4.0]),
        (-8.0, np.inf, [-8.0, -8.0, -7.92, -7.92, -7.96, -8.0]),
        (-np.inf, 4.0, [-FLOAT32, 4.0, -FLOAT32 * 0.99, 3.96, -FLOAT32 * 0.995, 4.0]),
        (-np.inf, FLOAT32 / 2, [-FLOAT32, FLOAT32 / 2, -FLOAT32 * 0.99, FLOAT32 / 2 * 0.99]),
    ],
)
def test_numbers_are_scaled_to_both_ends_of_a_bound(low: float, high: float, expected: list[float]) -> None:
    numbers = np.array([-0.0 - 1e-300, 0.0, -3.0, 1.0, -0.5, 0.0][: len(expected)])
    found = boundary._scaled_to(Bound("x", low, high), numbers, "f32")
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_smallest_number_that_a_patch_adds() -> None:
    model = small("(float[4] x) => (float[4] y) { y = Neg (x) }")

    def smallest(*arrays: Any, **attributes: Any) -> float:
        draft = Draft(model, model.graph.nodes[0])
        for array in arrays:
            draft.constant(np.asarray(array))
        draft.op("Neg", "x", out="y", **attributes)
        return boundary._smallest(draft.patch("copies", model.graph.nodes))

    assert smallest() == 1.0
    assert smallest(np.int64(7)) == 1.0
    assert smallest(np.zeros(0, np.float32)) == 1.0
    assert smallest(np.float32(0)) == 1.0
    assert smallest(np.float32(3)) == 3.0
    assert smallest(np.array([-0.25, 0.125], np.float32), np.float32(0.5)) == 0.25
    assert smallest(np.float32(0.5), epsilon=0.125) == 0.125
    assert smallest(np.float32(0.5), alpha=0.125) == 0.5


def test_times_of_the_first_measured_check_are_kept(tmp_path: Any) -> None:
    path = tmp_path / "fixed.onnx"
    path.write_bytes(b"12345")
    tensors: Any = SimpleNamespace(size=3)
    source = SimpleNamespace(raw=SimpleNamespace(tensors=tensors), external=10, has_data_beside=bool)
    fixed: Any = SimpleNamespace(changed=True, model=source)
    checks: Any = [
        SimpleNamespace(times=((), ())),
        SimpleNamespace(times=((1.0,), (2.0,))),
        SimpleNamespace(times=((3.0,), (4.0,))),
    ]
    assert costs.costs_of(fixed, path, checks) == costs.Costs(13, 15, (1.0,), (2.0,))
    assert costs.costs_of(fixed, path, checks[:1]) == costs.Costs(13, 15)
    tensors.size = 0
    assert costs.costs_of(fixed, path, checks) == costs.Costs()
    tensors.size, fixed.changed = 3, False
    assert costs.costs_of(fixed, path, checks) == costs.Costs()


@pytest.mark.parametrize(
    ("one", "other", "equal"), [(1.00001, 1.00002, True), (1.0001, 1.0002, False), (-2.5, 2.5, False)]
)
def test_stored_numbers_of_examples_have_five_digits(one: float, other: float, equal: bool) -> None:
    def forms(number: float) -> list[list[str]]:
        info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy"]
        tensor = numpy_helper.from_array(np.array([number], np.float32), "w")
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        graphs = [
            helper.make_graph(
                [helper.make_node("Mul", ["x", "w"], ["y"])], "g", info[:1], info[1:], [tensor]
            ),
            helper.make_graph([helper.make_node("Elu", ["x"], ["y"], alpha=number)], "g", info[:1], info[1:]),
        ]
        return [examples._shape_of(helper.make_model(graph, opset_imports=opsets)) for graph in graphs]

    assert [a == b for a, b in zip(forms(one), forms(other), strict=True)] == [equal, equal]


def test_the_form_of_an_example_names_everything_but_values() -> None:
    model = onnx.parser.parse_model("""< ir_version: 10, opset_import: ["" : 17, "com.microsoft" : 1] >
    g (float[1] x) => (float[1] y, float[1] z) < float[1] w = {0.5} >
    { a, b = Split <axis = 0> (x)  y = Add (b, w)  z = com.microsoft.Gelu (a) }""")
    split = "( Split ['axis=0'] ['input x'] {})"
    first, second = split.format(0), split.format(1)
    stored = "float32(1,)['0.5']"
    assert examples._shape_of(model) == [
        " 17",
        f"( Add [] {[second, stored]} 0)",
        f"(com.microsoft Gelu [] {[first]} 0)",
    ]


class Lacking:
    """A reference evaluator without operators that records the opsets of its models."""

    opsets: list[int]

    def __init__(self, proto: onnx.ModelProto, **_: object) -> None:
        self.opsets.append(proto.opset_import[0].version)
        raise RuntimeError("No implementation for operator 'Neg'")


@pytest.mark.parametrize(
    ("opset", "body", "expected"),
    [
        (17, "y = Neg (x)", [17, 19, 21, 23]),
        (19, "y = Neg (x)", [19, 21, 23]),
        (21, "y = Neg (x)", [21, 23]),
        (22, "y = Neg (x)", [22, 23]),
        (23, "y = Neg (x)", [23]),
        (17, "y = ReduceMax (x)", [17]),
        (17, "y = Gelu (x)", [17]),
        (17, "a = my.Gelu (x)  y = Neg (a)", [17, 19, 21, 23]),
    ],
)
def test_a_model_runs_in_newer_opsets_that_keep_its_meaning(
    opset: int, body: str, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onnx.reference.ReferenceEvaluator", Lacking)
    monkeypatch.setattr(Lacking, "opsets", [], raising=False)
    text = f'< ir_version: 10, opset_import: ["" : {opset}] > g (float[2] x) => (float[2] y) {{ {body} }}'
    with pytest.raises(NoImplementationError, match="does not implement one of the operators"):
        run_reference(onnx.parser.parse_model(text), {})
    assert Lacking.opsets == expected


def test_other_errors_of_the_reference_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("shapes do not match")

    monkeypatch.setattr("onnx.reference.ReferenceEvaluator", fail)
    model = onnx.parser.parse_model(
        '< ir_version: 10, opset_import: ["" : 17] > g (float x) => (float y) { y = Neg (x) }'
    )
    with pytest.raises(RuntimeError, match="shapes do not match"):
        run_reference(model, {})


@pytest.mark.parametrize(
    ("dtype", "wide"), [("float16", "float64"), ("float32", "float64"), ("int32", "int32"), ("bool", "bool")]
)
def test_only_floats_are_converted_to_fp64(dtype: str, wide: str) -> None:
    assert reference.wide(np.ones(2, dtype)).dtype == wide


def walk(body: str, scaling: str, end: str) -> str:
    """Return the reason why a scale cannot move along a graph, empty if it can."""
    model = small(f"(float[2,4] x, float[4,4] w, bool c) => (float[A] y) < float s = {{2}} > {{ {body} }}")
    nodes = {node.outputs[0].name: node for node in model.graph.nodes}
    scale = Scaling(node=nodes[scaling], data=value(model, "x"), factor=2.0, run_time=False)
    try:
        _attention.require_way_down(scale, nodes[end])
    except NotApplicable as why:
        return str(why)
    return ""


def inside(node: str) -> str:
    """Return an If with this node in one branch."""
    other = "else_branch = e () => (float[2,4] o) { o = Abs (x) }"
    return f"y = If (c) < then_branch = t () => (float[2,4] n) {{ n = {node} }}, {other} >"


@pytest.mark.parametrize(
    ("body", "end", "why"),
    [
        ("a = Mul (x, s)  y = MatMul (a, w)", "y", ""),
        ("a = Mul (x, s)  b = Neg (a)  y = MatMul (b, w)", "y", ""),
        ("a = Mul (x, s)  y = MatMul (a, a)", "y", ""),
        (
            "a = Mul (x, s)  b = Neg (a)  y = MatMul (b, w)  z = Abs (a)",
            "y",
            "another operator also reads the scaled tensor",
        ),
        (
            "a = Mul (x, s)  b, c2 = Split <axis = 0> (a)  y = MatMul (c2, w)",
            "y",
            "another operator also reads the scaled tensor",
        ),
        (
            "y = Mul (x, s)  b = MatMul (y, w)",
            "b",
            "the scaled tensor is an output of the model or of a body",
        ),
        (
            "a = Mul (x, s)  q = QuantizeLinear (a, s)  d = DequantizeLinear (q, s)  y = MatMul (d, w)",
            "y",
            "the scaled tensor is quantized",
        ),
        (
            f"a = Mul (x, s)  {inside('Neg (a)')}",
            "y",
            "the scaled tensor is read in the body of an If or a loop",
        ),
    ],
)
def test_ways_from_a_scaling_to_a_product(body: str, end: str, why: str) -> None:
    assert walk(body, "y" if body.startswith("y") else "a", end) == why


@pytest.mark.parametrize(("steps", "fits"), [(127, True), (128, False)])
def test_a_way_from_a_scaling_is_bounded(steps: int, fits: bool) -> None:
    chain = "  ".join(f"v{index + 1} = Neg (v{index})" for index in range(steps))
    why = walk(f"v0 = Mul (x, s)  {chain}  y = MatMul (v{steps}, w)", "v0", "y")
    assert why == (
        "" if fits else "there are too many operators between the scaling and the matrix product of Q and K"
    )


@pytest.mark.parametrize(("most", "fits"), [(1, True), (0, False)])
def test_computed_values_are_bounded(most: int, fits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "(float x) => (float[2] y) < float[2] w = {1, 2} > { a = Neg (w)  b = Abs (a)  y = Mul (b, x) }"
    model = small(text)
    monkeypatch.setattr(_computing, "_MOST_NODES", most)
    if fits:
        assert _computing.computed(value(model, "b"), model).tolist() == [1.0, 2.0]
        return
    with pytest.raises(NotApplicable, match="the value depends on an input, or on too many operators"):
        _computing.computed(value(model, "b"), model)


def test_values_that_depend_on_inputs_are_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "(float x) => (float[2] y) < float[2] w = {1, 2} > { a = Neg (w)  y = Mul (a, x) }"
    model = small(text)
    with pytest.raises(NotApplicable, match="the value depends on an input, or on too many operators"):
        _computing.computed(value(model), model)
    monkeypatch.setattr(_computing, "MOST_ELEMENTS", 2)
    assert _computing.computed(value(model, "a"), model).tolist() == [-1.0, -2.0]
    monkeypatch.setattr(_computing, "MOST_ELEMENTS", 1)
    with pytest.raises(NotApplicable, match="cannot be read or is too large"):
        _computing.computed(value(model, "a"), model)


@pytest.mark.parametrize(("most", "fits"), [(6, True), (5, False)])
def test_results_of_computed_values_are_bounded(
    most: int, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """(float x) => (float[A] y) < float[2] w = {1, 2}, int64[1] n = {3} >
    { a = Tile (w, n)  y = Mul (a, x) }"""
    model = small(text)
    monkeypatch.setattr(_computing, "MOST_ELEMENTS", most)
    if fits:
        assert _computing.computed(value(model, "a"), model).tolist() == [1.0, 2.0] * 3
        return
    with pytest.raises(NotApplicable, match="the result has more than"):
        _computing.computed(value(model, "a"), model)


@pytest.mark.parametrize(
    ("axis", "size"), [(0, 2), (1, 3), (2, None), (-1, None), (-2, 3), (-3, 2), (3, None), (-4, None)]
)
def test_sizes_of_axes(axis: int, size: int | None) -> None:
    model = small("(float[2,3,N] x, float s) => (float y) { a = my.Odd (x)  y = Neg (s) }")
    assert _products._axis_size(value(model, "x"), axis) == size
    assert [_products._axis_size(each, axis) for each in (None, value(model, "s"), value(model, "a"))] == [
        None
    ] * 3


@pytest.mark.parametrize(
    ("shape", "count"), [("4,3,3,5", 15), ("4,3,7", 7), ("4,3", 1), ("4,3,3,N", None), ("N,M,2,2", 4)]
)
def test_positions_of_a_kernel(shape: str, count: int | None) -> None:
    model = small(f"(float[{shape}] w) => (float y) {{ u = my.Odd (w)  y = my.Odd (u) }}")
    assert _products._kernel_positions(value(model, "w")) == count
    assert _products._kernel_positions(None) is _products._kernel_positions(value(model, "u")) is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("q", 255),
        ("i", 128),
        ("q, c, none", 255),
        ("q, c, low", 252),
        ("q, c, high", 200),
        ("q, c, both", 252),
        ("q, c, fed", 255),
        ("i, c, minus", 227),
        ("i, c, fed8", 255),
        (", c, low", 3),
    ],
)
def test_magnitudes_of_quantized_operands(given: str, expected: int) -> None:
    model = small(f"""(uint8[2,4] q, int8[2,4] i, float c, uint8 fed, int8 fed8) => (float y)
    < uint8 low = {{3}}, uint8 high = {{200}}, uint8[2] both = {{3, 200}}, int8 minus = {{-100}},
      uint8[0] none = {{}} > {{ y = my.Odd ({given}) }}""")
    node = model.graph.nodes[0]
    assert _products._largest_magnitude(Numbers(Draft(model, node)), node, 0, 2) == expected


@pytest.mark.parametrize(
    ("dtype", "numbers"),
    [
        ("u8", list(range(256))),
        ("i8", list(range(-128, 128))),
        ("u16", list(range(65536))),
        ("i16", list(range(-32768, 32768))),
        ("i32", None),
    ],
)
def test_numbers_of_quantized_types(dtype: str, numbers: list[int] | None) -> None:
    found = drop_second_quantizer._numbers(dtype)
    assert (None if found is None else found.tolist()) == numbers


def test_numbers_of_8_bit_floats() -> None:
    found = drop_second_quantizer._numbers("f8e4m3fn")
    assert found is not None
    assert (len(found), found.min(), found.max()) == (253, -448.0, 448.0)
    assert (np.diff(found) > 0).all()


MOVING = "float[B,4,S,8] q, float[B,4,T,8] k, float[B,4,T,8] v"
FIXED = "float[2,4,3,8] q, float[2,4,5,8] k, float[2,4,5,8] v"


@pytest.mark.parametrize(
    ("inputs", "fits"),
    [
        (f"{MOVING}, float m", False),
        (f"{MOVING}, float[1] m", False),
        (f"{MOVING}, float[2] m", True),
        (f"{MOVING}, float[N] m", True),
        (f"{FIXED}, float m", False),
        (f"{FIXED}, float[1] m", False),
        (f"{FIXED}, float[4] m", False),
        (f"{FIXED}, float[5] m", True),
        (f"{FIXED}, float[N] m", True),
        ("float[2,4,3,8] q, float[2,4,1,8] k, float[2,4,1,8] v, float[1] m", True),
        ("float[2,4,3,8] q, float[2,4,1,8] k, float[2,4,1,8] v, float m", True),
    ],
)
def test_masks_must_be_as_long_as_the_keys(inputs: str, fits: bool) -> None:
    text = f"({inputs}) => (float[A] y) {{ y = Attention (q, k, v, m) }}"
    found = outcome("decompose-attention", text, "y", 23)
    assert (found != "the mask is shorter than the keys") is fits
