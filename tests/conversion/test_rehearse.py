"""Tests of the operators kept for precision: exactly those of one float region."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.conversion.models import saved
from trtlint.conversion import _rehearse
from trtlint.conversion._rehearse import ErrorMeter, _beyond, _compared, _greatest, _ranges
from trtlint.conversion.measuring import KeepSearchResult
from trtlint.conversion.result import ConversionCheck, Magnitude
from trtlint.conversion.run import run
from trtlint.conversion.session import ConversionRequest
from trtlint.measurement.analysis import Findings
from trtlint.measurement.formats import FORMATS
from trtlint.measurement.inputs import Inputs
from trtlint.measurement.keeping import Budget
from trtlint.measurement.narrowing import Narrowing

pytest.importorskip("onnxruntime")

SHAPED = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[4,8] x) => (float[4,8] y)
< float much = {10000} >
{
  [up] a = Add(x, much) [down] b = Sub(a, much) [first] c = MatMul(b, w)
  s = Shape(b) [shaped] d = Reshape(c, s) [act] e = Relu(d) y = MatMul(e, w)
}
"""
"""An addition that needs digits, whose shape a later operator reads."""


def test_shapes_do_not_join_operators(tmp_path: Path) -> None:
    path = saved(SHAPED, tmp_path / "m.onnx")
    np.savez(tmp_path / "in.npz", x=np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32))
    found, _ = run(ConversionRequest(path, inputs=Inputs((str(tmp_path / "in.npz"),))), None)
    kept = {each.node for each in found.kept}
    assert {"up", "down"} <= kept
    assert not kept & {"shaped", "act"}
    assert found.share == 1.0


def test_no_run_starts_after_the_time_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trtlint.conversion.run._SECONDS", -1.0)
    found, _ = run(ConversionRequest(saved(SHAPED, tmp_path / "m.onnx")), None)
    assert found.verdict == "unproven"
    assert any("raise the limit with --seconds" in proof.text for proof in found.proofs)


def test_a_search_without_time_leaves_the_last_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(SHAPED, tmp_path / "m.onnx")
    failed = ConversionCheck("rehearsal", "failed", "too large an error", {"error": 1.0})
    searched = iter([KeepSearchResult(enough=True), KeepSearchResult(notes=("no time",))])
    monkeypatch.setattr("trtlint.conversion.session.search_in_process", lambda *_: next(searched))
    monkeypatch.setattr("trtlint.conversion.run.rehearse", lambda *_: failed)
    found, _ = run(ConversionRequest(path), None)
    assert found.verdict == "failed"


@pytest.mark.parametrize(
    ("references", "outputs", "error"),
    [([1000.0, 0.1], [1001.0, 0.11], 0.1), ([1000.0, 0.0], [1001.0, 1.0], 10.0), ([0.0], [0.0], 0.0)],
)
def test_a_batch_of_small_numbers_counts_as_much_as_one_of_large(
    references: list[float], outputs: list[float], error: float
) -> None:
    least = {"y": 1e-4 * max(references)}
    found = [
        _compared({"y": np.array([right], np.float32)}, {"y": np.array([got], np.float32)}, least)["y"] or 0.0
        for right, got in zip(references, outputs, strict=True)
    ]
    assert max(found) == pytest.approx(error)


def trial_with(*probes: tuple[str, str, float | None, bool, bool]) -> Any:
    """Return a trial of tensors: name, operator, magnitude, whether internal, whether narrow."""
    magnitudes = {name: magnitude for name, _, magnitude, _, _ in probes}
    listed = [
        SimpleNamespace(tensor=name, node=f"n{name}", op=op, inside=inside, narrow=narrow)
        for name, op, _, inside, narrow in probes
    ]
    return SimpleNamespace(
        ranged=SimpleNamespace(probes=listed, greatest=lambda probe: magnitudes[probe.tensor])
    )


TRIAL = trial_with(
    ("a", "Add", 8191.0, False, True),
    ("b", "Add", 8192.0, False, True),
    ("c", "Mul", 9e9, True, True),
    ("d", "Constant", 9e9, False, True),
    ("e", "Input", 9e9, False, True),
    ("f", "Add", 9e9, False, False),
    ("g", "Add", None, False, True),
    ("h", "Pow", 32759.0, False, True),
    ("i", "Pow", 32760.0, False, True),
)


def test_magnitudes_near_the_end_of_the_range_are_reported() -> None:
    assert _greatest(TRIAL) == {"b": 8192.0, "d": 9e9, "e": 9e9, "f": 9e9, "h": 32759.0, "i": 32760.0}
    many = trial_with(*((str(number), "Add", 1e5, False, True) for number in range(10_001)))
    assert len(_greatest(many)) == 10_000


def test_numbers_within_a_factor_of_two_of_the_end_are_beyond_it() -> None:
    found = _beyond(TRIAL, FORMATS["fp16"], Findings(frozenset({"z"}), frozenset({"k"}), frozenset({"m"})))
    assert (found.beyond, found.constants, found.inside) == ({"z", "i"}, {"k"}, {"m", "nc"})


def test_the_operators_with_the_largest_numbers_come_first() -> None:
    found = _ranges(TRIAL)
    assert [each.node for each in found] == ["nc", "ne", "nf", "ni", "nh", "nb", "na"]
    assert found[0] == Magnitude("nc", "Mul", 9e9)
    assert len(_ranges(trial_with(*((str(n), "Add", float(n), False, True) for n in range(50))))) == 40


class Simulations:
    """Fake simulations of a trial: one error per batch, and a record of each run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *errors: float, needed: str = "") -> None:
        self._patch = monkeypatch
        self._needed = frozenset(needed)
        self.runs: list[int] = []
        self.trial = self.of(*errors)
        self.budget = Budget(64, 60)
        self.errors = ErrorMeter(self.trial, Narrowing(FORMATS["fp16"]), 0.5, self.budget)
        monkeypatch.setattr(_rehearse, "rewrite", self._rewrite)
        monkeypatch.setattr(_rehearse, "RehearsalSession", lambda kept: SimpleNamespace(run=kept))

    def of(self, *errors: float) -> Any:
        """Return a trial with batches whose numbers are the errors."""
        ones = {"y": np.ones(1), "infinite": np.full(1, np.inf)}
        return SimpleNamespace(
            feeds=[{"x": error} for error in errors],
            fed=[{"x": error} for error in errors],
            fixed=frozenset(),
            noisy=0,
            ranged=SimpleNamespace(outputs=[ones] * len(errors), choices=[{}] * len(errors)),
            judged=frozenset("y"),
            model="model",
        )

    def _rewrite(self, model: str, narrowing: Narrowing, *, probed: bool, fixed: object) -> Any:
        assert (model, probed, narrowing.format) == ("model", False, FORMATS["fp16"])
        fine = bool(self._needed) and narrowing.keep >= self._needed

        def run(feeds: dict[str, float]) -> tuple[dict[str, Any], None]:
            self.runs.append(round(feeds["x"] * 10))
            return {"y": np.array([1 + (0.0 if fine else feeds["x"])])}, None

        return run


NO_PATHS: frozenset[str] = frozenset()
A, B = frozenset("a"), frozenset("b")


def test_a_measurement_ends_at_the_limit_and_begins_there_next(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Simulations(monkeypatch, 0.1, 0.5, 0.7, 0.9)
    assert made.errors.measure(NO_PATHS) == pytest.approx(0.7)
    assert made.runs == [1, 5, 7]
    assert made.errors.measure(NO_PATHS) == pytest.approx(0.7)
    assert (made.runs, made.budget.runs) == ([1, 5, 7], 1)
    assert made.errors.measure(A) == pytest.approx(0.7)
    assert (made.runs[3:], made.budget.runs) == ([7], 2)
    made.errors.limit(0.8)
    assert made.errors.measure(A) == pytest.approx(0.9)
    assert made.runs[4:] == [7, 1, 5, 9]
    assert made.errors.all(A) == pytest.approx(0.9)
    assert (made.runs[8:], made.budget.runs) == ([1, 5, 7, 9], 3)


def test_an_output_that_is_not_finite_ends_a_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Simulations(monkeypatch, 0.1, 0.2, 0.3)
    made.trial.fed[1]["x"] = np.inf
    monkeypatch.setattr(_rehearse, "rewrite", lambda *_, **__: run_infinite)
    assert made.errors.measure(NO_PATHS) is None
    assert made.errors.all(NO_PATHS) is None


def run_infinite(feeds: dict[str, float]) -> tuple[dict[str, Any], None]:
    return {"y": np.array([1 + feeds["x"]])}, None


@pytest.mark.parametrize(
    ("seconds", "runs"), [(0.0, [7, 1, 2]), (0.001, [7, 1, 2]), (0.25, [7, 1]), (0.26, [7]), (9.0, [7])]
)
def test_samples_are_the_batches_with_large_errors(
    monkeypatch: pytest.MonkeyPatch, seconds: float, runs: list[int]
) -> None:
    made = Simulations(monkeypatch, 0.1, 0.2, 0.3, 0.7)
    made.errors.measure(NO_PATHS)
    made.errors.limit(1.0)
    clock = iter([3.0, 3.0 + seconds])
    monkeypatch.setattr(_rehearse, "time", SimpleNamespace(monotonic=clock.__next__))
    del made.runs[:]
    assert made.errors.sample(A) == pytest.approx(0.7)
    assert made.runs == [7, *runs]
    assert made.errors.sample(A) == pytest.approx(0.7)
    assert made.errors.sample(B) == pytest.approx(0.7)
    assert made.runs == [7, *runs, *runs]
    assert made.errors.measure(A) == pytest.approx(0.7)
    assert made.runs[1 + 2 * len(runs) :] == [7, 1, 2, 3]


def test_batches_for_validation_are_adopted_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Simulations(monkeypatch, 0.1, needed="b")
    assert not made.errors.adopt(NO_PATHS)
    made.errors.validate(None)
    assert not made.errors.adopt(NO_PATHS)
    made.errors.validate(made.of(0.2, 0.5, 0.6, 0.8))
    assert made.errors.measure(NO_PATHS) == pytest.approx(0.1)
    del made.runs[:]
    assert made.errors.adopt(A)
    assert made.runs == [2, 5, 6]
    assert made.errors.measure(NO_PATHS) == pytest.approx(0.6)
    assert made.runs[3:] == [6]
    assert made.errors.adopt(A)
    assert made.runs[4:] == [2, 5, 8]
    assert made.errors.measure(A) == pytest.approx(0.8)
    assert made.runs[7:] == [8]
    assert not made.errors.adopt(A)
    assert made.errors.measure(B) == 0.0
    assert made.runs[10:] == [8, 6, 1]


@pytest.mark.parametrize(
    ("got", "error"),
    [
        ({"y": np.array([1.0, -4.0])}, 0.0),
        ({"y": np.array([2.0, -4.0])}, 0.25),
        ({"y": np.array([1.0, -6.0])}, 0.5),
        ({"y": np.array([1.0, np.inf])}, None),
        ({"y": np.array([[1.0, -4.0]])}, None),
        ({}, None),
    ],
)
def test_the_error_of_an_output(got: dict[str, Any], error: float | None) -> None:
    reference = {"y": np.array([1.0, -4.0]), "empty": np.zeros(0)}
    least = {"y": 1e-4, "empty": 0.0}
    assert _compared(reference, {"empty": np.zeros(0), **got}, least) == {"y": error, "empty": 0.0}
