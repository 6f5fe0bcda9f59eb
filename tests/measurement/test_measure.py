"""Tests of messages for failed measurement processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from trtlint.measurement import measure
from trtlint.measurement.measure import MeasureError, MeasurementRequest
from trtlint.process.spawn import ProcessResult

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
        ("crashed", None, "SIGSEGV", "the last words\n", "crashed (SIGSEGV)"),
    ],
)
def test_the_last_line_is_the_reason_of_a_failure_alone(
    cause: Literal["failed", "crashed", "memory"],
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
    with pytest.raises(MeasureError) as caught:
        measure.measure(MeasurementRequest(str(tmp_path / "m.onnx"), "m.onnx"))
    assert str(caught.value) == f"the process that ran the model gave no result: it {words}"
