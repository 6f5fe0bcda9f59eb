"""Tests of patches in bodies that use names of other bodies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.fixes.fixing import computed
from tests.fixes.proposing import proposed, small, whole
from trtlint.facts.base import Fact
from trtlint.facts.facts import Facts
from trtlint.fixes.edit import apply
from trtlint.fixes.patch import Draft, NotApplicable, Patch
from trtlint.fixes.region import region_of
from trtlint.fixes.rewrites.store_dense import _store
from trtlint.model.graph import Node
from trtlint.model.load import Model, load
from trtlint.model.retype import contradictions

HEAD = '< ir_version: 8, opset_import: ["" : 17] >'
BRANCHES = f"""{HEAD} g (bool c, float[2,3] a, float[4,5,6] b) => (y)
{{
  y = If (c) <
    then_branch = t () => (r) {{ s = Shape (a)  u = Neg (a)  v = Exp (u)  r = Reshape (v, s) }},
    else_branch = e () => (r) {{ s = Shape (b)  u = Neg (b)  v = Exp (u)  r = Reshape (v, s) }}
  >
}}"""


def loaded(folder: Path, text: str) -> tuple[onnx.ModelProto, Model]:
    proto = onnx.parser.parse_model(text)
    path = folder / "model.onnx"
    onnx.save(proto, path)
    return proto, load(path)


def node_of(model: Model, op: str, scope: str) -> Node:
    return next(node for node in model.graph.nodes if node.op == op and node.scope == scope)


def body_ops(model: onnx.ModelProto) -> list[list[str]]:
    """Return the operators in the bodies of the first operator."""
    return [[node.op_type for node in attribute.g.node] for attribute in model.graph.node[0].attribute]


def _sparse(name: str, number: float) -> onnx.SparseTensorProto:
    values = helper.make_tensor(name, onnx.TensorProto.FLOAT, [1], [number])
    places = helper.make_tensor(f"{name}_places", onnx.TensorProto.INT64, [1], [1])
    return helper.make_sparse_tensor(values, places, [3])


@pytest.mark.parametrize("branch", ["then_branch", "else_branch"])
def test_what_a_removed_node_read_goes_from_its_body_alone(branch: str, tmp_path: Path) -> None:
    proto, model = loaded(tmp_path, BRANCHES)
    exp = node_of(model, "Exp", f"If_0/{branch}")
    draft = Draft(model, exp)
    draft.op("Relu", "a" if branch == "then_branch" else "b", out="v")
    edited = apply(proto, model.graph, [draft.patch("writes Relu", [exp])])
    changed, same = ["Shape", "Relu", "Reshape"], ["Shape", "Neg", "Exp", "Reshape"]
    ops = dict(zip([a.name for a in edited.graph.node[0].attribute], body_ops(edited), strict=True))
    assert ops == {"then_branch": same, "else_branch": same} | {branch: changed}


def test_a_patch_in_each_body(tmp_path: Path) -> None:
    proto, model = loaded(tmp_path, BRANCHES)
    patches = []
    for scope in ("If_0/then_branch", "If_0/else_branch"):
        exp = node_of(model, "Exp", scope)
        draft = Draft(model, exp)
        draft.op("Exp", draft.op("Neg", exp.inputs[0].producer.inputs[0]), out="v")  # type: ignore[union-attr]
        patches.append(draft.patch("writes Exp again", [exp]))
    edited = apply(proto, model.graph, patches)
    assert body_ops(edited) == [["Shape", "Neg", "Exp", "Reshape"]] * 2
    for taken in (True, False):
        feeds = {"a": np.ones((2, 3), np.float32), "b": np.full((4, 5, 6), 2, np.float32)}
        feeds["c"] = np.array(taken)
        np.testing.assert_array_equal(computed(edited, feeds)[0], computed(proto, feeds)[0])


def test_a_name_of_a_body_is_no_dependency_of_the_operator_around_it(tmp_path: Path) -> None:
    """The body's state has the name of a main-graph value computed from the loop."""
    text = f"""{HEAD} g (int64 n, bool c, float[2] x) => (float[2] z)
    {{
      h = Neg (x)
      y = Loop (n, c, h) <body = b (int64 i, bool go, float[2] z) => (bool go2, float[2] w) {{
        go2 = Identity (go)  w = Relu (z) }}>
      z = Exp (y)
    }}"""
    proto, model = loaded(tmp_path, text)
    neg = node_of(model, "Neg", "")
    draft = Draft(model, neg)
    draft.op("Abs", "x", out="h")
    edited = apply(proto, model.graph, [draft.patch("writes Abs", [neg])])
    assert [node.op_type for node in edited.graph.node] == ["Abs", "Loop", "Exp"]


@pytest.mark.parametrize("branch", ["then_branch", "else_branch"])
def test_a_region_has_nothing_of_another_body(branch: str, tmp_path: Path) -> None:
    _, model = loaded(tmp_path, BRANCHES)
    reshape = node_of(model, "Reshape", f"If_0/{branch}")
    draft = Draft(model, reshape)
    draft.op("Reshape", draft.op("Relu", "v"), "s", out="r")
    region = region_of(model, draft.patch("writes Reshape again", [reshape]))
    assert {node.scope for node in region.nodes} == {f"If_0/{branch}"}
    assert {value.name for value in region.inputs} == {"v", "a" if branch == "then_branch" else "b"}


def test_a_sparse_tensor_of_a_body_is_left(tmp_path: Path) -> None:
    """In the main graph, it would replace the tensor with the same name."""
    proto, _ = loaded(tmp_path, BRANCHES)
    for graph, number in ((proto.graph, 1.0), (proto.graph.node[0].attribute[0].g, 2.0)):
        graph.sparse_initializer.append(_sparse("w", number))
        graph.node.append(helper.make_node("Neg", ["w"], [f"unused{number:.0f}"]))
    onnx.save(proto, tmp_path / "model.onnx")
    model = load(tmp_path / "model.onnx")
    inner = node_of(model, "Neg", "")
    by_scope = {value.uses[0][0].scope: value for value in model.graph.sparse}
    assert by_scope.keys() == {"", "If_0/then_branch"}
    _store(Draft(model, inner), model, by_scope[""])
    with pytest.raises(NotApplicable):
        _store(Draft(model, inner), model, by_scope["If_0/then_branch"])


def test_a_declared_type_is_of_the_main_graph(tmp_path: Path) -> None:
    text = f"""{HEAD} g (int64 n, bool c, float[2] x) => (float[2] z) < float[2] h >
    {{
      h = Neg (x)
      k = Cast <to = 10> (h)
      y = Loop (n, c, k) <body = b (int64 i, bool go, float16[2] h) => (bool go2, float16[2] w) {{
        go2 = Identity (go)  w = Relu (h) }}>
      z = Cast <to = 1> (y)
    }}"""
    _, model = loaded(tmp_path, text)
    assert model.graph.declared
    assert not contradictions(model.graph)


def test_a_statistic_that_leaves_a_body_keeps_its_fused_norm() -> None:
    text = """(bool c, float[2,4] x, float[4] g) => (float[2,4] y, float[2,1] m)
    { y, m = If (c) <
        then_branch = t () => (u, v) { u, v = com.microsoft.SkipLayerNormalization (x, x, g) },
        else_branch = e () => (u, v) { u = Neg (x)  v = ReduceMax <axes = [1]> (x) }
    > }"""
    model = small(text, 17)
    node = node_of(model, "SkipLayerNormalization", "If_0/then_branch")
    found = proposed("write-out-fused", Fact(node=node), model)
    reason = "an operator reads the mean or the deviation that SkipLayerNormalization returns"
    assert whole(found) == reason


def test_a_norm_that_leaves_a_body_is_fused_without_its_gain() -> None:
    text = """(bool c, float[2,4] x) => (float[2,4] y, float[2,4] z)
    < float[4] g = {1, 2, 3, 4}, float e = {1e-5} >
    { y, z = If (c) <
        then_branch = t () => (n, s) {
            mu = ReduceMean <axes = [-1]> (x)  d = Sub (x, mu)
            q = Mul (d, d)  v = ReduceMean <axes = [-1]> (q)
            w = Add (v, e)  r = Sqrt (w)  n = Div (d, r)  s = Mul (n, g)
        },
        else_branch = e () => (n, s) { n = Neg (x)  s = Abs (x) }
    > }"""
    model = small(text, 17)
    (fact,) = Facts(model).of("normalization")
    found = proposed("fuse-norm", fact, model)
    assert isinstance(found, Patch)
    assert [node.op for node in found.remove] == ["Div"]


def test_a_quantized_tensor_that_leaves_a_body_stays_quantized() -> None:
    text = """(bool c, float[2,4] x) => (float[2,4] y, uint8[2,4] w) < float s = {0.1}, uint8 z = {100} >
    { y, w = If (c) <
        then_branch = t () => (d, q) { q = QuantizeLinear (x, s, z)  d = DequantizeLinear (q, s, z) },
        else_branch = e () => (d, q) { d = Neg (x)  q = Cast <to = 2> (x) }
    > }"""
    model = small(text)
    node = node_of(model, "QuantizeLinear", "If_0/then_branch")
    found = proposed("float-quantizers", Fact(node=node), model)
    assert (
        whole(found)
        == "the quantized tensor holds no 8-bit or 16-bit integers, or is an output of the model or a body"
    )


def test_a_scaled_query_that_leaves_a_body_stays_scaled() -> None:
    text = """(bool c, float16[1,8,16,64] q, float16[1,8,64,16] k, float16[1,8,16,64] v)
    => (float16[1,8,16,64] y, float16[1,8,16,64] w) < float16 a = {12288} >
    { y, w = If (c) <
        then_branch = t () => (o, u) {
            u = Mul (q, a)  r = MatMul (u, k)  b = Mul (r, a)  p = Softmax <axis = -1> (b)  o = MatMul (p, v)
        },
        else_branch = e () => (o, u) { o = Neg (q)  u = Abs (q) }
    > }"""
    model = small(text)
    (fact,) = Facts(model).of("attention")
    found = proposed("scale-on-query", fact, model)
    assert whole(found) == "the scaled tensor is an output of the model or of a body"
