"""Tests of normalization before a comparison of two models."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto

from trtlint.compare.alike import ModelPair, RandomError, alike
from trtlint.model.widening import FP32, FP64

RANDOM = "r = RandomNormal <shape = [2]> ()"
TEXT = """< ir_version: 8, opset_import: ["" : 17] >
g (bool c, float[2] x) => (float[2] y) {
  y = If (c) <
    then_branch = t () => (float[2] v) { %s  v = Add (x, r) },
    else_branch = e () => (float[2] v) { %s  v = Sub (x, r) }
  >
}"""


def test_draws_of_two_bodies_under_one_name_are_two(tmp_path: Path) -> None:
    before, after = tmp_path / "before.onnx", tmp_path / "after.onnx"
    onnx.save(onnx.parser.parse_model(TEXT % (RANDOM, RANDOM)), before)
    onnx.save(onnx.parser.parse_model(TEXT % (RANDOM, "r = Neg (x)")), after)
    with pytest.raises(RandomError):
        alike(before, after, tmp_path)


def test_operators_of_other_domains_draw_no_random_numbers(tmp_path: Path) -> None:
    for domain, random in (("my.", False), ("", True)):
        path, folder = tmp_path / f"{random}.onnx", tmp_path / f"copies-{random}"
        folder.mkdir()
        text = (
            '< ir_version: 8, opset_import: ["" : 17, "my" : 1] > g (float[2] x) => (float[2] y) '
            f"{{ r = {domain}RandomNormalLike (x) y = Add (x, r) }}"
        )
        onnx.save(onnx.parser.parse_model(text), path)
        found = alike(path, path, folder)
        assert found.random is random
        assert (found.before == path) is not random


def model(path: Path, body: str, ir_version: int = 8) -> Path:
    text = f'< ir_version: {ir_version}, opset_import: ["" : 17] > g (float[2] x) => (float[2] y)'
    onnx.save(onnx.parser.parse_model(f"{text} < bool on = {{1}}, float half = {{0.5}} > {{ {body} }}"), path)
    return path


@pytest.mark.parametrize(
    ("versions", "written"),
    [((10, 10), None), ((8, 9), None), ((11, 8), (10, 8)), ((8, 11), (8, 10)), ((12, 11), (10, 10))],
)
def test_newer_files_are_copied_with_an_older_version(
    tmp_path: Path, versions: tuple[int, int], written: tuple[int, int] | None
) -> None:
    before, after = (
        model(tmp_path / f"{index}.onnx", "y = Neg (x)", version) for index, version in enumerate(versions)
    )
    found = alike(before, after, tmp_path)
    if written is None:
        assert found == ModelPair(before, after, random=False)
    else:
        assert found == ModelPair(tmp_path / "before.onnx", tmp_path / "after.onnx", random=False)
        assert (onnx.load(found.before).ir_version, onnx.load(found.after).ir_version) == written


def test_both_models_draw_the_same_numbers(tmp_path: Path) -> None:
    before = model(tmp_path / "1.onnx", "r = RandomNormalLike (x) s = RandomUniformLike (x) y = Add (r, s)")
    after = model(tmp_path / "2.onnx", "s = RandomUniformLike (x) r = RandomNormalLike (x) y = Add (s, r)")
    found = alike(before, after, tmp_path)
    assert found.random
    seeds = [
        {node.output[0]: node.attribute[0].f for node in onnx.load(path).graph.node if node.attribute}
        for path in (found.before, found.after)
    ]
    assert seeds[0] == seeds[1]
    assert set(seeds[0]) == {"r", "s"}
    assert seeds[0]["r"] != seeds[0]["s"]
    assert all(0 <= seed < 10_000 for seed in seeds[0].values())


@pytest.mark.parametrize(
    ("call", "random", "copied"),
    [
        ("RandomNormalLike (x)", True, True),
        ("RandomNormalLike <seed = 3.0> (x)", True, False),
        ("Dropout (x, half, on)", True, True),
        ("Dropout <seed = 3> (x, half, on)", True, False),
        ('Dropout (x, half, "")', False, False),
        ("Dropout (x, half)", False, False),
        ("Neg (x)", False, False),
    ],
)
def test_operators_that_draw_random_numbers(tmp_path: Path, call: str, random: bool, copied: bool) -> None:
    path = model(tmp_path / "model.onnx", f"r = {call} y = Abs (r)")
    found = alike(path, path, tmp_path)
    assert (found.random, found.before != path) == (random, copied)


def test_wider_types_are_written_to_copies(tmp_path: Path) -> None:
    path = model(tmp_path / "model.onnx", "y = Mul (x, half)")
    for types, element in ((FP32, TensorProto.FLOAT), (FP64, TensorProto.DOUBLE), (FP64, TensorProto.DOUBLE)):
        found = alike(path, path, tmp_path, types)
        assert found == ModelPair(tmp_path / "before.onnx", tmp_path / "after.onnx", random=False)
        for copy in (found.before, found.after):
            assert onnx.load(copy).graph.input[0].type.tensor_type.elem_type == element


def test_dropout_gets_an_integer_seed(tmp_path: Path) -> None:
    path = model(tmp_path / "model.onnx", "r = Dropout (x, half, on) y = Abs (r)")
    (node, _) = onnx.load(alike(path, path, tmp_path).before).graph.node
    (seed,) = node.attribute
    assert seed.type == onnx.AttributeProto.INT
