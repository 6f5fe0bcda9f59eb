"""Tests of the requests to the process that runs the model, and of its answers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert, to_builtins
from msgspec.structs import replace

from tests.conversion.models import PRODUCTS, saved
from trtlint.conversion import measuring
from trtlint.conversion.measuring import ConversionNeedsRuntimeError, KeepSearchResult, SearchRequest
from trtlint.conversion.result import ConversionCheck, Magnitude
from trtlint.conversion.session import ConversionRequest, ConversionSession
from trtlint.measurement import measure
from trtlint.measurement.inputs import Inputs
from trtlint.measurement.measure import usual_limits
from trtlint.process import Cause
from trtlint.process.spawn import Limits, ProcessResult

SAME = {"node": "m", "elements": 1.0, "positions": 1.0}
OTHER = {"node": "n", "elements": 0.9999, "positions": 0.5}
ANSWER = {
    "worst": 0.005,
    "batches": 3,
    "errors": {"y": 0.005},
    "trivial": "",
    "generated": False,
    "floats": True,
    "compared": "",
    "decides": True,
    "changed": {},
    "choices": [],
}
FIGURES = {"error": 0.005, "tolerance": 0.01, "batches": 3, "errors": {"y": 0.005}}
WITHIN = "the largest error of any output is 0.005 (tolerance 0.01)"
TENSORS = {"compared": "y is an index", "changed": {"y": 0.0, "z": 0.0}}
TENSORS_WITHIN = f"{WITHIN.replace('output', 'compared tensor')}; y is an index"


@pytest.fixture(autouse=True)
def with_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "find_spec", lambda _: object())


def request(folder: Path, **settings: Any) -> ConversionRequest:
    model = folder / "m.onnx"
    model.write_bytes(b"model")
    return ConversionRequest(model, size=5, **settings)


class Process:
    """Stands for the process: records its order, and ends with the given answers."""

    def __init__(self, *answers: Any, cause: Cause = "done", log: str = "") -> None:
        self.result = ProcessResult(cause, 0, "", 1.0, None, answers)
        self.log = log
        self.orders: list[tuple[str, Any, Limits]] = []

    def __call__(
        self, work: str, order: Any, limits: Limits, *, log: Path, listen: Callable[[Any], None]
    ) -> ProcessResult:
        self.orders.append((work, order, limits))
        log.write_text(self.log, encoding="utf-8")
        for answer in self.result.answers:
            listen(answer)
        return self.result


@pytest.mark.parametrize(
    ("changes", "verdict", "text"),
    [
        ({}, "proven", WITHIN),
        ({"worst": 0.01}, "proven", WITHIN.replace("0.005", "0.01")),
        ({"worst": 0.011}, "failed", WITHIN.replace("0.005", "0.011")),
        ({"worst": 0.011, "trivial": "t", "generated": True}, "failed", WITHIN.replace("0.005", "0.011")),
        (
            {"errors": {}, "worst": None, "floats": False},
            "unproven",
            "the model has no float output, and the rehearsal compares only float outputs",
        ),
        ({"errors": {}}, "unproven", "every float output contains infinity or NaN in FP32"),
        ({"errors": {}, "worst": None}, "unproven", "every float output contains infinity or NaN in FP32"),
        (
            {"worst": None},
            "failed",
            "an output of the converted model contains infinity or NaN, or has another shape",
        ),
        ({"trivial": "all outputs are 0", "generated": True}, "unproven", "all outputs are 0"),
        (
            {"generated": True},
            "unproven",
            f"{WITHIN}, on generated inputs; give real inputs with --inputs",
        ),
        (TENSORS, "proven", TENSORS_WITHIN),
        (
            {**TENSORS, "changed": {"y": 0.0, "z": 0.01}},
            "proven",
            f"{TENSORS_WITHIN}; 1.00% of the elements of output z differ",
        ),
        (
            {**TENSORS, "changed": {"y": 0.011, "z": 0.01}},
            "unproven",
            f"{TENSORS_WITHIN}; 1.10% of the elements of output y differ, which is more than the tolerance",
        ),
        ({**TENSORS, "decides": False}, "unproven", TENSORS_WITHIN),
        (
            {**TENSORS, "worst": 0.011, "decides": False},
            "failed",
            TENSORS_WITHIN.replace("0.005", "0.011"),
        ),
        (
            {**TENSORS, "errors": {}},
            "unproven",
            "every compared tensor contains infinity or NaN in FP32; y is an index",
        ),
        ({"choices": [SAME]}, "proven", WITHIN),
        (
            {"choices": [SAME, OTHER]},
            "unproven",
            f"{WITHIN}, if TopK and similar operators choose the elements that FP32 chooses; "
            "n itself would choose 99.9 % of these elements, 50 % at the same position",
        ),
        (
            {**TENSORS, "worst": None},
            "failed",
            "a compared tensor of the converted model contains infinity or NaN, or has another shape; "
            "y is an index",
        ),
    ],
)
def test_the_verdict_of_a_rehearsal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], verdict: Any, text: str
) -> None:
    answer = {**ANSWER, **changes}
    process = Process({"result": answer})
    monkeypatch.setattr(measure, "run", process)
    steps: list[str] = []
    found = measuring.rehearse(request(tmp_path), Path("out.onnx"), steps.append, 2)
    figures = {**FIGURES, "error": answer["worst"], "errors": answer["errors"]}
    if answer["compared"]:
        figures["changed"] = answer["changed"]
    if answer["choices"]:
        figures["choices"] = answer["choices"]
    assert found == ConversionCheck("rehearsal", verdict, text, figures)
    assert steps == ["rehearsal"]
    ((work, order, _),) = process.orders
    assert work == "trtlint.conversion._rehearse"
    assert order == {
        "task": "rehearsal",
        "model": str(tmp_path / "m.onnx"),
        "type": "fp16",
        "inputs": to_builtins(Inputs()),
        "attempt": 2,
        "converted": "out.onnx",
    }


def test_a_rehearsal_that_does_not_run_proves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "run", Process({"error": "model", "text": "no kernel"}))
    found = measuring.rehearse(request(tmp_path), tmp_path / "out.onnx", lambda _: None)
    assert found == ConversionCheck("rehearsal", "unproven", "no kernel")


def test_a_search_needs_onnx_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "find_spec", lambda _: None)
    with pytest.raises(ConversionNeedsRuntimeError, match=r"^measuring needs ONNX Runtime: .*--no-measure$"):
        ConversionSession(ConversionRequest(saved(PRODUCTS, tmp_path / "m.onnx"))).measure()


@pytest.mark.parametrize(
    ("settings", "cause", "text"),
    [
        ({"seconds": 9.0}, "time", "measuring exceeded the time limit of 9 s; raise it with --seconds"),
        (
            {"memory": 3 << 29},
            "memory",
            "measuring exceeded the memory limit of 1.5 GB; raise it with --memory",
        ),
    ],
)
def test_past_a_limit_the_message_names_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], cause: Cause, text: str
) -> None:
    monkeypatch.setattr(measure, "run", Process(cause=cause, log="a line"))
    given = request(tmp_path, **settings)
    assert measuring.rehearse(given, tmp_path / "out.onnx", lambda _: None).text == text
    searched = ConversionSession(replace(given, model=saved(PRODUCTS, tmp_path / "m.onnx")))
    searched.measure()
    assert searched.found == KeepSearchResult(notes=(text,))


def test_the_search_gets_the_groups_and_the_earlier_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = KeepSearchResult(
        {"first": "too large"}, 0.5, enough=False, ranges=(Magnitude("first", "MatMul", 9.0),)
    )
    process = Process({"doing": "ranges"}, {"result": to_builtins(first)})
    monkeypatch.setattr(measure, "run", process)
    steps: list[str] = []
    path = saved(PRODUCTS, tmp_path / "m.onnx")
    session = ConversionSession(ConversionRequest(path, keep=("second",)), steps.append)
    session.measure()
    assert session.found == first
    session.measure(1)
    assert steps == ["reading", "ranges", "ranges"]
    wanted = [convert(json.loads(json.dumps(order)), SearchRequest) for _, order, _ in process.orders]
    assert wanted[0] == SearchRequest(
        model=str(path),
        type="fp16",
        inputs=Inputs(),
        attempt=0,
        io="fp32",
        tolerance=0.01,
        kept={},
        fixed=frozenset({"second"}),
        groups=(),
        costs={"first": 8192, "second": 8192},
    )
    assert wanted[1] == replace(wanted[0], attempt=1, kept=first.kept)


def test_limits_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = usual_limits(5)
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    choices: tuple[tuple[dict[str, Any], Limits], ...] = (
        ({}, usual),
        ({"seconds": 9.0}, Limits(9.0, usual.memory)),
        ({"memory": 77}, Limits(usual.seconds, 77)),
        ({"seconds": 9.0, "until": 105.0}, Limits(5.0, usual.memory)),
        ({"seconds": 9.0, "until": 110.0}, Limits(9.0, usual.memory)),
    )
    for settings, expected in choices:
        process = Process({"result": ANSWER})
        monkeypatch.setattr(measure, "run", process)
        measuring.rehearse(request(tmp_path, **settings), tmp_path / "out.onnx", lambda _: None)
        assert [limits for _, _, limits in process.orders] == [expected]
    for until in (99.0, 100.0):
        found = measuring.rehearse(request(tmp_path, until=until), tmp_path / "out.onnx", lambda _: None)
        assert found.text.startswith("the time limit for runs of the model is reached")
