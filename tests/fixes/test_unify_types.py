"""Casts where two float types meet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx

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
