"""Tests of comparison processes: limits and early exits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
import pytest

from trtlint.compare import comparison
from trtlint.compare._compare import work
from trtlint.compare.comparison import Pair, available, compare, compare_all, usual_limits
from trtlint.files.limits import Allowance, limit_work
from trtlint.measurement.inputs import InputsError
from trtlint.process import Cause
from trtlint.process.spawn import Limits, ProcessResult

pytestmark = pytest.mark.skipif(not available(), reason="polygraphy or onnxruntime is not installed")

EQUAL = {
    "equal": True,
    "sets": 1,
    "largest_difference": 0.0,
    "beyond": 0,
    "lost": 0,
    "gained": 0,
    "unsure": 0,
    "changed": 0,
    "shape": "",
    "comparable": True,
    "blank": {},
    "widened": False,
    "reference": False,
}


def ended(
    cause: Cause, *answers: dict[str, Any], seconds: float = 1.0, processor: float = 0.0
) -> ProcessResult:
    signal = "SIGSEGV" if cause == "crashed" else ""
    return ProcessResult(cause, None, signal, seconds, None, answers, processor)


class Processes:
    """Fake processes that return results in order and record the requests."""

    def __init__(self, *results: ProcessResult) -> None:
        self._results = list(results)
        self.asked: list[tuple[int, bool, Limits]] = []

    def __call__(self, _: str, request: Mapping[str, Any], limits: Limits) -> ProcessResult:
        self.asked.append((len(request["pairs"]), request["pairs"][0]["wide"], limits))
        return self._results.pop(0)


def compared(
    monkeypatch: pytest.MonkeyPatch, count: int, processes: Processes, limits: Limits, *, wide: bool = False
) -> list[str]:
    monkeypatch.setattr(comparison, "run", processes)
    found = compare_all([Pair(Path("a.onnx"), Path("b.onnx"), wide=wide)] * count, limits)
    return [
        str(each) if isinstance(each, InputsError) else each.words if each.equal is None else str(each.equal)
        for each in found
    ]


def test_a_crash_is_tried_again_in_fp32(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = Processes(ended("crashed", EQUAL), ended("done", EQUAL), ended("done", EQUAL))
    assert compared(monkeypatch, 3, processes, Limits(10, 1 << 30)) == ["True"] * 3
    assert [asked[:2] for asked in processes.asked] == [(3, False), (1, True), (1, False)]
    assert [asked[2].seconds for asked in processes.asked] == [10, 9, 8]


@pytest.mark.parametrize("wide", [True, False])
def test_a_second_crash_is_the_reason(monkeypatch: pytest.MonkeyPatch, wide: bool) -> None:
    processes = Processes(*[ended("crashed")] * (1 if wide else 2))
    (reason,) = compared(monkeypatch, 1, processes, Limits(10, 1 << 30), wide=wide)
    assert reason.startswith("the process that ran ONNX Runtime ")
    assert len(processes.asked) == (1 if wide else 2)


def test_a_crash_at_the_end_of_the_time_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = Processes(ended("crashed", seconds=10.0))
    first, second = compared(monkeypatch, 2, processes, Limits(10, 1 << 30))
    assert first.startswith("the process that ran ONNX Runtime ")
    assert second.startswith("the comparison ")
    assert len(processes.asked) == 1


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        ("memory", "exceeded the memory limit of 1 GB"),
        ("time", "the comparison "),
        ("failed", "the process that ran "),
    ],
)
def test_why_a_process_gave_no_answer(monkeypatch: pytest.MonkeyPatch, cause: Cause, reason: str) -> None:
    (found,) = compared(monkeypatch, 1, Processes(ended(cause)), Limits(10, 1 << 30))
    assert reason in found
    assert ("memory" in found) is (cause == "memory")


def test_processor_time_is_shared_by_all_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = Processes(ended("failed", processor=3.0), ended("failed", processor=3.0))
    compared(monkeypatch, 3, processes, Limits(100, 1 << 30, 5.0))
    assert [asked[2].processor for asked in processes.asked] == [5.0, 2.0]
    processes = Processes(*[ended("failed", processor=3.0)] * 3)
    compared(monkeypatch, 3, processes, Limits(100, 1 << 30))
    assert [asked[2].processor for asked in processes.asked] == [0.0, 0.0, 0.0]


def test_a_comparison_takes_three_quarters_of_a_small_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for memory, expected in ((4 << 30, 3 << 30), (1 << 40, 16 << 30)):
        monkeypatch.setattr(comparison, "machine_memory", lambda memory=memory: memory)
        assert usual_limits() == Limits(600.0, expected)


def test_proofs_of_parts_leave_time_for_the_whole() -> None:
    with limit_work(allowance=Allowance(100.0, 1 << 30)):
        whole, part = usual_limits(), usual_limits(part=True)
    assert whole.memory == part.memory == 1 << 30
    assert (whole.processor, part.processor) == (pytest.approx(90, abs=2), pytest.approx(60, abs=2))
    assert (whole.seconds, part.seconds) == (pytest.approx(360, abs=8), pytest.approx(240, abs=8))
    with limit_work(allowance=Allowance(10_000.0, 1 << 30)):
        assert usual_limits().seconds == 600.0


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"lost": 1}, "1 element changed from finite to infinity or NaN"),
        ({"lost": 2}, "2 elements changed from finite to infinity or NaN"),
        ({"changed": 1000}, "1,000 elements changed, with no finite value in either model"),
        ({"gained": 1}, "1 element newly finite"),
        ({"sets": 2}, "on 2 sets of random inputs in ONNX Runtime"),
        ({"sets": 1}, "on 1 set of random inputs in ONNX Runtime"),
        ({"reference": True}, "in ONNX's reference"),
        ({"shape": "y"}, "output 'y' is missing or has a different shape"),
    ],
)
def test_figures_in_words(figures: dict[str, Any], words: str) -> None:
    assert words in comparison._figures({**EQUAL, **figures}, "random")


def answer(folder: Path, before: str, after: str, **settings: Any) -> dict[str, Any]:
    """Compare two models in this process."""
    head = '< ir_version: 8, opset_import: ["" : 17] > g (float[N,3] x) => (float[A] y)'
    paths = []
    for name, body in (("one", before), ("two", after)):
        paths.append(folder / f"{name}.onnx")
        onnx.save(onnx.parser.parse_model(f"{head} < float two = {{2}} > {{ {body} }}"), paths[-1])
    scratch = folder / "scratch"
    scratch.mkdir()
    pair = Pair(paths[0], paths[1], **settings).request
    answers: list[dict[str, Any]] = []
    work({"memory": 1 << 30, "folder": str(scratch), "pairs": [pair]}, answers.append)
    return answers[0]


def test_both_models_are_timed_if_asked(tmp_path: Path) -> None:
    for index, timed in enumerate((True, False)):
        (tmp_path / str(index)).mkdir()
        found = answer(tmp_path / str(index), "y = Add (x, x)", "y = Mul (x, two)", timed=timed)
        assert ("times" in found, found["equal"], found["sets"]) == (timed, True, 8)


def test_a_rewritten_model_that_does_not_run_is_broken(tmp_path: Path) -> None:
    found = answer(tmp_path, "y = Add (x, x)", "y = Mul (x, gone)")
    assert set(found) == {"broken"}
    assert found["broken"].startswith("[ONNXRuntimeError]")


def test_models_compute_in_their_own_types(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = Processes(*[ended("done", EQUAL)] * 2)
    monkeypatch.setattr(comparison, "run", processes)
    compare(Pair(Path("a.onnx"), Path("b.onnx")))
    compare(Pair(Path("a.onnx"), Path("b.onnx"), wide=True))
    assert [asked[1] for asked in processes.asked] == [False, True]
