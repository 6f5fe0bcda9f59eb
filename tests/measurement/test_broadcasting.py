"""Tests of measurements where ONNX Runtime does not broadcast."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from tests.measurement.test_measuring import measure
from trtlint.measurement.rewriting import rewrite
from trtlint.measurement.session import RehearsalSession
from trtlint.measurement.trialmodel import load_trial_model

pytest.importorskip("onnxruntime")

HEADS = """
< ir_version: 10, opset_import: ["" : 23] >
rotary (float[B,2,4,8] x, float[1,4,4] cosine, float[1,4,4] sine) => (float[B,2,4,8] y)
{ [turned] y = RotaryEmbedding (x, cosine, sine) }
"""
FLAT = """
< ir_version: 10, opset_import: ["" : 23] >
rotary (float[B,4,16] x, float[1,4,4] cosine, float[1,4,4] sine) => (float[B,4,16] y)
{ [turned] y = RotaryEmbedding <num_heads = 2> (x, cosine, sine) }
"""


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize(("text", "shape"), [(HEADS, (2, 4, 8)), (FLAT, (4, 16))], ids=["heads", "flat"])
def test_one_cache_is_for_all_batches(text: str, shape: tuple[int, ...], batch: int, tmp_path: Path) -> None:
    model = onnx.parser.parse_model(text)
    generator = np.random.default_rng(0)
    feeds = {
        "x": generator.standard_normal((batch, *shape)).astype(np.float32),
        "cosine": generator.standard_normal((1, 4, 4)).astype(np.float32),
        "sine": generator.standard_normal((1, 4, 4)).astype(np.float32),
    }
    found = measure(model, feeds, tmp_path)
    assert found.outputs[0].error is not None
    assert found.outputs[0].error < 2e-3
    mine, _ = RehearsalSession(rewrite(load_trial_model(tmp_path / "model.onnx"))).run(feeds)
    theirs: list[Any] = list(ReferenceEvaluator(model).run(None, feeds))
    np.testing.assert_allclose(mine["y"], np.asarray(theirs[0]), rtol=1e-4, atol=1e-5)
