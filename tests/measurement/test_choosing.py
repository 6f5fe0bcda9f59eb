"""Tests of operators that choose elements by value."""

# ruff: noqa: E501 - a graph, a message or a case in one line is read at once

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.inprocess import printed
from tests.measurement.test_compared import model_of
from trtlint.measurement.choosing import ChoiceCounter, ChoosingNode, ChoosingNodes, find_choices, notes
from trtlint.measurement.chosen import ChoiceShares
from trtlint.measurement.measurement import Measurement, read_measurement
from trtlint.model.load import load

TOPK = "a = MatMul (x, w) s = ReduceMax <axes = [1], keepdims = 0> (a) [top] v, i = TopK (s, two)"


@pytest.mark.parametrize(
    ("body", "outputs", "nodes", "names"),
    [
        (f"{TOPK} y = Gather (a, i)", "float[2,8] y", ("top",), ("y",)),
        (f"{TOPK} g = Gather (a, i) y = MatMul (g, w) z = Neg (a)", "float[2,8] y, float[4,8] z", ("top",), ("y",)),
        (f"{TOPK} g = Gather (a, i) [last] u, j = TopK (g, two) y = GatherElements <axis = 1> (g, j)", "float[2,2] y", ("top", "last"), ("y",)),
        (f"{TOPK} y = Neg (v)", "float[2] y", (), ()),
        (f"{TOPK} n = Shape (i) y = Cast <to = 1> (n)", "float[1] y", (), ()),
        (f"{TOPK} y = Gather (a, i) z = Identity (i)", "int64[2] z", (), ()),
        (f"{TOPK} y = Gather (a, i) z = Identity (i)", "float[2,8] y, int64[2] z", ("top",), ("y", "z")),
        (f"{TOPK} y = Neg (v)", "float[2] y, int64[2] i", ("top",), ("i",)),
        (f"{TOPK} y = Gather (a, i) [other] u, j = TopK (a, two) n = Shape (j) z = Cast <to = 1> (n)", "float[2,8] y, float[2] z", ("top",), ("y",)),
        ("y = Neg (x)", "float[4,8] y", (), ()),
    ],
)  # fmt: skip
def test_operators_that_choose(
    body: str, outputs: str, nodes: tuple[str, ...], names: tuple[str, ...], tmp_path: Path
) -> None:
    onnx.save(model_of(body, outputs), tmp_path / "m.onnx")
    graph = load(tmp_path / "m.onnx").graph
    found = find_choices(graph, 17)
    assert (tuple(each.node for each in found.fixed), found.free, found.outputs) == (nodes, (), names)
    assert bool(notes(found)) is bool(names)
    old = find_choices(graph, 10)  # GatherElements came with opset 11
    assert (old.fixed, old.free, old.outputs) == ((), nodes, names)
    assert [note.startswith("after rounding") for note in notes(old)] == [True] * bool(names)


CHOICES = ChoosingNodes((ChoosingNode("top", "i", 0), ChoosingNode("nms", "n")))


def test_shares_of_equal_choices() -> None:
    counter = ChoiceCounter(CHOICES)
    right = {"i": np.array([[3, 0], [1, 2]]), "n": np.array([[0, 0, 5], [0, 1, 2]])}
    counter.add(right, {"i": np.array([[3, 2], [0, 0]]), "n": np.array([[0, 1, 2], [0, 0, 5], [0, 0, 6]])})
    assert counter.shares() == (ChoiceShares("top", 3 / 4, 1 / 4), ChoiceShares("nms", 2 / 3, 0))
    counter.add(right, right)
    assert counter.shares()[0] == ChoiceShares("top", 7 / 8, 5 / 8)
    assert counter.shares()[1].elements == 4 / 5


def test_no_choice_has_no_share() -> None:
    counter = ChoiceCounter(CHOICES)
    nothing = {"n": np.zeros((0, 3), np.int64), "i": np.zeros((0, 2), np.int64)}
    counter.add(nothing, nothing)
    assert counter.shares() == ()


@pytest.mark.parametrize("swapped", [False, True])
def test_choices_in_one_of_the_types_only(swapped: bool) -> None:
    counter = ChoiceCounter(CHOICES)
    nothing = {"n": np.zeros((0, 3), np.int64), "i": np.zeros((0, 2), np.int64)}
    some = {"n": np.array([[0, 0, 1]]), "i": np.array([[0, 1]])}
    counter.add(*((some, nothing) if swapped else (nothing, some)))
    assert counter.shares() == (ChoiceShares("top", 0, 0), ChoiceShares("nms", 0, 0))


def test_notes_name_the_type_of_each_share() -> None:
    changed = {"FP16": ChoiceShares("top", 1, 0.5), "BF16": None, "TF32": ChoiceShares("nms", 0.5, 0)}
    (note,) = notes(CHOICES, changed)
    assert "In FP16, top itself would choose 100 %" in note
    assert "In TF32, nms itself would choose 50 %" in note
    assert "BF16" not in note


# The scores are so close that FP16 chooses another order, as at the end of a detector:
# https://github.com/Intellindust-AI-Lab/DEIMv2
CLOSE = """s = ReduceSum <keepdims = 0> (x, axes) t = Mul (s, small) u = Add (t, one)
[top] v, i = TopK (u, k) y = Gather (x, i) z = Mul (v, one)"""
HEAD = """< ir_version: 8, opset_import: ["" : 17] > g (float[64,8] x) => (float[64,8] y, float[64] z)
< int64[1] axes = {1}, float small = {0.00001}, float one = {1}, int64[1] k = {64} >"""
WORDS = (
    "the simulation uses the elements that they choose in FP32. "
    "In FP16, top itself would choose 100 % of these elements"
)


def close(folder: Path) -> None:
    """Write a model whose scores are almost equal, and one batch of inputs."""
    onnx.save(onnx.parser.parse_model(f"{HEAD} {{ {CLOSE} }}"), folder / "m.onnx")
    np.savez(folder / "b.npz", x=np.random.default_rng(0).normal(size=(64, 8)).astype(np.float32))


def measured(folder: Path, *options: str) -> tuple[Measurement, str]:
    """Return the measurement of the model with the inputs, and the report."""
    words = printed(folder, "measure", "m.onnx", "--inputs", "b.npz", "-o", "m.json", *options).out
    return read_measurement(folder / "m.json"), " ".join(words.split())


def test_a_measurement_compares_the_elements_that_fp32_chooses(tmp_path: Path) -> None:
    close(tmp_path)
    found, words = measured(tmp_path)
    assert found.verdict == "fine"
    assert "FP16: fine, except for the order of the elements that top chooses" in words
    assert WORDS.lower() in words.lower()
    (choice,) = found.choices
    assert (choice.node, choice.elements, choice.positions < 0.5) == ("top", 1, True)
    assert json.loads((tmp_path / "m.json").read_text())["choices"][0]["elements"] == 1


def test_another_choice_is_not_fine(tmp_path: Path) -> None:
    close(tmp_path)
    half = HEAD.replace("k = {64}", "k = {32}").replace(
        "float[64,8] y, float[64] z", "float[32,8] y, float[32] z"
    )
    onnx.save(onnx.parser.parse_model(f"{half} {{ {CLOSE} }}"), tmp_path / "m.onnx")
    shown = printed(tmp_path, "measure", "m.onnx", "--inputs", "b.npz", "-o", "m.json")
    found = read_measurement(tmp_path / "m.json")
    assert (shown.code, found.verdict, found.verdict_on_errors, found.good) == (1, "depends", "fine", False)
    assert found.choices[0].elements < 1
    words = " ".join(shown.out.split())
    assert (
        "FP16: depends on the elements that top chooses: with the elements chosen in FP32, the errors are under"
        in words
    )


def test_the_choices_of_every_type(tmp_path: Path) -> None:
    close(tmp_path)
    _, words = measured(tmp_path, "--type", "all")
    assert WORDS.lower() in words.lower()
    assert "In BF16, top itself would choose 100 % of these elements" in words


def test_a_choice_that_rounding_does_not_change(tmp_path: Path) -> None:
    close(tmp_path)
    np.savez(tmp_path / "b.npz", x=np.repeat(np.arange(64, dtype=np.float32)[:, None] * 100, 8, 1))
    found, words = measured(tmp_path)
    assert found.choices == (ChoiceShares("top", 1, 1),)
    assert "FP16: fine output" in words


def test_a_conversion_compares_the_elements_that_fp32_chooses(tmp_path: Path) -> None:
    body = f"h = MatMul (x, w) {CLOSE.replace('(x, axes)', '(h, axes)')}"
    head = HEAD.replace("(float[64,8] x)", "(float[64,8] x, float[8,8] w)")
    onnx.save(onnx.parser.parse_model(f"{head} {{ {body} }}"), tmp_path / "m.onnx")
    random = np.random.default_rng(0)
    x, w = (random.normal(size=size).astype(np.float32) for size in ((64, 8), (8, 8)))
    np.savez(tmp_path / "b.npz", x=x, w=w)
    shown = printed(tmp_path, "convert", "m.onnx", "--to", "fp16", "--inputs", "b.npz")
    words = " ".join(shown.out.split())
    assert shown.code == 1
    assert "100.0% of the FLOPs" in words
    assert "rehearsal: unproven: the largest error of any output is 0.000" in words
    assert "top itself would choose 100 % of these elements" in words
    assert "these operators choose elements by value: top" in words


def test_boxes_that_non_max_suppression_chooses(tmp_path: Path) -> None:
    boxes = """g (float[1,6,4] b, float[1,1,6] c) => (float[N,3,4] y)
< int64[1] n = {6}, float t = {0.5}, float s = {0.1} > { d = Mul (b, s) e = Mul (c, s)
[nms] i = NonMaxSuppression (d, e, n, t) y = Gather <axis = 1> (d, i) }"""
    head = '< ir_version: 8, opset_import: ["" : 17] >'
    boxes = boxes.replace("float[N,3,4] y", "float[1,N,3,4] y")
    onnx.save(onnx.parser.parse_model(f"{head} {boxes}"), tmp_path / "m.onnx")
    corners = np.arange(6, dtype=np.float32)[:, None] + np.array([0, 0, 0.9, 0.9], np.float32)
    scores = np.float32(1) + np.arange(6, dtype=np.float32) * np.float32(1e-5)
    np.savez(tmp_path / "b.npz", b=corners[None], c=scores[None, None])
    found, words = measured(tmp_path)
    (choice,) = found.choices
    assert (choice.node, choice.elements, choice.positions < 1) == ("nms", 1, True)
    assert "fine, except for the order of the elements that nms chooses" in words
