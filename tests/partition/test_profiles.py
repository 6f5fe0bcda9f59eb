"""Tests of inputs whose values are a shape."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from trtlint.model.load import load
from trtlint.partition import predict
from trtlint.partition.predict import shape_input, shape_input_words


def named(folder: Path, body: str, *parts: tuple[int, ...], inputs: str = "") -> str:
    """Return the shape inputs in some parts of a model (without parts: in the whole model)."""
    given = inputs or "float[4,4] x, int64[2] p, int64[2] q"
    text = f"g ({given}) => (float[a,b] y) < int64[2] w = {{1, 1}} > {{ {body} }}"
    path = folder / "m.onnx"
    onnx.save(onnx.parser.parse_model(f'< ir_version: 8, opset_import: ["" : 17, "my" : 1] > {text}'), path)
    graph = load(path).graph
    whole = tuple(range(len(graph.nodes)))
    nodes = [[graph.nodes[place] for place in part] for part in parts or (whole,)]
    return shape_input(graph.inputs, nodes)


@pytest.mark.parametrize(
    ("node", "name"),
    [
        ("y = ConstantOfShape (p)", "p"),
        ("y = Expand (x, p)", "p"),
        ("y = Expand (p, x)", "x"),
        ("y = Pad (x, p)", "p"),
        ("y = Pad (x, w, p)", ""),
        ("y = Reshape (x, p)", "p"),
        ("y = Resize (x, , , p)", "p"),
        ("y = Resize (x, , p)", "p"),
        ("y = Resize (x, p, , w)", ""),
        ("y = Slice (x, p, w)", "p"),
        ("y = Slice (x, w, p)", "p"),
        ("y = Slice (x, w, w, p)", "p"),
        ("y = Slice (x, w, w, w, p)", "p"),
        ("y = Slice (x, w, w, w, w)", ""),
        ("y, z = Split (x, p)", "p"),
        ("y = Tile (x, p)", "p"),
        ("y, i = TopK (x, p)", "p"),
        ("y = Reshape (x, w)", ""),
        ("y = my.Reshape (x, p)", ""),
        ("y = Add (x, p)", ""),
        ("a = Reshape (x, w) b = Reshape (x, q) y = Reshape (b, p)", "q"),
    ],
)
def test_operands_that_are_a_shape(node: str, name: str, tmp_path: Path) -> None:
    assert named(tmp_path, node) == name


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("a = Cast <to = 7> (p) b = Identity (a) y = Reshape (x, b)", "p"),
        ("a = Concat <axis = 0> (w, q, p) y = Reshape (x, a)", "q"),
        ("a = Concat <axis = 0> (w, w) y = Reshape (x, a)", ""),
        ("a = Squeeze (p, q) y = Reshape (x, a)", "p"),
        ("a = Squeeze (w, q) y = Reshape (x, a)", ""),
        ("a = Add (p, q) y = Reshape (x, a)", ""),
        ("a = Shape (x) y = Reshape (x, a)", ""),
    ],
)
def test_operators_that_pass_a_shape_on(body: str, name: str, tmp_path: Path) -> None:
    assert named(tmp_path, body) == name


def test_a_long_chain_is_followed_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = "a = Identity (p) b = Identity (a) y = Reshape (x, b)"
    monkeypatch.setattr(predict, "_DEEPEST", 2)
    assert named(tmp_path, body) == "p"
    monkeypatch.setattr(predict, "_DEEPEST", 1)
    assert named(tmp_path, body) == ""


def test_values_of_other_parts_are_no_inputs(tmp_path: Path) -> None:
    body = "a = Identity (p) y = Reshape (x, a) b = Reshape (x, q)"
    assert named(tmp_path, body, (0,), (1,)) == ""
    assert named(tmp_path, body, (0, 1)) == "p"
    assert named(tmp_path, body, (0,), (2,), (1,)) == "q"
    assert named(tmp_path, body, (2,), (0, 1)) == "q"


@pytest.mark.parametrize(
    ("inputs", "name"),
    [
        ("float[4,4] x, int64[2] p, int64[2] q", "p"),
        ("float[n,4] x, int64[2] p, int64[2] q", "q"),
        ("float[4,4] x, int64[k] p, int64[2] q", "q"),
        ("float[4,4] x, int64[2] p, int64[k] q", "p"),
        ("float[n,4] x, int64[2] p, int64[k] q", ""),
    ],
)
def test_parts_with_dynamic_inputs_get_a_profile(inputs: str, name: str, tmp_path: Path) -> None:
    body = "a = Reshape (x, p) b = ConstantOfShape (q) y = Mul (b, b)"
    assert named(tmp_path, body, (0,), (1, 2), inputs=inputs) == name


def test_values_of_other_graphs_are_no_inputs_of_the_model(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    text = "g (float[4] x, int64[1] p) => (float[a] y) { y = Reshape (x, p) }"
    onnx.save(onnx.parser.parse_model(f'< ir_version: 8, opset_import: ["" : 17] > {text}'), path)
    graph = load(path).graph
    assert shape_input(graph.inputs, [graph.nodes]) == "p"
    assert shape_input(graph.inputs[:1], [graph.nodes]) == ""


def test_words() -> None:
    assert shape_input_words("") == ""
    assert shape_input_words("p") == (
        "the model uses the values of input p as a shape; give nv_profile_min_shapes, "
        "nv_profile_opt_shapes and nv_profile_max_shapes"
    )
