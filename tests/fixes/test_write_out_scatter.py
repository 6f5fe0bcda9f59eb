"""Tests of scatters with a reduction, expanded with the same results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fixes.fixing import assert_same, fixed, ops

RNG = np.random.default_rng(5)
HEAD = '< ir_version: 9, opset_import: ["" : 18] >'


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("shape", ["3,4", "N,4"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_elements(reduction: str, shape: str, axis: int, tmp_path: Path) -> None:
    text = (
        f"{HEAD} g (float[{shape}] x, int64[{shape}] i, float[{shape}] u) => (float[{shape}] y)"
        f'{{ y = ScatterElements <axis = {axis}, reduction = "{reduction}"> (x, i, u) }}'
    )
    before, after = fixed(tmp_path, text)
    assert "ScatterElements" not in ops(after)
    feeds: dict[str, np.ndarray[Any, Any]] = {
        "x": RNG.normal(size=(3, 4)).astype(np.float32),
        "i": RNG.integers(-3, 3, size=(3, 4)).astype(np.int64),
        "u": RNG.normal(size=(3, 4)).astype(np.float32),
    }
    assert_same(before, after, feeds)


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
def test_nd(reduction: str, tmp_path: Path) -> None:
    text = (
        f"{HEAD} g (float[3,4,2] x, int64[5,2] i, float[5,2] u) => (float[3,4,2] y)"
        f'{{ y = ScatterND <reduction = "{reduction}"> (x, i, u) }}'
    )
    before, after = fixed(tmp_path, text)
    assert "ScatterND" not in ops(after)
    feeds: dict[str, np.ndarray[Any, Any]] = {
        "x": RNG.normal(size=(3, 4, 2)).astype(np.float32),
        "i": np.array([[0, 1], [2, 3], [0, 1], [1, 0], [0, 1]], np.int64),
        "u": RNG.normal(size=(5, 2)).astype(np.float32),
    }
    assert_same(before, after, feeds)


@pytest.mark.parametrize(
    ("op", "indices", "updates"),
    [
        ("ScatterND", "int64[4,2,1] i", "float[H,C,3] u"),
        ("ScatterND", "int64[H,C,1] i", "float[4,2,D] u"),
        ("ScatterElements", "int64[8,2] i", "float[H,C] u"),
    ],
)
def test_sizes_that_only_fit_each_other_are_proven(
    op: str, indices: str, updates: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """ONNX's reference accepts updates of other sizes and reads only some of them."""
    width = 3 if op == "ScatterND" else 2
    text = f"""{HEAD} g (float[8,{width}] x, {indices}, {updates}) => (float[8,{width}] y)
    {{ y = {op} <reduction = "min"> (x, i, u) }}"""
    fixed(tmp_path, text, "--rtx", "1.7", "--gpu", "L4", "--verify", "--dry-run")
    assert "write-out-scatter: replaces the scatter" in capsys.readouterr().out


def test_data_without_elements_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = f"""{HEAD} g (float[4,0] x, int64[2,1] i, float[2,0] u) => (float[4,0] y)
    {{ y = ScatterND <reduction = "add"> (x, i, u) }}"""
    assert fixed(tmp_path, text)[1] is None
    assert "write-out-scatter: the data has no elements" in capsys.readouterr().out
