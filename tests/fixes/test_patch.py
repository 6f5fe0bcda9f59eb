"""Tests of the functions that build a patch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.graphs import model_of
from trtlint.fixes.patch import MOST_ELEMENTS, Draft, Patch, lowest, numpy_type, onnx_type
from trtlint.model.load import load


@pytest.mark.parametrize("size", [2, 1000])
def test_constants_are_written_once_and_never_for_one_another(size: int, tmp_path: Path) -> None:
    text = '< ir_version: 8, opset_import: ["" : 17] > g (float[2] x) => (float[2] y) { y = Neg (x) }'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    model = load(tmp_path / "m.onnx")
    draft = Draft(model, model.graph.nodes[0])
    ones, twos = (draft.constant(np.full(size, number, np.float32)) for number in (1, 2))
    again = draft.constant(np.ones(size, np.float32))
    tensors = {t.name: onnx.numpy_helper.to_array(t)[0] for t in draft.patch("writes", []).initializers}
    assert [tensors[name] for name in (ones, twos, again)] == [1, 2, 1]
    assert (ones == again) is (size == 2)


TEXT = """< ir_version: 8, opset_import: ["" : 17] > g (float16[2] x) => (float16[2] y)
{ [block] a = Neg (x)  [tail] y = Abs (a) }"""


def test_names_are_new_and_counted(tmp_path: Path) -> None:
    model = model_of(TEXT)
    draft = Draft(model, model.graph.nodes[0])
    assert [draft.name("Add") for _ in range(3)] == ["block/Add", "block/Add_2", "block/Add_3"]
    assert draft.name("Sub") == "block/Sub"
    taken = model_of(TEXT.replace("a =", '"block/Add" =').replace("(a)", '("block/Add")'))
    assert Draft(taken, taken.graph.nodes[0]).name("Add") == "block/Add_2"
    path = tmp_path / "named.onnx"
    proto = onnx.parser.parse_model(TEXT)
    proto.graph.node[1].name = "block/Add"
    onnx.save(proto, path)
    named = load(path)
    draft = Draft(named, named.graph.nodes[0])
    assert [draft.name("Add"), draft.name("Add")] == ["block/Add_2", "block/Add_3"]


def test_operators_are_written_as_asked() -> None:
    model = model_of(TEXT)
    node = model.graph.nodes[0]
    node.proto.metadata_props.add(key="k", value="v")
    draft = Draft(model, node)
    assert draft.op("Split", node.inputs[0], None, "z", out=("", "second"), axis=1) == "block/split"
    assert draft.op("Neg", "z", out="given", domain="other") == "given"
    again = draft.again(node, ["p"], ["q"])
    patch = draft.patch("writes", [node, node])
    split, neg, copied = patch.insert
    assert list(split.input) == ["x", "", "z"]
    assert list(split.output) == ["block/split", "second"]
    assert (split.name, split.domain, split.attribute[0].i) == ("block/Split", "", 1)
    assert (neg.name, neg.domain, list(neg.output)) == ("block/Neg", "other", ["given"])
    assert [prop.value for prop in split.metadata_props] == ["v"]
    assert copied is again
    assert (copied.name, copied.op_type, list(copied.input), list(copied.output)) == (
        "block",
        "Neg",
        ["p"],
        ["q"],
    )
    assert patch.remove == (node,)


def test_a_patch_claims_nothing_that_was_not_asked_for() -> None:
    model = model_of(TEXT)
    first, second = model.graph.nodes
    draft = Draft(model, first)
    assert draft.patch("writes", [first]) == Patch("writes", (first,), (), ())
    plain = Patch("writes", (first,), ())
    assert (plain.opset, plain.set_opset) == (0, 0)
    assert [plain.folds, plain.keeps_a_key, plain.changes_results] == [False] * 3
    settings = {
        "rewire": ((second, 0, "z"),),
        "retyped": ("a",),
        "opset": 18,
        "around": (second,),
        "folds": True,
        "keeps_a_key": True,
        "altered": ("b",),
        "changes_results": True,
        "shapes": ((first.inputs[0], (2,)),),
        "finite": ("c",),
        "holds": (("d", (0.0, 1.0)),),
    }
    patch = draft.patch("writes", [first], **settings)  # type: ignore[arg-type]
    assert {name: getattr(patch, name) for name in settings} == settings
    assert patch.touched == (first, second)
    assert draft.patch("writes", [first], rewire=((first, 0, "z"),)).touched == (first,)


def test_constants_are_shared_by_type_shape_and_bytes() -> None:
    model = model_of(TEXT)
    draft = Draft(model, model.graph.nodes[0])
    assert draft.ints(1, 2) == draft.ints(1, 2) == "block/ints"
    assert draft.ints(2, 1) == "block/ints_2"
    named = draft.constant(np.array([1, 2]), out="given")
    assert named == "given"
    assert draft.constant(np.array([[1, 2]])) == "block/constant"
    assert draft.constant(np.array([1, 2], np.int32)) == "block/constant_2"
    at_most, beyond = (np.zeros(size, np.float32) for size in (64, 65))
    assert draft.constant(at_most) == draft.constant(at_most)
    assert draft.constant(beyond) != draft.constant(beyond)
    assert MOST_ELEMENTS == 1 << 24


def test_scalars_are_of_the_type_of_a_value() -> None:
    model = model_of(TEXT)
    draft = Draft(model, model.graph.nodes[0])
    names = [draft.like(2.0, model.graph.inputs[0]), draft.like(2.0, "f64", "two")]
    assert names == ["block/constant", "block/two"]
    tensors = [onnx.numpy_helper.to_array(tensor) for tensor in draft.patch("writes", []).initializers]
    assert [(each.dtype, each.shape, float(each)) for each in tensors] == [
        (np.dtype(np.float16), (), 2.0),
        (np.dtype(np.float64), (), 2.0),
    ]
    with pytest.raises(KeyError):
        draft.like(2.0, None)


def test_types_by_their_short_names() -> None:
    assert onnx_type("f16") == onnx.TensorProto.FLOAT16
    assert onnx_type("bf16") == onnx.TensorProto.BFLOAT16
    assert numpy_type("bool") == np.dtype(bool)
    assert lowest("f32") == np.finfo(np.float32).min
    assert lowest("f16") == -65504
    assert lowest("bf16") == pytest.approx(-(2 - 2**-7) * 2.0**127)
