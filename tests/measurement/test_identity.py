"""Tests of model identity by structure and weight samples, for any weight location."""

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


def beside(folder: Path, numbers: np.ndarray, gap: int = 0, *, known: bool = True) -> str:
    """Return the hash of a model whose external weights start after 64 bytes."""
    folder.mkdir(exist_ok=True)
    (folder / "w.data").write_bytes(bytes([gap]) * 64 + numbers.tobytes() + bytes([gap]) * 64)
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=numbers.shape)
    tensor.data_location = TensorProto.EXTERNAL
    length = {"length": str(numbers.nbytes)} if known else {}
    for key, value in {"location": "w.data", "offset": "64", **length}.items():
        tensor.external_data.add(key=key, value=value)
    info = helper.make_tensor_value_info("y", TensorProto.FLOAT, numbers.shape)
    graph = helper.make_graph([helper.make_node("Neg", ["w"], ["y"])], "g", [], [info], [tensor])
    onnx.save(helper.make_model(graph), folder / "model.onnx")
    return digest(folder / "model.onnx")


@pytest.mark.parametrize("count", [4, 1024, 1025, 5000])
@pytest.mark.parametrize("known", [False, True])
def test_both_ends_of_a_weight_count_and_nothing_around_it(tmp_path: Path, count: int, known: bool) -> None:
    numbers = np.arange(count, dtype=np.float32)
    usual = beside(tmp_path, numbers, known=known)
    assert beside(tmp_path, numbers, gap=1, known=known) == usual
    for place in {0, min(1023, count - 1), max(0, count - 1024), count - 1}:
        changed = numbers.copy()
        changed[place] += 0.5
        assert beside(tmp_path, changed, known=known) != usual


def test_the_middle_of_a_large_weight_does_not_count(tmp_path: Path) -> None:
    """The hash covers four KiB at each end."""
    numbers = np.arange(5000, dtype=np.float32)
    changed = numbers.copy()
    changed[1024:-1024] = 0
    assert beside(tmp_path, changed) == beside(tmp_path, numbers)


def test_weights_in_another_encoding_count(tmp_path: Path) -> None:
    found = set()
    for last in (100, 101):
        dims = [256, 256]
        tensor = TensorProto(name="w", data_type=TensorProto.FLOAT16, dims=dims)
        tensor.int32_data.extend([*range(1, 1 << 16), last])
        info = helper.make_tensor_value_info("y", TensorProto.FLOAT16, dims)
        graph = helper.make_graph([helper.make_node("Neg", ["w"], ["y"])], "g", [], [info], [tensor])
        onnx.save(helper.make_model(graph), tmp_path / "model.onnx")
        found.add(digest(tmp_path / "model.onnx"))
    assert len(found) == 2
