"""Tests of patch regions extracted as separate models."""

from __future__ import annotations

import numpy as np
import pytest

from tests.graphs import model_of
from trtlint.fixes import region as regions
from trtlint.fixes.edit import EditError
from trtlint.fixes.patch import Draft, Patch
from trtlint.fixes.region import Region, RegionError, region_of
from trtlint.model.load import Model

HEAD = '< ir_version: 10, opset_import: ["" : 17, "com.microsoft" : 1] > g '
CHAIN = """(float[4] x) => (float[4] y)
{ a = Neg (x)  b = Abs (a)  c = Exp (b)  side = Exp (x)  y = Add (c, side) }"""


def cut(text: str, *names: str, **settings: object) -> Region:
    """Copy the nodes of some results and extract them as a model."""
    model = model_of(HEAD + text)
    return region_of(model, copied(model, *names, **settings))


def copied(model: Model, *names: str, **settings: object) -> Patch:
    """Return a patch that copies the nodes of some results."""
    nodes = [node for node in model.graph.nodes if node.outputs[0].name in names]
    draft = Draft(model, nodes[0])
    for node in nodes:
        draft.again(node, node.proto.input, node.proto.output)
    return draft.patch("copies", nodes, **settings)  # type: ignore[arg-type]


def inside(found: Region) -> list[str]:
    """Return the first results of the nodes of a region."""
    return [node.outputs[0].name for node in found.nodes]


def test_what_lies_between_comes_along() -> None:
    found = cut(CHAIN, "a", "c")
    assert inside(found) == ["a", "b", "c"]
    assert [value.name for value in found.inputs] == ["x"]
    assert found.outputs == ("c",)
    assert [node.op_type for node in found.before.graph.node] == ["Neg", "Abs", "Exp"]
    assert [node.output[0] for node in found.after.graph.node] == ["a", "b", "c"]
    assert inside(cut(CHAIN, "b")) == ["b"]
    assert inside(cut(CHAIN, "a", "y")) == ["a", "b", "c", "y"]
    assert [value.name for value in cut(CHAIN, "a", "y").inputs] == ["x", "side"]


def test_all_that_others_read_is_a_result() -> None:
    text = CHAIN.replace("(float[4] y)", "(float[4] y, float[4] a)")
    assert cut(text, "a", "b").outputs == ("a", "b")
    assert cut(text, "a", "b", altered=["b"]).outputs == ("a",)
    with pytest.raises(RegionError, match="no node reads the values that the rewrite changes"):
        cut(CHAIN, "b", altered=["b"])
    dead = CHAIN.replace("y = Add (c, side)", "y = Abs (x)")
    with pytest.raises(RegionError, match="no node reads the values that the rewrite changes"):
        cut(dead, "c")


def test_a_patch_without_nodes_has_no_region() -> None:
    model = model_of(HEAD + CHAIN)
    with pytest.raises(RegionError, match="no operator changes"):
        region_of(model, Patch("nothing", (), ()))


def test_rewired_nodes_read_something_else() -> None:
    model = model_of(HEAD + CHAIN)
    add = next(node for node in model.graph.nodes if node.op == "Add")
    found = region_of(model, Draft(model, add).patch("rewires", [], rewire=[(add, 1, "c")]))
    assert list(found.before.graph.node[0].input) == ["c", "side"]
    assert list(found.after.graph.node[0].input) == ["c", "c"]
    assert [value.name for value in found.inputs] == ["c", "side"]
    assert list(add.proto.input) == ["c", "side"]


def test_nodes_around_are_computed_too() -> None:
    model = model_of(HEAD + CHAIN)
    nodes = {node.outputs[0].name: node for node in model.graph.nodes}
    found = region_of(model, copied(model, "b", around=[nodes["c"]]))
    assert inside(found) == ["b", "c"]
    assert found.outputs == ("c",)


SHAPED = """(float[N,4] x) => (float[M] y) < int64[1] one = {-1}, int64[1] zero = {0} >
{ n = Neg (x)  s = Shape (n)  g = Gather (s, zero)  c = Concat <axis = 0> (g, one)  y = Reshape (x, c) }"""


def test_arithmetic_on_shapes_is_computed_with_the_rest() -> None:
    found = cut(SHAPED, "y")
    assert inside(found) == ["s", "g", "c", "y"]
    assert [value.name for value in found.inputs if not value.initializer] == ["n", "x"]


def test_bodies_do_not_lie_between() -> None:
    text = """(float[4] x, bool b) => (float[4] y) { a = Not (b)  n = Neg (x)
    i = If (a) < then_branch = t () => (float[4] p) { p = Abs (n) },
                 else_branch = e () => (float[4] q) { q = Exp (n) } >
    y = Neg (i) }"""
    with pytest.raises(RegionError, match="an If or a loop"):
        cut(text, "a", "y")
    found = cut(text, "i")
    assert [value.name for value in found.inputs] == ["a", "n"]


def test_regions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert regions._MOST_NODES == 2000
    monkeypatch.setattr(regions, "_MOST_NODES", 3)
    assert inside(cut(CHAIN, "a", "c")) == ["a", "b", "c"]
    with pytest.raises(RegionError, match="more than"):
        cut(CHAIN, "a", "y")
    monkeypatch.setattr(regions, "_MOST_NODES", 0.06)  # of which 50 times is what may be reached
    with pytest.raises(RegionError, match="more than"):
        cut(CHAIN, "a", "c")


def test_written_nodes_are_put_in_order() -> None:
    model = model_of(HEAD + CHAIN)
    node = model.graph.nodes[0]
    draft = Draft(model, node)
    draft.op("Abs", "inner", out="a")
    draft.op("Neg", "x", out="inner")
    found = region_of(model, draft.patch("writes", [node]))
    assert [each.op_type for each in found.after.graph.node] == ["Neg", "Abs"]
    draft = Draft(model, node)
    draft.op("Abs", "inner", out="a")
    draft.op("Neg", "a", out="inner")
    with pytest.raises(EditError, match="cycle"):
        region_of(model, draft.patch("writes", [node]))


def test_a_result_that_is_stored_now_gets_another_name() -> None:
    model = model_of(HEAD + CHAIN)
    (node,) = model.graph.by_op("Abs")
    draft = Draft(model, node)
    draft.constant(np.ones(4, np.float32), out="b")
    found = region_of(model, draft.patch("stores", [node]))
    assert [each.op_type for each in found.after.graph.node] == ["Identity"]
    assert [each.name for each in found.after.graph.output] == ["b/result"]
    assert [each.name for each in found.before.graph.output] == ["b"]
    assert found.outputs == ("b",)
    assert {each.domain: each.version for each in found.after.opset_import} == {"": 17, "com.microsoft": 1}
