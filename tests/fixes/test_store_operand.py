"""Tests of stored operands and integer Relu, with the same results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.fixes.fixing import assert_same, fixed, ops

RTX = ("--rtx", "1.7", "--gpu", "L4", "--verify")
HEAD = '< ir_version: 9, opset_import: ["" : 18] >'


@pytest.mark.parametrize("op", ["ReduceSum", "ReduceMax"])
def test_axes_that_are_computed_are_stored(op: str, tmp_path: Path) -> None:
    text = f"""{HEAD} g (float[N,3,4] x) => (float[A,B,C] y) < int64[2] two = {{2, 3}}, int64[1] one = {{1}} >
    {{ axes = Sub (two, one)  y = {op} (x, axes) }}"""
    before, after = fixed(tmp_path, text, *RTX)
    assert ops(after) == [op]
    assert_same(before, after, {"x": np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 11})


def test_axes_that_are_fed_are_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = f"""{HEAD} g (float[2,3] x, int64[1] k) => (float[A,B] y) < int64[1] one = {{1}} >
    {{ axes = Sub (k, one)  y = ReduceSum (x, axes) }}"""
    _, after = fixed(tmp_path, onnx.parser.parse_model(text))
    assert after is None
    assert "known only at run time" in capsys.readouterr().out


def test_whole_numbers(tmp_path: Path) -> None:
    before, after = fixed(tmp_path, f"{HEAD} g (int32[2,3] x) => (int32[2,3] y) {{ y = Relu (x) }}", *RTX)
    assert ops(after) == ["Max"]
    assert_same(before, after, {"x": np.array([[-(2**31), -1, 0], [1, 7, 2**31 - 1]], np.int32)})
