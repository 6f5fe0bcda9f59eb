"""Tests of the match between engine layers and graph nodes, for every naming scheme."""

from __future__ import annotations

from io import BytesIO

import pytest

from tests.graphs import model_of
from trtlint.buildfiles.join import Join, NodeNames, join
from trtlint.buildfiles.layers import EngineLayer, LayerInfo, LayerTensor
from trtlint.buildfiles.log import read_log
from trtlint.buildfiles.records import Log
from trtlint.model.graph import Graph

CHAIN = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[1,4,8] x, float[1,4,8] side) => (float[1,8,4] y, float[1,4,8] z)
< float[1,4,8] w = {} >
{
  [a] va = Relu (x)
  [b] vb = Sigmoid (va)
  [c] vc = Add (vb, w)
  [d] vd = Tanh (vc)
  [t] y = Transpose <perm = [0, 2, 1]> (vd)
  [e] z = Abs (side)
}
"""


def graph(text: str = CHAIN) -> Graph:
    return model_of(text).graph


def joined(
    *layers: EngineLayer | str, text: str = CHAIN, log: Log | None = None, detailed: bool = True
) -> Join:
    found = tuple(
        EngineLayer(index, layer) if isinstance(layer, str) else layer for index, layer in enumerate(layers)
    )
    return join(LayerInfo(found, detailed=detailed), NodeNames(graph(text), log), log)


def nodes(found: Join, index: int = 0) -> list[str]:
    return [node.path for node in found.nodes[index]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a", ["a"]),
        ("a + b", ["a", "b"]),
        ("b || a", ["a", "b"]),
        ("PWN(PWN(a), b)", ["a", "b"]),
        ("w + c", ["c"]),
        ("a [profile 1]", ["a"]),
        ("(Unnamed Layer* 3) [Shuffle] + d", ["d"]),
        ("{ForeignNode[a...d]}", ["a", "b", "c", "d"]),
        ("{ForeignNode[b...b]}", ["b"]),
        ("{ForeignNode[w...d]}", ["c", "d"]),
        ("{ForeignNode[gone...d]}", ["d"]),
        ("__mye123_0_myl0_0", []),
        ("nothing of the graph", []),
    ],
)
def test_names(name: str, expected: list[str]) -> None:
    assert nodes(joined(name)) == expected


def test_the_metadata_decides() -> None:
    layer = EngineLayer(0, "__myl_SigmAdd_myl0_0", metadata="[ONNX Layer: c]\x1e[ONNX Layer: b]")
    assert nodes(joined(layer)) == ["b", "c"]


def test_an_island_leaves_nodes_to_the_layers_that_name_them() -> None:
    found = joined("{ForeignNode[a...d]}", "c")
    assert nodes(found) == ["a", "b", "d"]
    assert nodes(found, 1) == ["c"]


def test_the_members_that_the_log_lists_are_those_of_the_island() -> None:
    line = "[V] ForeignNode {ForeignNode[a...d]} metadata: [ONNX Layer: a][ONNX Layer: d]\n"
    assert nodes(joined("{ForeignNode[a...d]}", log=log_of(line))) == ["a", "d"]


def test_a_layer_that_names_nothing_is_joined_by_what_it_writes() -> None:
    layer = EngineLayer(0, "__myl_Tanh_myl0_3", outputs=(LayerTensor("vd"),))
    assert nodes(joined(layer)) == ["d"]


def test_reformats_compute_no_nodes() -> None:
    found = joined("Reformatting CopyNode for Input Tensor 0 to b", "b")
    assert nodes(found) == []
    assert [layer.index for layer in found.layers[found.nodes[1][0]]] == [1]


def test_a_layout_operator_without_a_layer_is_in_its_neighbour() -> None:
    found = joined("d", "e")
    (transpose,) = (node for node in found.absorbed if node.path == "t")
    assert [layer.name for layer in found.placed(transpose)] == ["d"]
    assert not joined("d", "e", detailed=False).absorbed


def test_layers_that_the_parser_registered_for_a_node() -> None:
    log = log_of("[V] Registering layer: a_castHelper for ONNX node: a\n")
    assert nodes(joined("a_castHelper", log=log)) == ["a"]


def test_names_that_two_nodes_have_name_neither() -> None:
    text = CHAIN.replace("[b]", "[a]")
    assert nodes(joined("a", text=text)) == []


def test_nodes_without_a_name_go_by_their_output() -> None:
    text = CHAIN.replace("[b] ", "")
    (found,) = joined("node_of_vb", text=text).nodes[0]
    assert found.op == "Sigmoid"


def log_of(text: str) -> Log:
    return read_log(BytesIO(text.encode()))
