"""Tests of names, bodies and dimensions in ONNX messages."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
from onnx import helper

from trtlint.model.protos import bodies, defined, dimension, domain_of, opsets, text

Dim = onnx.TensorShapeProto.Dimension


@pytest.mark.parametrize(
    ("dim", "expected"),
    [
        (Dim(dim_value=5), 5),
        (Dim(dim_value=0), 0),
        (Dim(dim_value=-1), None),
        (Dim(dim_param="n"), "n"),
        (Dim(dim_param="unk__7"), None),
        (Dim(dim_param="unk_7"), "unk_7"),
        (Dim(dim_param=""), None),
        (Dim(), None),
    ],
)
def test_dimensions(dim: Dim, expected: int | str | None) -> None:
    assert dimension(dim) == expected


def test_names_and_domains() -> None:
    assert [text(name) for name in ("a", b"a", b"\x80a")] == ["a", "a", "\\x80a"]
    assert [domain_of(name) for name in ("", "ai.onnx", "own", b"\x80", "ai.onnx.ml")] == [
        "", "", "own", "\\x80", "ai.onnx.ml"
    ]  # fmt: skip
    imports = [helper.make_opsetid("ai.onnx", 13), helper.make_opsetid("own", 2)]
    assert opsets(onnx.ModelProto(opset_import=imports)) == {"": 13, "own": 2}


@pytest.mark.parametrize(
    ("kind", "found"),
    [("GRAPH", ["a"]), ("UNDEFINED", ["a"]), ("GRAPHS", ["a"]), ("INT", [])],
)
def test_the_body_of_an_attribute(kind: str, found: list[str]) -> None:
    graph = onnx.GraphProto(name="a")
    type_: Any = onnx.AttributeProto.AttributeType.Value(kind)
    one = onnx.AttributeProto(type=type_, g=graph, graphs=[onnx.GraphProto(name="b")])
    assert [body.name for body in bodies(one)] == found
    many = onnx.AttributeProto(type=type_, graphs=[graph, onnx.GraphProto(name="b")])
    assert [body.name for body in bodies(many)] == (["a", "b"] if found else [])


def test_the_values_that_a_graph_defines() -> None:
    body = helper.make_graph([helper.make_node("Neg", ["x"], ["inner"])], "b", [], [])
    nodes = [
        helper.make_node("Split", ["x"], ["s1", "s2"]),
        helper.make_node("If", ["c"], ["i"], then_branch=body),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", 1, None)],
        [helper.make_tensor_value_info("y", 1, None)], [onnx.TensorProto(name="w")],
    )  # fmt: skip
    graph.sparse_initializer.add(values=onnx.TensorProto(name="z"), indices=onnx.TensorProto(name="no"))
    assert list(defined(graph)) == ["x", "w", "z", "s1", "s2", "i"]
