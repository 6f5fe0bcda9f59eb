"""The data about a model that its page shows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.graphs import model_of
from trtlint.engine.finding import Row
from trtlint.facts.of_build.layer import LayerFact
from trtlint.facts.of_build.placement import Placement
from trtlint.measurement.measurement import InternalValue, MeasuredTensor, Measurement
from trtlint.report.page.behind import PageData

MODEL = model_of("""< ir_version: 8, opset_import: ["" : 17] > g (float[4] x) => (float[4] y)
    { a = Relu (x) b = Neg (a) y = Abs (b) }""")
NODES = MODEL.graph.nodes


def layer(name: str, ms: float | None, *indexes: int) -> LayerFact:
    """Return an engine layer that computes these nodes."""
    given: dict[str, Any] = dict.fromkeys(LayerFact.__struct_fields__)
    nodes = tuple(NODES[index] for index in indexes)
    return LayerFact(**{**given, "chain": (), "name": name, "nodes": nodes, "ms": ms})


def placement(index: int | None, **more: Any) -> Placement:
    """Return the placement of a node."""
    given: dict[str, Any] = dict.fromkeys(Placement.__struct_fields__)
    node = None if index is None else NODES[index]
    return Placement(**{**given, "node": node, "chain": (), "layers": (), "others": 0, **more})


def site(node: str, max_abs: float | None, *inside: InternalValue) -> MeasuredTensor:
    """Return a tensor with its range."""
    return MeasuredTensor(node, "Exp", f"{node} out", max_abs, None, None, "ok", False, True, inside)


def behind(*facts: Any, sites: tuple[MeasuredTensor, ...] | None = None) -> PageData:
    """Return the data about a model with these facts and measured tensors."""
    found = None
    if sites is not None:
        found = Measurement("m.onnx", "", (), "", 2, "fp16", False, False, 0.1, sites, (), (), None, ())
    kinds: Any = {"layer": LayerFact, "placement": Placement}
    source: Any = SimpleNamespace(
        model=MODEL,
        measurement=found,
        of=lambda kind: [fact for fact in facts if isinstance(fact, kinds[kind])],
    )
    return PageData(source)


def test_the_slowest_layer_is_first() -> None:
    layers = (layer("b", 1.0), layer("none", None), layer("c", 3.0), layer("zero", 0.0), layer("a", 2.0))
    assert [each.name for each in behind(*layers).layers] == ["c", "a", "b"]
    assert behind().layers == ()


def test_the_time_of_a_layer_is_divided_among_its_nodes() -> None:
    found = behind(layer("first", 3.0, 0, 1), layer("second", 0.5, 1), layer("none", None, 2))
    assert found.times == {NODES[0]: 1.5, NODES[1]: 2.0}


@pytest.mark.parametrize(
    ("index", "node"), [(0, NODES[0]), (2, NODES[2]), (None, None), (-1, None), (3, None)]
)
def test_the_node_of_a_row(index: int | None, node: object) -> None:
    row = Row(NODES[index or 0].path if node else NODES[-1].path, "Relu", index=index)
    assert behind().node(row) is node


def test_another_node_at_the_position_of_a_row() -> None:
    for at, other in ((0, 1), (1, 0)):
        assert behind().node(Row(NODES[other].path, "Neg", index=at)) is None


@pytest.mark.parametrize(
    ("facts", "sites", "words"),
    [
        ((), None, ""),
        ((), (), ""),
        ((placement(0, ms=1.25),), None, "1.25 ms"),
        ((placement(0, ms=0.0),), None, "0 ms"),
        ((placement(0, ms=1.25, others=1),), None, "1.25 ms for 2 nodes"),
        ((placement(0, ms=1.25, absorbed=True),), None, ""),
        ((placement(0),), None, ""),
        ((placement(1, ms=1.0), placement(None, ms=2.0)), None, ""),
        ((placement(0, ms=1.25),), (site(NODES[0].path, 4.0),), "1.25 ms, up to 4"),
        ((), (site(NODES[0].path, 4.0, InternalValue("square", 16.0)),), "up to 16"),
        ((), (site(NODES[0].path, None),), "not finite in FP32"),
        ((), (site("", 4.0), site(NODES[1].path, 4.0)), ""),
    ],
)
def test_the_time_and_the_range_of_a_node(
    facts: tuple[Placement, ...], sites: tuple[MeasuredTensor, ...] | None, words: str
) -> None:
    assert behind(*facts, sites=sites).measured(NODES[0]) == words


def test_inputs_are_not_among_the_ranges() -> None:
    sites = (site("", 1.0), site("n", 2.0))
    assert behind(sites=sites).ranges == {"n": sites[1]}
    assert behind().ranges == {}
