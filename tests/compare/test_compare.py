"""How far outputs of a rewritten model may be off."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from trtlint.compare.comparison import available, compare
from trtlint.measurement.inputs import Inputs

pytestmark = pytest.mark.skipif(not available(), reason="polygraphy or onnxruntime is not installed")

HEAD = '< ir_version: 8, opset_import: ["" : 17] > g (float[64] a, float[64] b) => (float[64] y)'


def saved(path: Path, body: str) -> Path:
    onnx.save(onnx.parser.parse_model(f"{HEAD} < float c = {{3.3}}, float e = {{0.03}} > {{ {body} }}"), path)
    return path


def batch(path: Path, a: float, b: float) -> str:
    """A set of inputs: numbers near ``a`` and near ``b``."""
    rng = np.random.default_rng(0)
    near = rng.uniform(0, 1, 64)
    arrays = {"a": np.float32(a + near), "b": np.float32(b + near * (b > 0))}
    np.savez(path, **arrays)
    return str(path)


def test_what_is_left_of_larger_terms_is_judged_by_the_largest_output(tmp_path: Path) -> None:
    """In one set of inputs large terms cancel: the outputs are small, and consist of rounding errors."""
    before = saved(tmp_path / "a.onnx", "p = Mul (a, c)  q = Mul (b, c)  y = Sub (p, q)")
    after = saved(tmp_path / "b.onnx", "d = Sub (a, b)  y = Mul (d, c)")
    large, cancelled = batch(tmp_path / "1.npz", 5000, 0), batch(tmp_path / "2.npz", 5000.01, 5000)
    assert compare(before, after, Inputs(files=(cancelled,))).equal is False
    assert compare(before, after, Inputs(files=(large, cancelled))).equal is True
    assert compare(before, after, Inputs(files=(cancelled, large))).equal is True


def test_a_difference_beyond_rounding_counts_where_terms_cancel(tmp_path: Path) -> None:
    before = saved(tmp_path / "a.onnx", "y = Sub (a, b)")
    after = saved(tmp_path / "b.onnx", "d = Sub (a, b)  y = Add (d, e)")
    large, cancelled = batch(tmp_path / "1.npz", 1000, 0), batch(tmp_path / "2.npz", 1, 1)
    assert compare(before, after, Inputs(files=(large,))).equal is True
    assert compare(before, after, Inputs(files=(large, cancelled))).equal is False
