"""Tests of the answers and errors of a process that runs a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trtlint.measurement import measure
from trtlint.measurement.inputs import Inputs, InputsError
from trtlint.measurement.measure import FailedMeasurementError, MeasurementRequest
from trtlint.process import Cause
from trtlint.process.spawn import Limits, ProcessResult

pytest.importorskip("onnxruntime")


@pytest.mark.parametrize(
    ("cause", "code", "signal", "printed", "words"),
    [
        (
            "failed",
            1,
            "",
            "first\nRuntimeError: no such thing\n",
            "ended with code 1: RuntimeError: no such thing",
        ),
        ("failed", 1, "", "", "ended with code 1"),
        ("failed", 1, "", "first\n last line \n\n", "ended with code 1: last line"),
        ("failed", 1, "", "b" * 500, f"ended with code 1: {'b' * 400}"),
        ("crashed", None, "SIGSEGV", "the last words\n", "crashed (SIGSEGV)"),
    ],
)
def test_the_last_line_is_the_reason_of_a_failure_alone(
    cause: Cause,
    code: int | None,
    signal: str,
    printed: str,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run(*_: Any, log: Path, **__: Any) -> ProcessResult:
        log.write_text(printed)
        return ProcessResult(cause, code, signal, 1.0, None, ())

    monkeypatch.setattr(measure, "run", run)
    with pytest.raises(FailedMeasurementError) as caught:
        measure.measure(MeasurementRequest(str(tmp_path / "m.onnx"), "m.onnx"))
    assert str(caught.value) == f"the process that ran the model gave no result: it {words}"


def answer_of(
    monkeypatch: pytest.MonkeyPatch, *answers: Any, cause: Cause = "done", inputs: Inputs | None = None
) -> tuple[Any, list[Any]]:
    """Return the result of a process with the given answers, and its steps."""

    def run(*_: Any, log: Path, listen: Callable[[Any], None]) -> ProcessResult:
        log.write_text("a line")
        for answer in answers:
            listen(answer)
        return ProcessResult(cause, 0, "", 1.0, None, answers)

    monkeypatch.setattr(measure, "run", run)
    steps: list[Any] = []
    limits = Limits(seconds=90.5, memory=3 << 29)
    return measure.run_model("module", {}, limits, inputs or Inputs(), steps.append), steps


def test_the_last_answer_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [{"doing": "1 of 2"}, {"doing": "2 of 2"}]
    assert answer_of(monkeypatch, *steps, {"result": 7}) == (7, steps)


@pytest.mark.parametrize(
    ("answers", "cause", "error", "text"),
    [
        ([{"error": "inputs", "text": f"{Path.cwd() / 'x.npz'}: bad"}], "failed", InputsError, "x.npz: bad"),
        (
            [{"result": 7}, {"error": "other", "text": "bad model"}],
            "failed",
            FailedMeasurementError,
            "bad model",
        ),
        (
            [],
            "time",
            FailedMeasurementError,
            "measuring exceeded the time limit of 90.5 s; raise it with --seconds",
        ),
        (
            [],
            "memory",
            FailedMeasurementError,
            "measuring exceeded the memory limit of 1.5 GB; raise it with --memory",
        ),
        ([], "done", FailedMeasurementError, "the process that ran the model gave no result: it ended"),
    ],
)
def test_errors_of_the_process(
    monkeypatch: pytest.MonkeyPatch, answers: list[Any], cause: Cause, error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as caught:
        answer_of(monkeypatch, *answers, cause=cause, inputs=Inputs(("x.npz",)))
    assert str(caught.value) == text
