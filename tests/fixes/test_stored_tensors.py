"""Tests of rewrites on stored tensors: tables, expanded rows, slopes, dequantized weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tests.fixes.fixing import assert_same, fixed, ops

HEAD = '< ir_version: 9, opset_import: ["" : 19] >'
RTX = ("--rtx", "1.7", "--gpu", "L4", "--verify")
RNG = np.random.default_rng(11)


def model_of(body: str, **stored: Any) -> onnx.ModelProto:
    """Return a model with stored tensors."""
    model = onnx.parser.parse_model(f"{HEAD} {body}")
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in stored.items())
    return model


def normal(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Return random numbers."""
    return RNG.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_table_is_cast_in_place_of_its_rows(axis: int, tmp_path: Path) -> None:
    size = "4,2,1024" if axis == 0 else "1024,4,2"
    body = f"""g (int64[4,2] i) => (float16[{size}] y)
    {{ e = Gather <axis = {axis}> (w, i)  y = Cast <to = 10> (e) }}"""
    before, after = fixed(tmp_path, model_of(body, w=normal(1024, 1024)), *RTX)
    assert ops(after) == ["Cast", "Gather"]
    assert_same(before, after, {"i": RNG.integers(0, 1024, (4, 2))}, rtol=0)


EXPANDED = "g (float[1024,1024] x) => (float[1024,1024] y) { %s }"


@pytest.mark.parametrize("expand", ["Expand (row, shape)", "Tile (row, repeats)"], ids=["Expand", "Tile"])
def test_an_expanded_row_is_left_to_broadcasting(expand: str, tmp_path: Path) -> None:
    body = EXPANDED % f"e = {expand}  m = Where (b, x, e)  y = Sub (m, e)"
    sizes = {"shape": np.array([1024, 1024]), "repeats": np.array([1024, 1])}
    model = model_of(body, row=normal(1, 1024), b=RNG.integers(0, 2, (1024, 1024)).astype(bool), **sizes)
    before, after = fixed(tmp_path, model, *RTX[:-1])  # what follows is all that a proof would do
    assert ops(after) == ["Where", "Sub"]
    assert_same(before, after, {"x": normal(1024, 1024)}, rtol=0)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (
            EXPANDED % "e = Expand (row, shape)  y = MatMul (x, e)",
            "MatMul reads the expanded tensor, and this operator does not broadcast",
        ),
        (
            EXPANDED.replace("[1024,1024] x", "[1,1024] x") % "e = Expand (row, shape)  y = Add (x, e)",
            "without Expand, the result of Add would have another shape",
        ),
        (
            EXPANDED.replace("y)", "y, float[1024,1024] e)") % "e = Expand (row, shape)  y = Add (x, e)",
            "the expanded tensor is an output",
        ),
        (EXPANDED % "e = Tile (half, twice)  y = Add (x, e)", "repeats a dimension whose size is not 1"),
    ],
)
def test_what_does_not_broadcast_is_left(
    body: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = {"shape": np.array([1024, 1024]), "twice": np.array([1024, 2])}
    _, after = fixed(tmp_path, model_of(body, row=normal(1, 1024), half=normal(1, 512), **sizes), *RTX)
    assert after is None
    assert why in capsys.readouterr().out


@pytest.mark.parametrize("slope", [(3, 1, 1), (1,), (1, 3, 1, 1)])
def test_a_prelu_is_the_same_to_the_last_bit(slope: tuple[int, ...], tmp_path: Path) -> None:
    body = "g (float[1,2,4,4] x) => (float[1,3,4,4] y) { c = Conv (x, w)  y = PRelu (c, a) }"
    before, after = fixed(tmp_path, model_of(body, w=normal(3, 2, 1, 1), a=normal(*slope)), *RTX)
    assert sorted(ops(after)) == ["Add", "Conv", "Max", "Min", "Mul"]
    assert_same(before, after, {"x": normal(1, 2, 4, 4)}, rtol=0)


def test_a_slope_that_is_not_finite_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Infinity times zero is NaN, but PRelu returns its input there."""
    body = "g (float[1,2,4,4] x) => (float[1,3,4,4] y) { c = Conv (x, w)  y = PRelu (c, a) }"
    slope = np.array([np.inf], np.float32)
    _, after = fixed(tmp_path, model_of(body, w=normal(3, 2, 1, 1), a=slope), *RTX)
    assert after is None
    assert "infinity or NaN" in capsys.readouterr().out


WEIGHT = "g (float[1,2,4,4] x) => (float[1,3,4,4] y) {{ {} y = Conv (x, d) }}"
STORED = "d = DequantizeLinear <axis = 0> (w, s, z)"


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_a_dequantized_weight_is_stored(kind: type[np.generic], tmp_path: Path) -> None:
    weight = RNG.integers(0, 120, (3, 2, 1, 1)).astype(kind)
    scale, zero = np.array([0.1, 0.02, 3], np.float32), np.zeros(3, kind)
    model = model_of(WEIGHT.format(STORED), w=weight, s=scale, z=zero)
    before, after = fixed(tmp_path, model, "--select", "QNT103", *RTX)
    assert ops(after) == ["Conv"]
    assert_same(before, after, {"x": normal(1, 2, 4, 4)}, rtol=0)


def test_a_weight_that_is_quantized_in_the_graph_is_stored_as_it_is_read(tmp_path: Path) -> None:
    body = WEIGHT.format(f"q = QuantizeLinear <axis = 0> (f, s, z)  {STORED.replace('(w', '(q')}")
    stored = {"f": normal(3, 2, 1, 1), "s": np.array([0.1, 0.02, 3], np.float32), "z": np.zeros(3, np.int8)}
    before, after = fixed(tmp_path, model_of(body, **stored), "--select", "QNT103", *RTX)
    assert ops(after) == ["Conv"]
    assert_same(before, after, {"x": normal(1, 2, 4, 4)}, rtol=0)


def test_a_weight_that_something_else_reads_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = WEIGHT.format(f"{STORED} n = Neg (d)").replace(
        "float[1,3,4,4] y", "float[1,3,4,4] y, float[A,B,C,D] n"
    )
    weight, scale = RNG.integers(-9, 9, (3, 2, 1, 1)).astype(np.int8), np.ones(3, np.float32)
    model = model_of(body, w=weight, s=scale, z=np.zeros(3, np.int8))
    _, after = fixed(tmp_path, model, "--select", "QNT103", *RTX)
    assert after is None
    assert "another operator also reads the dequantized weight" in capsys.readouterr().out
