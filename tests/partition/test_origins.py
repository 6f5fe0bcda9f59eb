"""Tests of node paths and inputs, and of the origin of rewritten nodes."""

from __future__ import annotations

import onnx
import pytest
from onnx import helper

from trtlint.partition import origins
from trtlint.partition._parser import _operator
from trtlint.partition.origins import mark, merged, path_of
from trtlint.partition.regions import Operator

HEAD = '<ir_version: 8, opset_import: ["" : 18]>'
TEXT = """g (float[2] x, bool c) => (float[2] y) {
    [n] a = Neg (x)
    b = If (c, , a) <
        then_branch = t () => (float[2] t2) < float[2] w = {1, 2} > {
            t1 = Add (p, w) [i] t2 = If (q) <
                then_branch = u () => (float[2] u1) { [n] u1 = Mul (t1, r) },
                else_branch = v () => (float[2] a) { v1 = Neg (s) }> },
        else_branch = e () => (float[2] outer) {
            e1 = Loop (m, k, x) <body = b (int64 i, bool g, float[2] h) => (bool g, float[2] o) {
                o = Add (h, z) }> }>
    y = Add (a, b) }"""


def parsed(text: str) -> onnx.ModelProto:
    """Return a model."""
    return onnx.parser.parse_model(HEAD + text)


def test_what_a_node_and_its_bodies_read() -> None:
    first, second, last = parsed(TEXT).graph.node
    assert _operator(first) == Operator("n", "Neg", ("x",), ("a",))
    outside = ("c", "a", "p", "q", "r", "s", "a", "m", "k", "x", "z", "outer")
    assert _operator(second) == Operator("", "If", outside, ("b",))
    assert _operator(last) == Operator("", "Add", ("a", "b"), ("y",))
    assert _operator(helper.make_node("Split", ["a", ""], ["", "b"])).outputs == ("b",)


@pytest.mark.parametrize(
    ("name", "words", "scope", "path"),
    [
        ("n", "", "", "n"),
        ("n", "", "b/t", "b/t/n"),
        ("", "", "", "Neg_3"),
        ("", "", "b/t", "b/t/Neg_3"),
        ("n", "some words", "", "n"),
        ("n", "trtlint.path:a/b#2", "c", "a/b#2"),
        ("n", "x trtlint.path:a", "", "n"),
    ],
)
def test_the_path_of_a_node(name: str, words: str, scope: str, path: str) -> None:
    assert path_of(onnx.NodeProto(name=name, op_type="Neg", doc_string=words), 3, scope) == path


PATHS = [
    "n",
    "If_1",
    "Add_2",
    "If_1/then_branch/Add_0",
    "If_1/then_branch/i",
    "If_1/then_branch/i/then_branch/n",
    "If_1/then_branch/i/else_branch/Neg_0",
    "If_1/else_branch/Loop_0",
    "If_1/else_branch/Loop_0/body/Add_0",
]


def test_each_node_is_marked_with_its_path() -> None:
    graph = parsed(TEXT).graph
    found = mark(graph)
    assert list(found) == PATHS
    assert all(node.doc_string == f"trtlint.path:{path}" for path, node in found.items())
    assert found["n"].SerializeToString() == graph.node[0].SerializeToString()
    assert list(mark(graph)) == [f"{path}" for path in PATHS]


def test_nodes_of_one_name_get_numbers() -> None:
    graph = parsed("g (float[2] x) => (float[2] y) { [a] b = Neg (x) [a] c = Neg (b) [a] y = Neg (c) }").graph
    assert list(mark(graph)) == ["a", "a#2", "a#3"]
    graph = parsed("g (float[2] x) => (float[2] y) { [b] b = Neg (x) [a] c = Neg (b) [a] y = Neg (c) }").graph
    graph.node[0].name = "a#2"
    assert list(mark(graph)) == ["a#2", "a", "a#3"]


def test_bodies_that_are_too_deep_are_not_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    for most, count in ((0, 3), (1, 6), (2, 9)):
        monkeypatch.setattr(origins, "MOST_BODIES", most)
        assert len(mark(parsed(TEXT).graph)) == count


BEFORE = """g (float[2] x) => (float[2] y, float[2] z) < float[2] w = {1, 2} > {
    k = Constant <value = float[2] {1, 2}> () [q] q = Neg (w) [i] i = Identity (x)
    [m] m = Mul (i, w) [a] a = Add (m, k) [r] r = Relu (a) [d] d = Exp (q) [e] e, unused = Split (d)
    [l] l = Neg (x) [y] y = Add (r, d) [z] z = Sin (l) }"""


def origin(after: str) -> tuple[dict[str, list[list[str]]], list[str]]:
    """Return the merged nodes, and the paths of the rewritten nodes."""
    before = parsed(BEFORE)
    marked = mark(before.graph)
    model = parsed(after)
    for node in model.graph.node:
        node.name = node.name.replace("__", "/")  # no text of a model has a name with a slash
        if node.name in marked:
            node.doc_string = marked[node.name].doc_string
    found = merged(marked, model)
    return found, [node.doc_string.removeprefix("trtlint.path:") for node in model.graph.node]


@pytest.mark.parametrize(
    ("nodes", "homes", "paths"),
    [
        (
            "[d] d = Exp (q) [fused] r = Fused (x) [y] y = Add (r, d) [l] l = Neg (x) [z] z = Sin (l)",
            {"r": [["m", "Mul"], ["a", "Add"]], "d": [["q", "Neg"]]},
            ["d", "r", "y", "l", "z"],
        ),
        (
            "[m] m = Mul (x, w) [new] y, n = Fused (m) [new2] z = Fused (x)",
            {"y": [["q", "Neg"], ["a", "Add"], ["r", "Relu"], ["d", "Exp"]], "z": [["l", "Neg"]]},
            ["m", "y", "z"],
        ),
        (
            "[y] y = Fused (x) [z] other = Sin (x) [none] nothing = Fused (x)",
            {
                "y": [["q", "Neg"], ["m", "Mul"], ["a", "Add"], ["r", "Relu"], ["d", "Exp"]],
                "z": [["l", "Neg"]],
            },
            ["y", "z", ""],
        ),
        (
            "[l__duplicated] l2 = Neg (x) [l__duplicated_token_7] l3 = Neg (x) [y__duplicated_] w2 = Neg (x) "
            "[none__duplicated] l = Neg (x) [z] z = Sin (l)",
            {},
            ["l", "l", "", "", "z"],
        ),
    ],
)
def test_nodes_behind_rewritten_nodes(
    nodes: str, homes: dict[str, list[list[str]]], paths: list[str]
) -> None:
    head = "g (float[2] x) => (float[2] y) < float[2] w = {1, 2} > "
    found, marked = origin(f"{head} {{ {nodes} }}")
    assert marked == paths
    assert {home: found.get(home) for home in homes} == homes


def test_nodes_whose_results_are_stored_have_no_home() -> None:
    head = "g (float[2] x) => (float[2] y) < float[2] q = {1, 2}, float[2] d = {1, 2} > "
    found, _ = origin(f"{head} {{ [y] y = Fused (x) [z] z = Sin (x) }}")
    assert found == {"y": [["m", "Mul"], ["a", "Add"], ["r", "Relu"]], "z": [["l", "Neg"]]}
