"""Functions of a model, and how deeply the graphs inside them are nested."""

from __future__ import annotations

import pytest
from onnx import GraphProto, ModelProto, NodeProto, helper

from trtlint.model import inline as module
from trtlint.model.errors import ModelError
from trtlint.model.inline import inline


def nested(depth: int, *, op: str = "Abs") -> NodeProto:
    """A node inside ``depth`` graphs of If nodes."""
    node = helper.make_node(op, ["a"], ["b"], domain="" if op == "Abs" else "own", name=op)
    for level in range(depth):
        output = helper.make_tensor_value_info("b", 1, None)
        body = GraphProto(name="body", node=[node], output=[output])
        name = f"If{level}"
        node = helper.make_node("If", ["c"], ["b"], name=name, then_branch=body, else_branch=body)
    return node


def calling(outside: int, inside: int) -> ModelProto:
    """A call of a function inside ``outside`` graphs; the function nests ``inside`` graphs."""
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    function = helper.make_function("own", "F", ["a"], ["b"], [nested(inside)], imports)
    inputs = [helper.make_tensor_value_info("a", 1, [1]), helper.make_tensor_value_info("c", 9, [])]
    outputs = [helper.make_tensor_value_info("b", 1, [1])]
    graph = helper.make_graph([nested(outside, op="F")], "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=imports, functions=[function])


def test_nodes_with_their_depth() -> None:
    found = [(node.name, level) for node, level in module._walk([nested(2), nested(0)])]
    assert found[:2] == [("If1", 0), ("Abs", 0)]
    assert sorted(found[2:]) == [("Abs", 2)] * 4 + [("If0", 1)] * 2


@pytest.mark.parametrize(
    ("outside", "inside", "accepted"),
    [(0, 0, True), (0, 3, True), (0, 4, False), (2, 1, True), (2, 2, False), (3, 0, True), (4, 0, False)],
)
def test_the_depth_of_graphs_in_functions_is_limited(
    monkeypatch: pytest.MonkeyPatch, outside: int, inside: int, accepted: bool
) -> None:
    monkeypatch.setattr(module, "_DEEPEST_BODY", 3)
    model = calling(outside, inside)
    if accepted:
        inline(model)
        levels = [level for _, level in module._walk(model.graph.node)]
        assert max(levels) == outside + inside
        return
    with pytest.raises(ModelError) as caught:
        inline(model)
    assert caught.value.message == "calls of model-local functions nest If, Loop and Scan more than 3 deep"
