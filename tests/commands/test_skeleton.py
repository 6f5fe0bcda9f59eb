"""End-to-end tests of ``trtlint skeleton``."""

from __future__ import annotations

import os
from pathlib import Path

import onnx
import pytest

from trtlint.cli import run

EXAMPLE = Path(__file__).resolve().parent.parent.parent / "examples" / "vit.onnx"


def test_a_copy_lies_beside_the_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "vit.onnx"
    model.write_bytes(EXAMPLE.read_bytes())
    assert run(["skeleton", str(model), "--hide-names"]) == 0
    copy = tmp_path / "vit.skeleton.onnx"
    assert len(onnx.load(copy, load_external_data=False).graph.node) == len(onnx.load(model).graph.node)
    assert f"{copy}: {copy.stat().st_size:,} bytes, no weights, names hidden" in capsys.readouterr().out
    assert model.read_bytes() == EXAMPLE.read_bytes()


def test_the_model_itself_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "m.onnx"
    model.write_bytes(EXAMPLE.read_bytes())
    assert run(["skeleton", str(model), "-o", str(model)]) == 2
    assert "write to another file" in capsys.readouterr().err
    assert model.read_bytes() == EXAMPLE.read_bytes()


def test_the_weights_of_the_model_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, weights = tmp_path / "m.onnx", tmp_path / "w.bin"
    onnx.save(onnx.load(EXAMPLE), model, save_as_external_data=True, location=weights.name, size_threshold=0)
    before = weights.read_bytes()
    assert run(["skeleton", str(model), "-o", str(weights)]) == 2
    assert "write to another file" in capsys.readouterr().err
    assert weights.read_bytes() == before


@pytest.mark.parametrize("name", [".", "/"])
def test_a_folder_is_no_model(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["skeleton", name]) == 3
    assert capsys.readouterr().err == f"trtlint: {name}: this is a directory\n"


def test_a_device_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert run(["skeleton", str(EXAMPLE), "-o", str(pipe)]) == 2
    assert pipe.is_fifo()


def test_what_is_no_model_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.onnx").write_bytes(b"\x08\x08\x3a\xff\xff\xff\x7f")
    assert run(["skeleton", str(tmp_path / "m.onnx")]) == 3
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert run(["skeleton", str(tmp_path / "none.onnx")]) == 3
    assert not (tmp_path / "m.skeleton.onnx").exists()
