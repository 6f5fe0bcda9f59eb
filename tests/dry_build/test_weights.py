"""Zeros in place of weights that are missing or huge."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.dry_build.models import BUILT, with_external, write
from trtlint.dry_build import weights
from trtlint.dry_build.weights import WeightsError, staged


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
    """Tensors up to a size, as far as the file holds them: the matrix first, then the bias."""
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


@pytest.mark.parametrize("location", ["../weights.bin", "/etc/hostname", "a/../../b", "C:\\x\\..\\..\\y"])
def test_nothing_outside_of_the_folder_is_given_to_the_parser(
    tmp_path: Path, scratch: Path, location: str
) -> None:
    with pytest.raises(WeightsError, match="outside the model's folder"):
        staged(with_external(tmp_path, location=location), scratch)


def test_external_data_in_a_folder_below(tmp_path: Path, scratch: Path) -> None:
    stage = staged(with_external(tmp_path, location="data/w.bin"), scratch)
    assert stage.zeros == ("data/w.bin",)
    assert (scratch / "data" / "w.bin").is_file()
