"""Tests of all parts of a model, in any field."""

from __future__ import annotations

import onnx
import pytest
from onnx import helper

from trtlint.model.contents import all_tensors, attributes, graphs, nodes, reads, sparse_tensors, tensors


def tensor(name: str) -> onnx.TensorProto:
    return onnx.TensorProto(name=name)


def sparse(name: str) -> onnx.SparseTensorProto:
    return onnx.SparseTensorProto(values=tensor(f"{name}v"), indices=tensor(f"{name}i"))


def holding(name: str, *bodies: onnx.GraphProto, listed: bool = False) -> onnx.NodeProto:
    """Return an operator with bodies and tensors whose attributes declare no type."""
    node = onnx.NodeProto(name=name)
    node.attribute.add(name=f"{name}.one", t=tensor(f"{name}.t"), sparse_tensor=sparse(f"{name}.s"))
    many = node.attribute.add(name=f"{name}.many")
    many.tensors.extend([tensor(f"{name}.t1"), tensor(f"{name}.t2")])
    many.sparse_tensors.extend([sparse(f"{name}.s1"), sparse(f"{name}.s2")])
    if listed:
        many.graphs.extend(bodies)
    else:
        for body in bodies:
            node.attribute.add(name=f"{name}.g", g=body)
    return node


def graph(name: str, *inner: onnx.NodeProto) -> onnx.GraphProto:
    found = helper.make_graph(inner, name, [], [], [tensor(f"{name}.w")])
    found.sparse_initializer.append(sparse(f"{name}.z"))
    return found


@pytest.fixture
def model() -> onnx.ModelProto:
    deep = graph("deep", holding("a"))
    main = graph("main", holding("b", graph("first", holding("c", deep)), graph("second")), holding("d"))
    proto = helper.make_model(main)
    function = proto.functions.add(name="f")
    function.node.append(holding("e", graph("listed"), graph("other"), listed=True))
    function.attribute_proto.add(name="default", t=tensor("default.t"))
    return proto


def test_graphs(model: onnx.ModelProto) -> None:
    found = [each.name for each in graphs(model)]
    assert sorted(found) == ["deep", "first", "listed", "main", "other", "second"]
    assert found.index("first") < found.index("deep")


def test_operators_and_attributes(model: onnx.ModelProto) -> None:
    assert sorted(node.name for node in nodes(model)) == ["a", "b", "c", "d", "e"]
    found = sorted(attribute.name for attribute in attributes(model))
    own = [f"{name}.{kind}" for name in "abcde" for kind in ("many", "one")]
    assert found == sorted([*own, "b.g", "b.g", "c.g", "default"])


def test_tensors(model: onnx.ModelProto) -> None:
    names = ("deep", "first", "listed", "main", "other", "second")
    dense = [f"{name}.w" for name in names] + [f"{name}.{t}" for name in "abcde" for t in ("t", "t1", "t2")]
    dense.append("default.t")
    assert sorted(each.name for each in tensors(model)) == sorted(dense)
    found = [f"{name}.z" for name in names] + [f"{name}.{s}" for name in "abcde" for s in ("s", "s1", "s2")]
    assert sorted(each.values.name for each in sparse_tensors(model)) == sorted(f"{name}v" for name in found)
    pairs = [f"{name}{part}" for name in found for part in "vi"]
    assert sorted(each.name for each in all_tensors(model)) == sorted(dense + pairs)


def test_what_a_node_reads() -> None:
    graph = onnx.parser.parse_graph(
        """g (float[2] x, bool c) => (float[2] y) {
        y = If (c, ) <
            then_branch = t () => (float[2] u) < float[2] w = {1, 2} > { a = Add (x, w) u = Mul (a, p) },
            else_branch = e () => (float[2] outer) {
                z = my.F (q) <n = 1, body = b (float[2] v) => (float[2] s) { s = Add (v, r) }> }> }"""
    )
    assert list(reads(graph.node[0])) == ["c", "x", "p", "q", "r", "outer"]
    two = onnx.NodeProto(input=["a", ""])
    attribute = two.attribute.add(name="graphs", type=onnx.AttributeProto.GRAPHS)
    attribute.graphs.add().node.add(input=["b"])
    attribute.graphs.add().node.add(input=["d"])
    assert list(reads(two)) == ["a", "b", "d"]
