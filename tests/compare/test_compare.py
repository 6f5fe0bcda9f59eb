"""Tests of tolerances for outputs of a rewritten model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NoReturn, cast

import numpy as np
import onnx
import pytest

from tests.graphs import model_of
from trtlint.compare import _compare
from trtlint.compare._running import LoadedModel, Way
from trtlint.compare.alike import ModelPair
from trtlint.compare.comparison import Pair, available, compare
from trtlint.compare.sets import RandomSets
from trtlint.measurement.feeds import Feeds
from trtlint.measurement.inputs import Inputs
from trtlint.model.widening import FP32

pytestmark = pytest.mark.skipif(not available(), reason="polygraphy or onnxruntime is not installed")

HEADER = '< ir_version: 8, opset_import: ["" : 17] >'
HEAD = '< ir_version: 8, opset_import: ["" : 17] > g (float[64] a, float[64] b) => (float[64] y)'


def saved(path: Path, body: str) -> Path:
    onnx.save(onnx.parser.parse_model(f"{HEAD} < float c = {{3.3}}, float e = {{0.03}} > {{ {body} }}"), path)
    return path


def batch(path: Path, a: float, b: float) -> str:
    """Return an input set with numbers near ``a`` and near ``b``."""
    rng = np.random.default_rng(0)
    near = rng.uniform(0, 1, 64)
    arrays = {"a": np.float32(a + near), "b": np.float32(b + near * (b > 0))}
    np.savez(path, **arrays)
    return str(path)


def test_what_is_left_of_larger_terms_is_judged_by_the_largest_output(tmp_path: Path) -> None:
    """Large terms cancel in one set of inputs, so its small outputs are rounding errors."""
    before = saved(tmp_path / "a.onnx", "p = Mul (a, c)  q = Mul (b, c)  y = Sub (p, q)")
    after = saved(tmp_path / "b.onnx", "d = Sub (a, b)  y = Mul (d, c)")
    large, cancelled = batch(tmp_path / "1.npz", 5000, 0), batch(tmp_path / "2.npz", 5000.01, 5000)
    assert compare(Pair(before, after, Inputs(files=(cancelled,)))).equal is False
    assert compare(Pair(before, after, Inputs(files=(large, cancelled)))).equal is True
    assert compare(Pair(before, after, Inputs(files=(cancelled, large)))).equal is True


def test_a_difference_beyond_rounding_counts_where_terms_cancel(tmp_path: Path) -> None:
    before = saved(tmp_path / "a.onnx", "y = Sub (a, b)")
    after = saved(tmp_path / "b.onnx", "d = Sub (a, b)  y = Add (d, e)")
    large, cancelled = batch(tmp_path / "1.npz", 1000, 0), batch(tmp_path / "2.npz", 1, 1)
    assert compare(Pair(before, after, Inputs(files=(large,)))).equal is True
    assert compare(Pair(before, after, Inputs(files=(large, cancelled)))).equal is False


@pytest.mark.parametrize(
    ("inputs", "varies"),
    [
        ("float[2,3] x", False),
        ("float x", False),
        ("float[2,N] x", True),
        ("float[?] x", True),
        ("float[] x", True),
        ("float[2] x, float[N] z", True),
        ("float[] x, float[2] z", True),
        ("float[2] x, int64[2,3] z", False),
    ],
)
def test_inputs_whose_sizes_are_guessed(inputs: str, varies: bool) -> None:
    graph = model_of(f"{HEADER} g ({inputs}) => (float[?] y) {{ y = Identity (x) }}").graph
    assert _compare._varies(graph.inputs) is varies


@pytest.mark.parametrize(("size", "reference"), [(16 << 20, True), ((16 << 20) + 1, False)])
def test_only_small_models_run_in_the_reference(tmp_path: Path, size: int, reference: bool) -> None:
    path = tmp_path / "model.onnx"
    path.touch()
    os.truncate(path, size)
    expected = [Way(), Way(FP32), *([Way(FP32, reference=True)] if reference else [])]
    assert list(_compare._ways(path, wide=False)) == expected
    assert list(_compare._ways(path, wide=True)) == expected[1:]


def pair_of(folder: Path, op: str) -> ModelPair:
    """Return two equal models of one operator."""
    path = folder / f"{op}.onnx"
    text = f"{HEADER} g (float[2] x) => (float[2] y) {{ y = {op} (x) }}"
    onnx.save(onnx.parser.parse_model(text), path)
    return ModelPair(path, path, random=False)


BATCHES: list[Feeds] = [{"x": np.array(each, np.float32)} for each in ([0, 1], [2, -1])]


def test_fp64_outputs_come_from_the_first_runtime_with_a_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fp64-0").mkdir()
    found = _compare._fp64_outputs(pair_of(tmp_path, "Exp"), BATCHES, tmp_path)
    assert found is not None
    for batch, outputs in zip(BATCHES, found, strict=True):
        np.testing.assert_allclose(outputs["y"], np.exp(batch["x"].astype(np.float64)), rtol=1e-14)
    # ONNX Runtime has this operator in FP32 only.
    models = pair_of(tmp_path, "HardSigmoid")
    monkeypatch.setattr(_compare, "_MOST_FOR_REFERENCE", models.before.stat().st_size)
    found = _compare._fp64_outputs(models, BATCHES, tmp_path)
    assert found is not None
    assert [outputs["y"].dtype for outputs in found] == [np.float64] * 2
    np.testing.assert_allclose([outputs["y"] for outputs in found], [[0.5, 0.7], [0.9, 0.3]])
    monkeypatch.setattr(_compare, "_MOST_FOR_REFERENCE", models.before.stat().st_size - 1)
    assert _compare._fp64_outputs(models, BATCHES, tmp_path) is None


def test_memory_that_runs_out_ends_all_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object) -> NoReturn:
        raise MemoryError

    monkeypatch.setattr(LoadedModel, "run", run)
    with pytest.raises(MemoryError):
        _compare._fp64_outputs(pair_of(tmp_path, "Exp"), BATCHES, tmp_path)
    with pytest.raises(MemoryError):
        _compare._compared(pair_of(tmp_path, "Exp"), (), Way(), settings_of(tmp_path, given=BATCHES))
    monkeypatch.setattr(_compare, "_answer", run)
    answers: list[Any] = []
    _compare.work({"pairs": [{}, {}]}, answers.append)
    assert answers == [{"error": "the comparison needs more memory than the process may use"}] * 2


def settings_of(folder: Path, *, given: list[Feeds], timed: bool = False) -> _compare._ComparisonSettings:
    """Return usual settings of a comparison."""
    pair = Pair(folder / "before.onnx", folder / "after.onnx", timed=timed)
    return _compare._ComparisonSettings(pair, given, 1 << 20, folder)


def test_two_large_models_are_not_loaded_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the timing loads two models."""
    models, settings = pair_of(tmp_path, "Exp"), settings_of(tmp_path, given=BATCHES, timed=True)
    size = 2 * models.before.stat().st_size
    for most, timed in ((size, True), (size - 1, False)):
        monkeypatch.setattr(_compare, "_MOST_FOR_TWO", most)
        figures = _compare._compared(models, (), Way(), settings)
        assert (figures["equal"], "times" in figures) == (True, timed)
    monkeypatch.setattr(_compare, "_MOST_FOR_TWO", size)
    for way in (Way(FP32), Way(reference=True)):
        assert "times" not in _compare._compared(models, (), way, settings)
    settings = settings_of(tmp_path, given=BATCHES)
    assert "times" not in _compare._compared(models, (), Way(), settings)


def test_a_mask_row_allows_its_first_key() -> None:
    batch = {
        "mask": np.zeros((2, 3), np.bool_),
        "ids": np.zeros((1, 2), np.int64),
        "bytes": np.zeros(2, np.uint8),
        "x": np.zeros((2, 2), np.float32),
        "step": np.array(0, np.int64),
    }
    types = {name: array.dtype for name, array in batch.items()} | {"x": np.dtype(np.float64)}
    (found,) = _compare._converted_inputs([batch], types, keep_a_key=True)
    assert {name: array.tolist() for name, array in found.items()} == {
        "mask": [[True, False, False]] * 2,
        "ids": [[1, 0]],
        "bytes": [1, 0],
        "x": [[0.0, 0.0]] * 2,
        "step": 0,
    }
    assert found["x"].dtype == np.float64
    (found,) = _compare._converted_inputs([batch], types, keep_a_key=False)
    assert not any(array.any() for array in found.values())


class Runner:
    """A model that accepts inputs of one size."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.asked: list[list[int]] = []

    def run(self, batches: list[Feeds]) -> list[dict[str, Any]]:
        self.asked.append([batch["x"].size for batch in batches])
        if self.asked[-1][0] != self._size:
            raise ValueError(f"size {self.asked[-1][0]}")
        return [dict(batch) for batch in batches]


class Choice:
    """Sets of inputs of one size: one set to try, and another number of sets in all."""

    def __init__(self, size: int, count: int = 3) -> None:
        self._one: Feeds = {"x": np.zeros(size, np.float32)}
        self._count = count
        self.beside = -1

    def first(self) -> list[Feeds]:
        return [self._one][: self._count]

    def all(self, beside: int = 0) -> list[Feeds]:
        self.beside = beside
        return [self._one] * self._count


def run_first(runner: Runner, *choices: Choice) -> int:
    """Return the number of accepted sets. The outputs equal the inputs."""
    types = {"x": np.dtype(np.float32)}
    sets = cast("tuple[RandomSets, ...]", choices)
    batches, outputs = _compare._run_first(cast("LoadedModel", runner), sets, types, keep_a_key=False)
    assert batches == outputs
    return len(batches)


def test_the_first_sizes_that_a_model_accepts_are_used() -> None:
    runner, choices = Runner(2), [Choice(1), Choice(2), Choice(2, count=5)]
    assert run_first(runner, *choices) == 3
    assert runner.asked == [[1], [2], [2, 2, 2]]
    assert [choice.beside for choice in choices] == [-1, 8, -1]


@pytest.mark.parametrize(
    ("choices", "reason"),
    [
        ([], "cannot generate inputs"),
        ([Choice(1, count=0)], "cannot generate inputs"),
        ([Choice(1), Choice(4)], "size 4"),
        ([Choice(1), Choice(2, count=0), Choice(3, count=0)], "size 1"),
    ],
)
def test_a_model_that_accepts_no_size_does_not_run(choices: list[Choice], reason: str) -> None:
    with pytest.raises(_compare._NotRunError, match=f"^the model does not run: {reason}$"):
        run_first(Runner(2), *choices)


@pytest.mark.parametrize(("most", "runs"), [(3, False), (4, True)])
def test_failed_attempts_take_a_limited_size(monkeypatch: pytest.MonkeyPatch, most: int, runs: bool) -> None:
    """The first attempt uses 4 bytes."""
    monkeypatch.setattr(_compare, "_MOST_BYTES", most)
    if runs:
        assert run_first(Runner(2), Choice(1), Choice(2)) == 3
    else:
        with pytest.raises(_compare._NotRunError, match="size 1"):
            run_first(Runner(2), Choice(1), Choice(2))


@pytest.mark.parametrize(
    ("size", "given", "equal", "expected"),
    [
        ("2", False, True, {"equal": True, "comparable": True, "widened": True, "reference": True}),
        ("2", False, False, {"equal": False, "comparable": True, "widened": True, "reference": True}),
        ("N", False, True, {"equal": True, "comparable": True, "widened": True, "reference": True}),
        ("N", True, False, {"equal": False, "comparable": True, "widened": True, "reference": True}),
        (
            "N",
            False,
            False,
            {
                "error": "no kernel; in ONNX's reference evaluator, the outputs of the two models differ, "
                "but this evaluator also accepts inputs whose shapes do not match each other"
            },
        ),
    ],
)
def test_differences_in_the_reference_count_with_known_sizes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    size: str,
    given: bool,
    equal: bool,
    expected: dict[str, Any],
) -> None:
    """The reference may accept sizes that do not match, so outputs on guessed sizes may differ."""

    def compared(_models: ModelPair, _inputs: object, way: Way, _wanted: object) -> dict[str, Any]:
        if not way.reference:
            raise _compare._NotRunError("no kernel")
        return {"equal": equal, "comparable": True}

    path = tmp_path / "m.onnx"
    text = f"{HEADER} g (float[{size}] x) => (float[{size}] y) {{ y = Neg (x) }}"
    onnx.save(onnx.parser.parse_model(text), path)
    monkeypatch.setattr(_compare, "_compared", compared)
    monkeypatch.setattr(_compare, "_user_inputs", lambda *_: BATCHES if given else [])
    pair = Pair(path, path).request
    assert _compare._answer(pair, {"memory": 1 << 20, "folder": str(tmp_path)}) == expected


@pytest.mark.parametrize(
    ("size", "given", "expected"),
    [("2", False, "broken"), ("N", True, "broken"), ("N", False, "error")],
)
def test_a_model_that_is_broken_in_the_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: str, given: bool, expected: str
) -> None:
    def compared(_models: ModelPair, _inputs: object, way: Way, _wanted: object) -> NoReturn:
        error = _compare._BrokenError if way.reference else _compare._NotRunError
        raise error("bad  node" if way.reference else "no kernel")

    path = tmp_path / "m.onnx"
    text = f"{HEADER} g (float[{size}] x) => (float[{size}] y) {{ y = Neg (x) }}"
    onnx.save(onnx.parser.parse_model(text), path)
    monkeypatch.setattr(_compare, "_compared", compared)
    monkeypatch.setattr(_compare, "_user_inputs", lambda *_: BATCHES if given else [])
    pair = Pair(path, path).request
    found = _compare._answer(pair, {"memory": 1 << 20, "folder": str(tmp_path)})
    assert found == {expected: "bad node" if expected == "broken" else "no kernel"}


def test_models_with_different_random_nodes_cannot_be_compared(tmp_path: Path) -> None:
    before, after = tmp_path / "before.onnx", tmp_path / "after.onnx"
    for path, name in ((before, "r"), (after, "s")):
        nodes = f"{name} = RandomNormalLike (x) y = Add (x, {name})"
        text = f"{HEADER} g (float[2] x) => (float[2] y) {{ {nodes} }}"
        onnx.save(onnx.parser.parse_model(text), path)
    found = _compare._answer(Pair(before, after).request, {"memory": 1 << 20, "folder": str(tmp_path)})
    assert found == {"error": "nodes that draw random numbers without a seed differ between the two models"}
