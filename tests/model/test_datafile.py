"""Tests of writing external data."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from trtlint.model.datafile import CopiedTensor, copy_data, data_file, is_in_file
from trtlint.model.errors import ModelError
from trtlint.model.tensors import TensorStore

INT4 = helper.make_tensor("packed", TensorProto.INT4, [3], [1, -2, 3])


def in_file(tensor: TensorProto, **place: str) -> TensorProto:
    """Return a copy of a tensor without its elements. ``place`` is the location of the elements."""
    moved = TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
    moved.data_location = TensorProto.EXTERNAL
    for key, value in place.items():
        moved.external_data.add(key=key, value=value)
    return moved


def model_of(*tensors: TensorProto) -> onnx.ModelProto:
    return helper.make_model(helper.make_graph([], "g", [], [], initializer=tensors))


def test_the_data_are_named_after_the_model() -> None:
    assert data_file(Path("a/m.onnx")) == Path("a/m.onnx.data")


def test_tensors_of_several_files_are_copied_to_one_file(tmp_path: Path) -> None:
    first = numpy_helper.from_array(np.arange(5, dtype=np.float64), "first")
    inline = numpy_helper.from_array(np.array([7], np.float32), "inline")
    folder = tmp_path / "sub"
    folder.mkdir()
    (tmp_path / "a.bin").write_bytes(b"....." + first.raw_data)
    (folder / "b.bin").write_bytes(INT4.raw_data or bytes(INT4.int32_data))
    size = str(len(first.raw_data))
    given = model_of(
        in_file(first, location="a.bin", offset="5", length=size), inline, in_file(INT4, location="sub/b.bin")
    )
    before = given.SerializeToString()
    target = tmp_path / "out" / "m.onnx"
    target.parent.mkdir()
    with data_file(target).open("wb") as file:
        copied = copy_data(given, TensorStore(tmp_path / "m.onnx"), file, data_file(target).name)
    assert given.SerializeToString() == before
    assert list(map(is_in_file, copied.graph.initializer)) == [True, False, True]
    offsets = [
        entry.value for t in copied.graph.initializer for entry in t.external_data if entry.key == "offset"
    ]
    assert offsets == ["0", "4096"]
    onnx.save(copied, target)
    loaded = onnx.load(target).graph.initializer
    for tensor, expected in zip(loaded, (first, inline, INT4), strict=True):
        assert (numpy_helper.to_array(tensor) == numpy_helper.to_array(expected)).all()


@pytest.mark.parametrize(
    "place",
    [
        {"location": "gone.bin"},
        {"location": "../outside.bin"},
        {"location": "short.bin"},
        {"location": "short.bin", "offset": "x"},
    ],
)
def test_data_that_cannot_be_read_are_an_error(place: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (tmp_path / "outside.bin").write_bytes(bytes(40))
    (folder / "short.bin").write_bytes(b"short")
    given = model_of(in_file(numpy_helper.from_array(np.zeros(5), "first"), **place))
    with pytest.raises(ModelError, match="the values of tensor 'first' cannot be read"):
        copy_data(given, TensorStore(folder / "m.onnx"), io.BytesIO(), "data")


def test_a_tensor_of_invalid_type_is_an_error(tmp_path: Path) -> None:
    tensor = TensorProto(name="words", data_type=TensorProto.STRING, dims=[2])
    with pytest.raises(ModelError, match="'words' cannot be read"):
        CopiedTensor(tensor, TensorStore(tmp_path / "m.onnx"))
