"""Tests of rewritten models in ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from trtlint.measurement import session
from trtlint.measurement.narrowing import RewrittenModel
from trtlint.measurement.session import RehearsalSession
from trtlint.measurement.trialmodel import ModelNotLoadedError, TrialError

pytest.importorskip("onnxruntime")

HEAD = '< ir_version: 8, opset_import: ["" : 17, "own" : 1] > g (float[2] x) => (float[2] y) '


def session_of(body: str, outputs: tuple[str, ...]) -> RehearsalSession:
    data = onnx.parser.parse_model(f"{HEAD} {{ {body} }}").SerializeToString()
    return RehearsalSession(RewrittenModel(data, (), outputs, 3, 0))


def test_a_model_without_outputs_to_return_is_not_run() -> None:
    outputs, figures = session_of("y = Neg (x)", ()).run({})
    assert (outputs, figures.shape, figures.dtype) == ({}, (0, 3), np.float32)


def test_outputs_by_name() -> None:
    outputs, figures = session_of("y = Neg (x)", ("y",)).run({"x": np.array([1, 2], np.float32)})
    assert outputs["y"].tolist() == [-1, -2]
    assert figures.shape == (0, 3)


def test_errors_name_the_step_that_failed() -> None:
    with pytest.raises(ModelNotLoadedError, match=r"^ONNX Runtime cannot load the model: \[ONNXRuntimeError"):
        session_of("y = own.Unknown (x)", ("y",))
    with pytest.raises(TrialError, match=r"^ONNX Runtime cannot run the model on these inputs: .*x"):
        session_of("y = Neg (x)", ("y",)).run({"x": np.zeros(3, np.float32)})


@pytest.mark.parametrize(
    ("message", "reason"),
    [("one", "one"), (" one \n\n  two\nthree", "one two"), ("", "ValueError"), (" \n ", "ValueError")],
)
def test_two_lines_of_an_error(message: str, reason: str) -> None:
    assert session._reason(ValueError(message)) == reason


@pytest.mark.parametrize(("cpus", "used"), [(8, 8), (None, 1)])
def test_a_thread_for_each_processor(monkeypatch: pytest.MonkeyPatch, cpus: int | None, used: int) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: cpus)
    data = onnx.parser.parse_model(f"{HEAD} {{ y = Neg (x) }}").SerializeToString()
    found = RehearsalSession(RewrittenModel(data, (), ("y",), 1, 0))
    assert found._session.get_session_options().intra_op_num_threads == used
