"""Tests of input sets for a comparison."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from trtlint.measurement.inputs import Inputs
from trtlint.model.load import load
from trtlint.network import feeding
from trtlint.network.comparing import NotComparableError
from trtlint.network.feeding import compare_all

MODEL = onnx.parser.parse_model(
    """<ir_version: 8, opset_import: ["" : 18]>
    g (float[n,2] x, int64[2] i) => (float[n,2] y) { y = Neg (x) }"""
)


class Runs:
    """Fake comparison that records the inputs."""

    def __init__(self, refuses: Callable[[int, dict[str, Any]], str] = lambda _, __: "") -> None:
        self.proto = MODEL
        self.types = {"x": np.dtype(np.float16), "i": np.dtype(np.int32)}
        self.names: list[str] = []
        self.shapes: list[tuple[int, ...]] = []
        self._refuses = refuses

    def run(self, name: str, feeds: dict[str, Any]) -> str:
        self.names.append(name)
        self.shapes.append(feeds["x"].shape)
        assert {key: array.dtype for key, array in feeds.items()} == self.types
        return self._refuses(len(self.names), feeds)


def compared(folder: Path, runs: Any, *files: str, probe: bool = False, **shapes: tuple[int, ...]) -> Any:
    """Compare on all sets of inputs."""
    path = folder / "m.onnx"
    onnx.save(MODEL, path)
    compare_all(load(path).graph.inputs, Inputs(files), runs, shapes, probe=probe)
    return runs


def test_random_inputs(tmp_path: Path) -> None:
    runs = compared(tmp_path, Runs())
    assert (runs.names, len(runs.shapes[0])) == (["random"], 2)


def test_shapes_of_the_user(tmp_path: Path) -> None:
    assert compared(tmp_path, Runs(), x=(7, 2)).shapes == [(7, 2)]
    assert compared(tmp_path, Runs(), other=(7, 2)).shapes != [(7, 2)]
    assert compared(tmp_path, Runs(), x=(7, 2, 1)).shapes != [(7, 2, 1)]


def test_shapes_are_tried_until_one_is_accepted(tmp_path: Path) -> None:
    runs = compared(tmp_path, Runs(lambda count, _: "" if count == 3 else "no"))
    assert runs.names == ["random"] * 3
    assert len(set(runs.shapes)) > 1


def test_edge_cases_follow_the_first_inputs(tmp_path: Path) -> None:
    runs = compared(tmp_path, Runs(lambda count, _: "" if count == 2 else "no"), probe=True)
    assert runs.names[:3] == ["random", "random", "negative numbers"]
    assert "zeros" in runs.names
    assert "dimensions of size 3" in runs.names


def test_models_that_reject_all_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for most, reason in ((40, "no"), (1, "no"), (0, "no inputs could be generated")):
        monkeypatch.setattr(feeding, "_MOST_TRIED", most)
        runs = Runs(lambda _, __: "no")
        with pytest.raises(NotComparableError) as caught:
            compared(tmp_path, runs, probe=True)
        assert str(caught.value) == f"the model rejects all generated inputs ({reason}); give your own inputs"
        assert len(runs.names) <= most


def test_inputs_of_the_user(tmp_path: Path) -> None:
    files = []
    for at in (1, 2):
        files.append(str(tmp_path / f"{at}.npz"))
        np.savez(files[-1], x=np.ones((at, 2), np.float32), i=np.zeros(2, np.int64))
    runs = compared(tmp_path, Runs(), *files, probe=True, x=(7, 2))
    assert runs.names == [f"{files[0]} (1)", f"{files[1]} (2)"]
    assert runs.shapes == [(1, 2), (2, 2)]
    with pytest.raises(NotComparableError) as caught:
        compared(tmp_path, Runs(lambda count, _: "no" if count == 2 else ""), *files)
    assert str(caught.value) == f"ONNX Runtime cannot run the model on {files[1]}: no"
