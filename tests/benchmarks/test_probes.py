"""Tests of random probes: every model is valid, and a seed always gives the same model."""

from __future__ import annotations

import onnx
import pytest

pytest.importorskip("onnxruntime")

from benchmarks.probes.__main__ import cause
from benchmarks.probes.draw import draw


@pytest.mark.parametrize("seed", range(12))
def test_a_probe_is_valid(seed: int) -> None:
    probe = draw(seed)
    onnx.checker.check_model(probe.model)
    assert set(probe.shapes) <= {info.name for info in probe.model.graph.input}
    assert draw(seed).model.SerializeToString() == probe.model.SerializeToString()


def test_one_cause_reads_alike() -> None:
    texts = ("n_7: axis 3 of t12 is wrong\nIn validate at /_src/a.cpp:9", "n_12: axis 1 of t3 is wrong")
    assert cause(texts[0]).strip() == cause(texts[1]).strip() == "_: axis 9 of _ is wrong"
