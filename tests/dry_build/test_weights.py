"""Tests of zeros in place of missing or huge weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.dry_build.models import BUILT, with_external, write
from trtlint.dry_build import weights
from trtlint.dry_build.errors import DryBuildError
from trtlint.dry_build.weights import staged


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


def test_a_model_that_holds_its_weights_is_given_as_it_is(tmp_path: Path, scratch: Path) -> None:
    model = write(tmp_path, BUILT)
    stage = staged(model, scratch)
    assert (stage.path, stage.zeros) == (model, ())
    assert stage.size == model.stat().st_size
    assert not list(scratch.iterdir())


def test_zeros_stand_for_a_file_that_is_missing(tmp_path: Path, scratch: Path) -> None:
    model = with_external(tmp_path)
    stage = staged(model, scratch)
    assert stage.zeros == ("weights.bin",)
    assert (scratch / "weights.bin").stat().st_size == 4 * (64 * 64 + 64)
    assert not (tmp_path / "weights.bin").exists()
    loaded = onnx.load(stage.path)
    assert not np.any(onnx.numpy_helper.to_array(loaded.graph.initializer[0]))


def test_two_spellings_of_a_missing_file_are_one_file(tmp_path: Path, scratch: Path) -> None:
    model = with_external(tmp_path)
    proto = onnx.load(model, load_external_data=False)
    short = proto.graph.initializer.add()
    short.CopyFrom(proto.graph.initializer[0])
    short.name = "short"
    del short.dims[:]
    short.dims.append(8)
    for entry in short.external_data:
        entry.value = {"location": "./weights.bin", "offset": "0", "length": "32"}[entry.key]
    model.write_bytes(proto.SerializeToString())
    assert staged(model, scratch).zeros == ("weights.bin",)
    assert (scratch / "weights.bin").stat().st_size == 4 * (64 * 64 + 64)


def test_a_file_that_is_there_is_read_where_it_is(tmp_path: Path, scratch: Path) -> None:
    model = with_external(tmp_path)
    size = 4 * (64 * 64 + 64)
    (tmp_path / "weights.bin").write_bytes(bytes(size))
    stage = staged(model, scratch)
    assert (stage.path, stage.zeros, stage.size) == (model, (), model.stat().st_size + size)


def test_a_file_of_the_limit_is_huge(tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = 4 * (64 * 64 + 64)
    model = with_external(tmp_path)
    (tmp_path / "weights.bin").write_bytes(bytes(size))
    monkeypatch.setattr(weights, "HUGE", size + 1)
    assert staged(model, scratch).zeros == ()
    monkeypatch.setattr(weights, "HUGE", size)
    assert staged(model, scratch).zeros == ("weights.bin",)


def test_small_tensors_of_a_huge_file_are_copied(
    tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "HUGE", 100_000)
    model = with_external(tmp_path, size=256)
    values = np.arange(256 * 256 + 256, dtype=np.float32)
    (tmp_path / "weights.bin").write_bytes(values.tobytes())
    stage = staged(model, scratch)
    assert stage.zeros == ("weights.bin",)
    matrix, bias = (onnx.numpy_helper.to_array(each) for each in onnx.load(stage.path).graph.initializer)
    assert not np.any(matrix)
    assert np.array_equal(bias, values[-256:])
    assert np.array_equal(np.fromfile(tmp_path / "weights.bin", np.float32), values)


@pytest.mark.parametrize(
    ("copied", "there", "matrix", "bias"),
    [
        (256, 4 * 4160, False, True),
        (255, 4 * 4160, False, False),
        (4 * 4096, 4 * 4160, True, True),
        (4 * 4096 - 1, 4 * 4160, False, True),
        (4 * 4096, 4 * 4160 - 1, True, False),
        (4 * 4096, 4 * 4096, True, False),
        (4 * 4096, 4 * 4096 - 1, False, False),
        (4 * 4096, 0, False, False),
    ],
)
def test_which_tensors_are_copied(
    copied: int,
    there: int,
    matrix: bool,
    bias: bool,
    tmp_path: Path,
    scratch: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Copied tensors have at most a given size: the matrix first, then the bias."""
    monkeypatch.setattr(weights, "HUGE", 1)
    monkeypatch.setattr(weights, "_COPIED", copied)
    model = with_external(tmp_path)
    (tmp_path / "weights.bin").write_bytes(b"\1" * there)
    stage = staged(model, scratch)
    size = 4 * 4160
    assert (stage.zeros, stage.data_files) == (("weights.bin",), ("weights.bin",))
    assert stage.size == model.stat().st_size + size
    expected = (b"\1" if matrix else b"\0") * 4 * 4096 + (b"\1" if bias else b"\0") * 4 * 64
    assert (scratch / "weights.bin").read_bytes() == expected


@pytest.mark.parametrize(("size", "copied"), [(128, True), (129, False)])
def test_tensors_of_64_kib_are_small(
    size: int, copied: bool, tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "HUGE", 1)
    model = with_external(tmp_path, size=size)
    (tmp_path / "weights.bin").write_bytes(b"\1" * 4 * (size * size + size))
    staged(model, scratch)
    assert ((scratch / "weights.bin").read_bytes()[:1] == b"\1") is copied


@pytest.mark.parametrize("location", ["../weights.bin", "/etc/hostname", "a/../../b", "C:\\x\\..\\..\\y"])
def test_nothing_outside_of_the_folder_is_given_to_the_parser(
    tmp_path: Path, scratch: Path, location: str
) -> None:
    with pytest.raises(DryBuildError, match="outside the model's folder"):
        staged(with_external(tmp_path, location=location), scratch)


def test_external_data_in_a_folder_below(tmp_path: Path, scratch: Path) -> None:
    stage = staged(with_external(tmp_path, location="data/w.bin"), scratch)
    assert stage.zeros == ("data/w.bin",)
    assert (scratch / "data" / "w.bin").is_file()


def stored(folder: Path, *places: tuple[str, int, int | None]) -> Path:
    """Write a sum of stored FP32 vectors of size four, each with a file, an offset and an optional length."""
    tensors = []
    for index, (location, offset, length) in enumerate(places):
        tensor = TensorProto(name=f"w{index}", data_type=TensorProto.FLOAT, dims=[4])
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=location)
        tensor.external_data.add(key="offset", value=str(offset))
        if length is not None:
            tensor.external_data.add(key="length", value=str(length))
        tensors.append(tensor)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy")
    node = helper.make_node("Sum", ["x", *(tensor.name for tensor in tensors)], ["y"])
    graph = helper.make_graph([node], "g", [x], [y], tensors)
    path = folder / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_only_files_that_lack_data_are_replaced(tmp_path: Path, scratch: Path) -> None:
    places = (
        ("below/a.bin", 16, 16),
        ("below/a.bin", 0, None),
        ("b.bin", 0, 16),
        ("c.bin", 4, 8),
        ("d.bin", 0, 32),
    )
    model = stored(tmp_path, *places)
    for name, size in (("b.bin", 16), ("c.bin", 19), ("d.bin", 32)):
        (tmp_path / name).write_bytes(b"\1" * size)
    stage = staged(model, scratch)
    assert stage.path == scratch / "model.onnx"
    assert stage.zeros == ("below/a.bin", "c.bin")
    assert stage.data_files == ("below/a.bin", "b.bin", "c.bin", "d.bin")
    assert stage.size == model.stat().st_size + 32 + 16 + 20 + 32
    found = {
        str(path.relative_to(scratch)): (path.is_symlink(), path.read_bytes())
        for path in scratch.rglob("*")
        if path.is_file()
    }
    assert found == {
        "model.onnx": (True, model.read_bytes()),
        "below/a.bin": (False, bytes(32)),
        "b.bin": (True, b"\1" * 16),
        "c.bin": (False, bytes(20)),
        "d.bin": (True, b"\1" * 32),
    }


def test_data_in_the_model_file_itself_stay_there(tmp_path: Path, scratch: Path) -> None:
    model = stored(tmp_path, ("model.onnx", 0, 16), ("a.bin", 0, 16))
    stage = staged(model, scratch)
    assert stage.zeros == ("a.bin",)
    assert (scratch / "model.onnx").read_bytes() == model.read_bytes()


def test_data_that_no_file_can_hold_are_an_error(tmp_path: Path, scratch: Path) -> None:
    model = stored(tmp_path, ("a.bin", (1 << 63) - 64, 16))
    with pytest.raises(DryBuildError, match="cannot replace the external data of the model by zeros: "):
        staged(model, scratch)


def test_files_are_copied_where_links_are_not_allowed(
    tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(Path, "symlink_to", refuse)
    model = stored(tmp_path, ("a.bin", 0, 16))
    assert staged(model, scratch).path.read_bytes() == model.read_bytes()
    assert not (scratch / "model.onnx").is_symlink()
