"""Casts where two float types meet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.fixes.fixing import computed, fixed, ops

HEAD = '< ir_version: 8, opset_import: ["" : 17] >'
X = {"x": np.random.default_rng(1).normal(size=(1, 64)).astype(np.float32)}


def test_parameters_of_a_norm_are_widened(tmp_path: Path) -> None:
    text = (
        f"{HEAD} g (float[1,64] x, float16[64] w) => (float[1,64] y)"
        "{ y = LayerNormalization <axis = -1> (x, w) }"
    )
    _, after = fixed(tmp_path, text)
    assert ops(after) == ["Cast", "LayerNormalization"]
    assert after is not None
    onnx.checker.check_model(after, full_check=True)
    feeds: dict[str, np.ndarray[Any, Any]] = {**X, "w": np.full(64, 1.5, np.float16)}
    wide = X["x"].astype(np.float64)
    norm = (wide - wide.mean()) / np.sqrt(wide.var() + 1e-5) * 1.5
    np.testing.assert_allclose(computed(after, feeds)[0], norm, rtol=1e-5)


def test_products_keep_the_type_of_their_weights_and_outputs_theirs(tmp_path: Path) -> None:
    text = (
        f"{HEAD} g (float[1,64] x) => (float16[1,64] y, float16[1,64] z)"
        "{ h = MatMul (x, w)  y = Relu (h)  s = Add (x, h)  z = Identity (s) }"
    )
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.full((64, 64), 0.5, np.float16), "w"))
    _, after = fixed(tmp_path, model)
    assert after is not None
    onnx.checker.check_model(after, full_check=True)
    assert [info.type.tensor_type.elem_type for info in after.graph.output] == [10, 10]
    given, wide = computed(after, X)
    assert given.dtype == wide.dtype == np.float16
    product = X["x"].astype(np.float16).astype(np.float64).sum() * 0.5
    np.testing.assert_allclose(given.astype(np.float64), max(product, 0), rtol=2e-2)
    np.testing.assert_allclose(wide.astype(np.float64), X["x"] + product, rtol=2e-2, atol=2e-2)


MIXED = """
  n = Cast <to = 1> (a)
  y = LayerNormalization <axis = -1> (n, gain)
"""
SPLIT = f"""
{HEAD} g (float16[1,4,128,64] q, float16[1,4,64,128] k, float16[1,4,128,64] v, float16[64] gain)
  => (float[1,4,128,64] y)
{{
  wide = Constant <value_float = 0.3535> ()
  root = Cast <to = 10> (wide)
  one = Mul (q, root)
  other = Mul (k, root)
  scores = MatMul (one, other)
  probabilities = Softmax <axis = -1> (scores)
  a = MatMul (probabilities, v)
  {MIXED}
}}
"""


def test_what_else_is_fixed_for_a_weakly_typed_target_can_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, after = fixed(tmp_path, SPLIT, "--trt", "10.7", "--fp16")
    out = capsys.readouterr().out
    assert "error[ACC102] scale-on-query" in out
    assert "  fixed    unify-types: inserts Casts where operators read two types at LayerNorm" in out
    assert ops(after) == ["Mul", "MatMul", "Softmax", "MatMul", "Cast", "Cast", "LayerNormalization"]
    assert after is not None
    onnx.checker.check_model(after, full_check=True)


def test_a_weakly_typed_target_has_no_need_of_it(tmp_path: Path) -> None:
    text = f"{HEAD} g (float16[1,64] a, float16[64] gain) => (float[1,64] y) {{ {MIXED} }}"
    assert fixed(tmp_path, text, "--trt", "10.7", "--fp16")[1] is None
