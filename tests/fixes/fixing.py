"""Models fixed in tests, and their results before and after."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from trtlint.cli import run
from trtlint.compare.comparison import available

Feeds = dict[str, np.ndarray[Any, Any]]


def fixed(
    folder: Path, source: str | onnx.ModelProto, *options: str
) -> tuple[onnx.ModelProto, onnx.ModelProto | None]:
    """Return a model and the output of ``trtlint fix`` (None without output)."""
    if "--verify" in options and not available():
        pytest.skip("onnxruntime is not installed")
    model = onnx.parser.parse_model(source) if isinstance(source, str) else source
    path, out = folder / "model.onnx", folder / "model.fixed.onnx"
    onnx.save(model, path)
    run(["fix", str(path), "--isolated", *(options or ("--rtx", "1.7", "--gpu", "L4"))])
    return model, onnx.load(out) if out.exists() else None


def computed(model: onnx.ModelProto, feeds: Feeds) -> list[np.ndarray[Any, Any]]:
    """Return the results of a model from ONNX's reference."""
    with np.errstate(all="ignore"):  # a row without keys is NaN before it is replaced
        return [np.asarray(each) for each in ReferenceEvaluator(model).run(None, feeds)]


def assert_same(
    before: onnx.ModelProto, after: onnx.ModelProto | None, feeds: Feeds, rtol: float = 1e-5
) -> None:
    """Require that two models give the same results."""
    assert after is not None
    onnx.checker.check_model(after, full_check=True)
    for one, other in zip(computed(before, feeds), computed(after, feeds), strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        largest = float(np.abs(one[np.isfinite(one)]).max(initial=1.0))
        np.testing.assert_allclose(other, one, rtol=rtol, atol=rtol * largest)


def ops(model: onnx.ModelProto | None) -> list[str]:
    """Return the operator types of a model in order."""
    assert model is not None
    return [node.op_type for node in model.graph.node]
