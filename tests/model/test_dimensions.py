"""Tests of stored dimensions below 1: negative sizes, zeros and empty names."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from trtlint.measurement.trialmodel import load_trial_model
from trtlint.model.dimensions import clean_bodies, clean_dimensions
from trtlint.model.load import Model, load

Dim = int | str | None


def typed(name: str, dims: list[Dim]) -> onnx.ValueInfoProto:
    """Return a tensor with these stored dimensions; None stores nothing."""
    info = helper.make_tensor_value_info(name, TensorProto.FLOAT, [1] * len(dims))
    for dim, stored in zip(info.type.tensor_type.shape.dim, dims, strict=True):
        dim.Clear()
        if isinstance(stored, str):
            dim.dim_param = stored
        elif stored is not None:
            dim.dim_value = stored
    return info


def saved(
    folder: Path, x: list[Dim], node: onnx.NodeProto, *, y: list[Dim] | None = None, **between: list[Dim]
) -> Path:
    """Save a file with one operator after the input ``x``."""
    output = typed("y", y) if y else helper.make_value_info("y", onnx.TypeProto())
    nodes = [node, helper.make_node("Relu", ["h"], ["y"])]
    infos = [typed(name, dims) for name, dims in between.items()]
    graph = helper.make_graph(nodes, "g", [typed("x", x)], [output], value_info=infos)
    imports = [helper.make_opsetid("", 13), helper.make_opsetid("own", 1)]
    path = folder / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)
    return path


def pool(size: int = 2) -> onnx.NodeProto:
    return helper.make_node("MaxPool", ["x"], ["h"], kernel_shape=[size, size])


def shape(model: Model, name: str) -> tuple[Dim, ...] | None:
    value = model.graph.resolve(name)
    return None if value is None else value.shape


@pytest.mark.parametrize("stored", [-1, -7])
def test_a_negative_size_is_unknown(stored: int, tmp_path: Path) -> None:
    path = saved(tmp_path, [stored, 3, stored, 9], pool())
    model = load(path)
    assert shape(model, "x") == (None, 3, None, 9)
    assert shape(model, "h") == (None, 3, None, 8)
    assert any(
        "negative input dimensions as dynamic" in note and "x[0], x[2]" in note for note in model.notes
    )
    assert load_trial_model(path).graph.inputs[0].shape == (None, 3, None, 9)


def test_a_zero_of_an_input_is_an_empty_tensor(tmp_path: Path) -> None:
    model = load(saved(tmp_path, [0, 3, 8, 8], pool()))
    assert shape(model, "x") == (0, 3, 8, 8)
    assert shape(model, "h") == (0, 3, 7, 7)
    assert any("empty tensor" in note and "x[0]" in note for note in model.notes)


def test_an_empty_name_is_told(tmp_path: Path) -> None:
    model = load(saved(tmp_path, ["", 3, 8, 8], pool()))
    assert shape(model, "h") == (None, 3, 7, 7)
    assert any("empty name" in note and "x[0]" in note for note in model.notes)


@pytest.mark.parametrize("first", [None, "batch", 4])
def test_other_dimensions_have_no_note(first: Dim, tmp_path: Path) -> None:
    assert not load(saved(tmp_path, [first, 3, 8, 8], pool())).notes


@pytest.mark.parametrize("stored", [-1, 0])
def test_a_size_below_1_between_operators_is_unknown(stored: int, tmp_path: Path) -> None:
    """TensorRT reads declared shapes of inputs only."""
    unknown = helper.make_node("Unknown", ["x"], ["h"], domain="own")
    model = load(saved(tmp_path, ["n", 3], unknown, y=[stored, 3], h=[stored, 3]))
    assert shape(model, "h") == (None, 3)
    assert shape(model, "y") == (None, 3)


def test_a_zero_that_operators_compute_stays(tmp_path: Path) -> None:
    none = helper.make_node("Slice", ["x", "zero", "zero"], ["h"])
    path = saved(tmp_path, [4, 3], none, y=[0, 3], h=[0, 3])
    proto = onnx.load(path)
    proto.graph.initializer.append(helper.make_tensor("zero", TensorProto.INT64, [1], [0]))
    onnx.save(proto, path)
    assert shape(load(path), "h") == (0, 3)


def test_the_declared_size_of_a_body_is_no_premise(tmp_path: Path) -> None:
    proto = onnx.parser.parse_model("""
        < ir_version: 8, opset_import: ["" : 17] >
        g (int64 n, bool c, float[4,3] x) => (y) {
          y = Loop (n, c, x) <body = b (int64 i, bool go, float[4,3] u) => (bool go2, float[4,3] v) {
            go2 = Identity (go)  v = Relu (u) }>
        }""")
    body = proto.graph.node[0].attribute[0].g
    for info in (body.input[2], body.output[1]):
        info.type.tensor_type.shape.dim[0].dim_value = -1
        info.type.tensor_type.shape.dim[1].dim_value = 0
    path = tmp_path / "model.onnx"
    onnx.save(proto, path)
    (relu,) = load(path).graph.by_op("Relu")
    assert relu.output.shape == (None, None)


def test_a_note_names_four_dimensions_and_no_stored_tensor() -> None:
    graph = helper.make_graph([], "g", [typed("x", [-1] * 6), typed("w", [-1])], [])
    graph.initializer.append(helper.make_tensor("w", TensorProto.FLOAT, [1], [1.0]))
    (note,) = clean_dimensions(graph)[1]
    assert note.endswith("x[0], x[1], x[2], x[3] and 2 more")


def test_a_size_that_is_cleared_in_a_body_of_a_body_counts() -> None:
    inner = helper.make_graph([], "inner", [], [typed("y", [-1])])
    outer = helper.make_graph([helper.make_node("If", ["c"], ["y"], then_branch=inner)], "outer", [], [])
    graph = helper.make_graph([helper.make_node("If", ["c"], ["y"], then_branch=outer)], "g", [], [])
    assert clean_bodies(graph)
    assert not clean_bodies(graph)


@pytest.mark.parametrize(
    ("dims", "in_input", "elsewhere"),
    [
        ([2, 1], [2, 1], [2, 1]),
        ([0, 3], [0, 3], [None, 3]),
        ([-1, 0, 1], [None, 0, 1], [None, None, 1]),
        (["n", None, ""], ["n", None, ""], ["n", None, ""]),
        ([], [], []),
    ],
)
def test_dimensions_that_stay(dims: list[Dim], in_input: list[Dim], elsewhere: list[Dim]) -> None:
    graph = helper.make_graph(
        [], "g", [typed("x", dims)], [typed("y", dims)], value_info=[typed("z", [3]), typed("h", dims)]
    )
    expected = helper.make_graph(
        [], "g", [typed("x", in_input)], [typed("y", elsewhere)],
        value_info=[typed("z", [3]), typed("h", elsewhere)],
    )  # fmt: skip
    assert clean_dimensions(graph)[0] is (elsewhere != dims)
    assert graph == expected
    body = helper.make_graph([], "b", [typed("x", dims)], [typed("y", dims)], value_info=[typed("h", dims)])
    inside = [typed(name, elsewhere) for name in "xyh"]
    node = helper.make_node("If", ["c"], ["y"], then_branch=body)
    whole = helper.make_graph([node], "g", [], [])
    assert clean_bodies(whole) is (elsewhere != dims)
    body = whole.node[0].attribute[0].g
    assert [*body.input, *body.output, *body.value_info] == inside


def test_notes_on_input_dimensions() -> None:
    """Each kind has one note, in the order of the first dimension of that kind."""
    graph = helper.make_graph([], "g", [typed("a", [3, 0, ""]), typed("b", [-1, "n", None, 0])], [])
    assert clean_dimensions(graph) == (
        True,
        [
            "for trtlint and TensorRT, an input with a dimension of 0 is an empty tensor; if the dimension "
            "should be dynamic, give it a name: a[1], b[3]",
            "for input dimensions with an empty name, TensorRT uses 0, but trtlint assumes an unknown size: "
            "a[2]",
            "trtlint and TensorRT treat negative input dimensions as dynamic: b[0]",
        ],
    )
    assert clean_dimensions(helper.make_graph([], "g", [typed("a", [3, "n"])], [])) == (False, [])
