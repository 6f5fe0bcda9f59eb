"""Tests of the nodes between agreeing tensors and one other tensor."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from trtlint.network import region
from trtlint.network.region import Regions

HEAD = '<ir_version: 8, opset_import: ["" : 18, "my" : 1]>'


def parsed(text: str) -> onnx.ModelProto:
    """Return a model."""
    return onnx.parser.parse_model(HEAD + text)


MODEL = parsed(
    """g (float[2] x, bool c) => (float[2] y) < float[2] w = {3, 4} > {
    k = Constant <value = float {2}> () a = Neg (x) b = Mul (a, k) d = Add (b, w) other = Exp (a)
    i = If (c) <then_branch = t () => (float[2] u) { u = Abs (d) },
        else_branch = e () => (float[2] v) { v = Neg (a) }>
    y = Add (i, d) }"""
)


@pytest.mark.parametrize(
    ("tensor", "settled", "nodes", "inputs", "others"),
    [
        ("a", set(), ["a"], ("x",), ()),
        ("b", set(), ["k", "a", "b"], ("x",), ("Neg",)),
        ("b", {"a"}, ["k", "b"], ("a",), ()),
        ("b", {"k", "a", "b"}, ["b"], ("a", "k"), ()),
        ("d", {"b"}, ["d"], ("b", "w"), ()),
        ("i", {"a", "b"}, ["d", "i"], ("b", "w", "c", "a"), ("Add",)),
        ("y", {"i"}, ["k", "a", "b", "d", "y"], ("x", "w", "i"), ("Neg", "Mul", "Add")),
        ("y", {"i", "d"}, ["y"], ("i", "d"), ()),
    ],
)
def test_nodes_behind_tensors_that_agree(
    tensor: str, settled: set[str], nodes: list[str], inputs: tuple[str, ...], others: tuple[str, ...]
) -> None:
    found = Regions(MODEL).of(tensor, settled)
    assert [node.output[0] for node in found.nodes] == nodes
    assert (found.inputs, found.others) == (inputs, others)


def test_a_region_has_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join(f"t{at} = Neg ({f't{at - 1}' if at else 'x'})" for at in range(6))
    regions = Regions(parsed(f"g (float[2] x) => (float[2] t5) {{ {text} }}"))
    for most, first in ((1, 5), (3, 3), (6, 0), (7, 0)):
        monkeypatch.setattr(region, "_MOST_NODES", most)
        found = regions.of("t5", set())
        assert [node.output[0] for node in found.nodes] == [f"t{at}" for at in range(first, 6)]
        assert found.inputs == (f"t{first - 1}" if first else "x",)


X = np.array([1, -5], np.float32)


def test_the_reference_computes_a_region() -> None:
    regions = Regions(MODEL)
    part = regions.of("d", {"a"})
    assert regions.second_opinion(part, "d", {"a": X, "w": X}) is not None
    found = regions.second_opinion(part, "d", {"a": X, "w": np.array([3, 4], np.float32), "more": X})
    assert np.asarray(found).tolist() == [5, -6]
    assert regions.second_opinion(part, "d", {"a": X}) is None
    whole = regions.of("y", set())
    values = {"x": X, "w": X, "c": np.array(True)}
    assert np.asarray(regions.second_opinion(whole, "y", values)).tolist() == [0, 10]
    assert part.nodes[-1].op_type == "Add"


def test_large_operands_have_no_second_opinion(monkeypatch: pytest.MonkeyPatch) -> None:
    regions = Regions(MODEL)
    part = regions.of("d", {"b"})
    values = {"b": X, "w": X}
    monkeypatch.setattr(region, "_MOST_BYTES", 16)
    assert regions.second_opinion(part, "d", values) is not None
    monkeypatch.setattr(region, "_MOST_BYTES", 15)
    assert regions.second_opinion(part, "d", values) is None


def test_types_of_a_region_can_be_replaced() -> None:
    regions = Regions(parsed("g (double[1] x) => (double[1] y) { a = Cast <to = 11> (x) y = Exp (a) }"))
    part = regions.of("y", set())
    x = np.array([0.1])
    wide = regions.second_opinion(part, "y", {"x": x})
    narrow = regions.second_opinion(
        part, "y", {"x": x.astype(np.float32)}, {TensorProto.DOUBLE: TensorProto.FLOAT}
    )
    assert (np.asarray(wide).dtype, np.asarray(narrow).dtype) == (np.float64, np.float32)
    assert part.nodes[0].attribute[0].i == 11


@pytest.mark.parametrize(
    ("nodes", "inputs"),
    [
        ("y = my.NoSuchOperator (x)", "x"),
        ("y = Reshape (x, x)", "x"),
    ],
)
def test_nodes_that_the_reference_refuses(nodes: str, inputs: str) -> None:
    regions = Regions(parsed(f"g (float[2] x) => (float[2] y) {{ {nodes} }}"))
    assert regions.second_opinion(regions.of("y", set()), "y", {inputs: X}) is None


def test_functions_of_the_model_are_computed() -> None:
    text = """g (float[2] x) => (float[2] y) { y = my.F (x) }
        <domain: "my", opset_import: ["" : 18]> F (a) => (b) { b = Neg (a) }"""
    regions = Regions(parsed(text))
    assert np.asarray(regions.second_opinion(regions.of("y", set()), "y", {"x": X})).tolist() == [-1, 5]


def test_loops_with_stacked_outputs_have_no_second_opinion() -> None:
    text = """g (float[2] x, int64 n, bool t) => (float[2] y, float[m,2] s) {
        y, s = Loop (n, t, x) <body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w, float[2] z) {
            d = Identity (c) w = Neg (v) z = Neg (v) }> }"""
    regions = Regions(parsed(text))
    values = {"x": X, "n": np.array(1), "t": np.array(True)}
    assert regions.second_opinion(regions.of("y", set()), "y", values) is None
