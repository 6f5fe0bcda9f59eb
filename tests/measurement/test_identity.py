"""A model is told from others by its structure and samples of its weights, wherever they lie."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from trtlint.measurement.identity import digest


def saved(path: Path, weights: np.ndarray, *, outside: bool) -> Path:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 256]) for name in "xy")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Add", ["h", "b"], ["y"])]
    stored = [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(weights[0], "b")]
    model = helper.make_model(helper.make_graph(nodes, "g", [x], [y], stored))
    onnx.save(model, path, save_as_external_data=outside, location="w.data", size_threshold=0)
    return path


@pytest.mark.parametrize("outside", [False, True], ids=["in the model", "beside it"])
def test_it_changes_with_either_end_of_a_weight(tmp_path: Path, outside: bool) -> None:
    weights = np.arange(256 * 256, dtype=np.float32).reshape(256, 256)
    seen = set()
    for name, place in {"same": None, "again": None, "first": (1, 0), "last": (255, 255)}.items():
        folder = tmp_path / name
        folder.mkdir()
        changed = weights.copy()
        if place is not None:
            changed[place] += 1
        seen.add(digest(saved(folder / "model.onnx", changed, outside=outside)))
    assert len(seen) == 3
