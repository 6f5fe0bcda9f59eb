"""Tests of float tensors read in parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from trtlint.model import streaming
from trtlint.model.reader import decode, read
from trtlint.model.streaming import Streamer

Array = np.ndarray[Any, np.dtype[Any]]


def parts(folder: Path, tensor: TensorProto, *, external: bool = False) -> list[list[int]] | None:
    """Return the parts of a tensor stored in a file."""
    graph = helper.make_graph([], "g", [], [], [tensor])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = folder / "model.onnx"
    onnx.save(model, path, save_as_external_data=external, location="w.data", size_threshold=0)
    raw = read(path)
    found = Streamer(raw.tensors).parts(decode(raw.data).graph.initializer[0])
    return None if found is None else [part.tolist() for part in found]


@pytest.mark.parametrize(("dtype", "bits"), [("<f4", "<u4"), ("<f8", "<u8"), ("<f2", "<u2")])
@pytest.mark.parametrize("external", [True, False])
def test_large_tensors_come_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dtype: str, bits: str, external: bool
) -> None:
    """Each part has only whole elements, here at most 20 bytes."""
    monkeypatch.setattr(streaming, "PART", 20)
    values = np.arange(1001, dtype=dtype)
    size = values.itemsize
    found = parts(tmp_path, numpy_helper.from_array(values), external=external)
    expected = values.view(bits).tolist()
    each = 20 // size
    assert found == [expected[start : start + each] for start in range(0, 1001, each)]


def test_elements_of_bfloat16(tmp_path: Path) -> None:
    tensor = helper.make_tensor("w", TensorProto.BFLOAT16, [600], bytes(range(100)) * 12, raw=True)
    assert parts(tmp_path, tensor) == [np.frombuffer(tensor.raw_data, "<u2").tolist()]


@pytest.mark.parametrize(("most", "whole"), [(24, True), (23, False)])
def test_a_small_tensor_is_one_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, whole: bool
) -> None:
    monkeypatch.setattr(streaming, "_LARGEST_WHOLE", most)
    values = np.arange(6, dtype="<f4").reshape(2, 3)
    found = parts(tmp_path, numpy_helper.from_array(values))
    assert found == ([values.view("<u4").reshape(-1).tolist()] if whole else None)


def test_tensors_without_parts(tmp_path: Path) -> None:
    assert parts(tmp_path, numpy_helper.from_array(np.arange(1000))) is None
    assert parts(tmp_path, TensorProto(name="w", dims=[2], data_type=TensorProto.FLOAT)) is None
    assert parts(tmp_path, TensorProto(name="w", dims=[-1, 2], data_type=TensorProto.FLOAT)) is None
    assert parts(tmp_path, TensorProto(name="w", dims=[0], data_type=TensorProto.FLOAT)) == [[]]


def test_a_file_that_became_shorter_has_fewer_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "PART", 16)
    values = np.arange(300, dtype="<f4")
    graph = helper.make_graph([], "g", [], [], [numpy_helper.from_array(values, "w")])
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, ir_version=8), path, save_as_external_data=True, location="w.data")
    raw = read(path)
    found = Streamer(raw.tensors).parts(decode(raw.data).graph.initializer[0])
    assert found is not None
    (tmp_path / "w.data").write_bytes(values.tobytes()[: 16 + 6])
    assert [part.tolist() for part in found] == [
        values[:4].view("<u4").tolist(),
        values[4:5].view("<u4").tolist(),
    ]


@pytest.mark.parametrize("external", [True, False])
def test_external_weights_raise_the_limit_of_time_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, external: bool
) -> None:
    """The limit of the work counts the size of the model file, which includes internal weights."""
    extended: list[str] = []
    monkeypatch.setattr(streaming, "extend_for_weights", lambda path: extended.append(path.name))
    tensors = [numpy_helper.from_array(np.ones(1000, "f"), name) for name in "ab"]
    graph = helper.make_graph([], "g", [], [], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "model.onnx"
    onnx.save(model, path, save_as_external_data=external, location="w.data", size_threshold=0)
    raw = read(path)
    streamer = Streamer(raw.tensors)
    for tensor in decode(raw.data).graph.initializer:
        assert sum(part.size for part in streamer.parts(tensor) or ()) == 1000
    assert extended == (["w.data"] if external else [])
