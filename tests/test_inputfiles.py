"""Tests of batches of arrays in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import trtlint
from trtlint import inputfiles
from trtlint.inputfiles import input_files
from trtlint.measurement.feeds import read_feeds
from trtlint.measurement.inputs import Inputs

RELU = '< ir_version: 8, opset_import: ["" : 17] > g (float[1,8] file) => (float[1,8] y) { y = Relu (file) }'
BATCH = {"file": np.full((1, 8), 3, np.float32)}


@pytest.fixture(autouse=True)
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a model in the current folder.  Its input has a name that numpy.savez rejects."""
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.parser.parse_model(RELU), "model.onnx")
    return tmp_path / "model.onnx"


def test_arrays_are_read_back() -> None:
    batch = {"x/0": np.arange(6).reshape(2, 3), "flag": True, "text": np.array(["a", "bc"])}
    with input_files([batch, "a.npz"]) as files:
        ((_, found),) = read_feeds(Inputs(files.names[:1]))
        folder = Path(files.names[0]).parent
        assert files.shown(f"{files.names[0]}: no input") == "inputs[0]: no input"
        assert files.names[1:] == ("a.npz",)
    assert not folder.exists()
    assert {name: array.tolist() for name, array in found.items()} == {
        "x/0": [[0, 1, 2], [3, 4, 5]],
        "flag": True,
        "text": ["a", "bc"],
    }


@pytest.mark.parametrize("inputs", [BATCH, [BATCH], (each for each in [BATCH])])
def test_a_model_is_measured_on_arrays(inputs: Any) -> None:
    pytest.importorskip("onnxruntime")
    found = trtlint.measure("model.onnx", inputs=inputs, rehearse=False).measurement
    assert (found.files, found.on) == (("inputs[0]",), "1 batch of inputs[0]")
    assert [site.max_abs for site in found.sites] == [3, 3]


def test_arrays_and_files_are_the_same_inputs() -> None:
    pytest.importorskip("onnxruntime")
    with input_files([BATCH]) as files:
        Path("b.npz").write_bytes(Path(files.names[0]).read_bytes())
    one, other = (
        trtlint.measure("model.onnx", inputs=each, rehearse=False).measurement for each in ("b.npz", BATCH)
    )
    assert (one.inputs, one.sites) == (other.inputs, other.sites)
    assert trtlint.convert("model.onnx", to="fp16", inputs=BATCH, dry_run=True).verdict == "proven"


def test_an_endless_loader_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    taken: list[int] = []

    def loader() -> Iterator[dict[str, Any]]:
        for number in count():
            taken.append(number)
            yield BATCH

    found = trtlint.measure("model.onnx", inputs=loader(), batches=3, rehearse=False).measurement
    assert (found.batches, len(taken)) == (3, 4)
    monkeypatch.setattr(inputfiles, "_MOST_BYTES", 100)
    with pytest.raises(trtlint.ArgumentError, match=r"^inputs: more than 0 GB of arrays; give fewer"):
        trtlint.measure("model.onnx", inputs=loader())


@pytest.mark.parametrize(
    "call", [trtlint.measure, lambda *given, **keys: trtlint.convert(*given, to="fp16", **keys)]
)
@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        (
            {"file": np.array([None])},
            "inputs[0]['file']=<ndarray>: expected an array of numbers, booleans or texts",
        ),
        ({5: np.zeros(3)}, "inputs[0][5]=5: expected the name of an input as key"),
        (np.zeros((1, 8)), "inputs[0]=<ndarray>: expected a path or a dictionary of arrays"),
        ([BATCH, 5], "inputs[1]=5: expected a path or a dictionary of arrays"),
        ({"z": np.zeros(3)}, "inputs[0]: no input 'file'; the file has arrays that are not inputs: 'z'"),
        (
            {"file": np.zeros((1, 3), np.float32)},
            "inputs[0]: input 'file' has the shape [1, 3], but the model expects f32[1,8]",
        ),
    ],
)
def test_wrong_batches_are_named(call: Callable[..., Any], inputs: Any, words: str) -> None:
    pytest.importorskip("onnxruntime")
    with pytest.raises(trtlint.SettingError) as caught:
        call("model.onnx", inputs=inputs)
    assert str(caught.value) == words
