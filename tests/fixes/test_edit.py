"""Tests of patches applied to the structure of a model."""

from __future__ import annotations

import onnx
import pytest

from tests.graphs import model_of
from trtlint.fixes.edit import EditError, apply
from trtlint.fixes.patch import Patch

HEAD = '< ir_version: 8, opset_import: ["" : 17] >'
CHAIN = f"""{HEAD} g (float[4] x) => (float[4] y, float[4] u)
< float[4] a, float[4] b, float[4] c, float[4] d >
{{ a = Abs (x)  b = Neg (a)  c = Exp (b)  y = Relu (c)  d = Abs (x)  u = Exp (d) }}"""


def edited(text: str, removed: str, *insert: onnx.NodeProto, **options: object) -> onnx.ModelProto:
    """Return a model with other operators in place of the first one of a type."""
    model = model_of(text)
    node = next(iter(model.graph.by_op(removed)))
    patch = Patch("p", (node,), insert, **options)  # type: ignore[arg-type]
    return apply(onnx.parser.parse_model(text), model.graph, [patch])


def declared(model: onnx.ModelProto) -> list[str]:
    return [info.name for info in model.graph.value_info]


def ops(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def test_what_only_removed_nodes_read_goes_with_its_declared_types() -> None:
    after = edited(CHAIN, "Relu", onnx.helper.make_node("Sin", ["x"], ["y"]))
    assert ops(after) == ["Sin", "Abs", "Exp"]
    assert declared(after) == ["d"]


def test_the_declared_type_of_a_value_with_another_type_goes() -> None:
    after = edited(CHAIN, "Neg", onnx.helper.make_node("Sin", ["a"], ["b"]), retyped=("b", "c"))
    assert ops(after) == ["Abs", "Sin", "Exp", "Relu", "Abs", "Exp"]
    assert declared(after) == ["a", "d"]


def test_what_was_unused_before_stays() -> None:
    text = CHAIN.replace("u = Exp (d)", "u = Exp (d)  unused = Sin (x)")
    after = edited(text, "Relu", onnx.helper.make_node("Sin", ["c"], ["y"]))
    assert ops(after)[-1] == "Sin"
    assert after.graph.node[-1].output == ["unused"]


def test_inserted_nodes_are_put_into_topological_order() -> None:
    first = onnx.helper.make_node("Sin", ["t"], ["c"])
    second = onnx.helper.make_node("Cos", ["b"], ["t"])
    after = edited(CHAIN, "Exp", first, second)
    assert ops(after) == ["Abs", "Neg", "Cos", "Sin", "Relu", "Abs", "Exp"]


def test_a_cycle_is_refused() -> None:
    with pytest.raises(EditError, match="cycle"):
        edited(CHAIN, "Neg", onnx.helper.make_node("Sin", ["c"], ["b"]))


@pytest.mark.parametrize(("body", "opset"), [("y = Relu (x)", 20), ("y = ReduceSum (x, i)", 20)])
def test_the_opset_is_raised_for_an_inserted_node(body: str, opset: int) -> None:
    text = f"{HEAD} g (float[4] x, int64[1] i) => (float[4] y) {{ k = Neg (x)  {body.replace('x', 'k')} }}"
    after = edited(text, "Neg", onnx.helper.make_node("Gelu", ["x"], ["k"]), opset=opset)
    assert [each.version for each in after.opset_import] == [opset]


def test_the_opset_is_not_raised_where_another_operator_changes_by_it() -> None:
    text = f"{HEAD} g (float[4] x, int64[1] i) => (float[4] y) {{ k = Neg (x)  y = ReduceMax (k) }}"
    with pytest.raises(EditError, match=r"needs opset 20, in which ReduceMax has another"):
        edited(text, "Neg", onnx.helper.make_node("Gelu", ["x"], ["k"]), opset=20)


def test_operators_that_cannot_be_identified_are_not_edited() -> None:
    text = f"{HEAD} g (float[4] x) => (float[4] y) {{ a = Abs (x)  y = Neg (a) }}"
    model = model_of(text)
    first, second = model.graph.nodes
    proto = onnx.parser.parse_model(text)
    both = [Patch("p", (first,), ()), Patch("q", (first, second), ())]
    with pytest.raises(EditError, match="two rewrites remove the same operator"):
        apply(proto, model.graph, both)
    del first.proto.output[:]
    for patch in (
        Patch("p", (first,), ()),
        Patch("p", (), (), rewire=((first, 0, "x"),)),
        Patch("p", (second,), (), rewire=((first, 0, "x"),)),
    ):
        with pytest.raises(
            EditError, match="an operator without outputs; trtlint identifies operators by their outputs"
        ):
            apply(proto, model.graph, [patch])


def test_inputs_are_rewired_and_added() -> None:
    text = f"{HEAD} g (float[4] x, float[4] z) => (float[4] y) {{ a = Abs (x)  y = Clip (a) }}"
    model = model_of(text)
    clip = model.graph.nodes[1]
    patch = Patch("p", (), (), rewire=((clip, 2, "m"), (clip, 0, "z")))
    after = apply(onnx.parser.parse_model(text), model.graph, [patch])
    assert [(node.op_type, list(node.input)) for node in after.graph.node] == [("Clip", ["z", "", "m"])]


@pytest.mark.parametrize(("version", "inputs"), [(3, ["x", "c"]), (4, ["x"]), (8, ["x"])])
def test_old_files_list_stored_tensors_as_inputs(version: int, inputs: list[str]) -> None:
    text = '< ir_version: 8, opset_import: ["" : 17] > g (float[4] x) => (float[4] y) { y = Abs (x) }'
    model = model_of(text)
    proto = onnx.parser.parse_model(text)
    proto.ir_version = version
    stored = onnx.helper.make_tensor("c", onnx.TensorProto.FLOAT, [4], [1.0, 2.0, 3.0, 4.0])
    new = onnx.helper.make_node("Add", ["x", "c"], ["y"])
    after = apply(proto, model.graph, [Patch("p", (model.graph.nodes[0],), (new,), (stored,))])
    assert [info.name for info in after.graph.input] == inputs
    assert list(after.graph.initializer) == [stored]
    declared = [info for info in after.graph.input if info.name == "c"]
    assert declared == [onnx.helper.make_tensor_value_info("c", 1, [4])] * (version == 3)
