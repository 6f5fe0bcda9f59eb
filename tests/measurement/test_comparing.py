"""Tests of comparisons from the answers of ONNX Runtime's process, without the process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from trtlint.compare import comparison
from trtlint.compare.comparison import Comparison, Pair, compare_all
from trtlint.measurement.inputs import Inputs, InputsError
from trtlint.process.spawn import Limits

ANSWER = {
    "reference": False,
    "widened": False,
    "equal": True,
    "unsure": 0,
    "sets": 2,
    "largest_difference": 0.00012345,
    "lost": 0,
    "gained": 0,
    "changed": 0,
    "shape": None,
}
PAIR = Pair(Path("before.onnx"), Path("after.onnx"), Inputs())


class Process:
    """Fake processes that return answers from a list."""

    def __init__(self, *ends: tuple[str, Sequence[dict[str, Any]]], seconds: float = 1.0) -> None:
        self.ends = list(ends)
        self.seconds = seconds
        self.asked: list[tuple[int, bool, float]] = []

    def __call__(self, module: str, request: dict[str, Any], limits: Limits) -> SimpleNamespace:
        cause, answers = self.ends.pop(0)
        self.asked.append((len(request["pairs"]), request["pairs"][0]["wide"], limits.seconds))
        return SimpleNamespace(
            answers=tuple(answers), cause=cause, words=cause, seconds=self.seconds, processor=0.5
        )


def compared(
    monkeypatch: pytest.MonkeyPatch,
    process: Process,
    count: int = 1,
    *,
    wide: bool = False,
    seconds: float = 10.0,
) -> list[Comparison | InputsError]:
    """Return the comparisons of some pairs."""
    monkeypatch.setattr(comparison, "run", process)
    monkeypatch.setattr(comparison, "available", lambda: True)
    return list(compare_all([replace(PAIR, wide=wide)] * count, Limits(seconds, 3 << 30, 0.0)))


def words(found: Sequence[Comparison | InputsError]) -> list[str]:
    """Return the words of comparisons."""
    return [each.words if isinstance(each, Comparison) else str(each) for each in found]


@pytest.mark.parametrize(
    ("answer", "said", "equal"),
    [
        ({}, "largest difference 1.2e-04 on 2 sets of random inputs in ONNX Runtime", True),
        ({"equal": False}, "largest difference 1.2e-04 on 2 sets of random inputs in ONNX Runtime", False),
        ({"sets": 1}, "largest difference 1.2e-04 on 1 set of random inputs in ONNX Runtime", True),
        (
            {"shape": "y"},
            "2 sets of random inputs in ONNX Runtime, output 'y' is missing or has a different shape",
            True,
        ),
        (
            {"lost": 1},
            "random inputs in ONNX Runtime, 1 element changed from finite to infinity or NaN",
            True,
        ),
        (
            {"lost": 1234},
            "random inputs in ONNX Runtime, 1,234 elements changed from finite to infinity or NaN",
            True,
        ),
        ({"changed": 2}, ", 2 elements changed, with no finite value in either model", True),
        ({"gained": 3}, ", 3 elements newly finite", True),
        (
            {"reference": True, "widened": True},
            "2 sets of random inputs in ONNX's reference, because ONNX Runtime does not run the source model",
            True,
        ),
        (
            {"widened": True},
            "Runtime, both in FP32, because ONNX Runtime lacks kernels for the types of the source model",
            True,
        ),
        (
            {"unsure": 1},
            "Runtime; 1 element changed from infinity to a finite number, and a run in "
            "FP64 does not show that they should be finite",
            None,
        ),
        (
            {"unsure": 1, "equal": False},
            "largest difference 1.2e-04 on 2 sets of random inputs in ONNX Runtime",
            False,
        ),
        ({"broken": "no kernel"}, "the source model runs, but the rewritten model fails: no kernel", False),
        ({"error": "no kernel"}, "no kernel", None),
        ({"error": "no kernel", "broken": "x"}, "no kernel", None),
    ],
)
def test_answers_in_words(
    answer: dict[str, Any], said: str, equal: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (found,) = compared(monkeypatch, Process(("done", [{**ANSWER, **answer}])))
    assert isinstance(found, Comparison)
    assert said in found.words
    assert found.equal is equal
    if not {"error", "broken"} & answer.keys():
        assert (found.sets, found.lost, found.gained) == tuple(
            answer.get(name, ANSWER[name]) for name in ("sets", "lost", "gained")
        )
        assert found.difference == 0.00012345


def test_the_users_inputs_are_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "run", Process(("done", [ANSWER])))
    monkeypatch.setattr(comparison, "available", lambda: True)
    (found,) = compare_all([replace(PAIR, inputs=Inputs(("batch.npz",)))], Limits(9.0, 3 << 30, 0.0))
    assert isinstance(found, Comparison)
    assert found.words == "largest difference 1.2e-04 on 2 sets of your inputs in ONNX Runtime"


def test_inputs_that_cannot_be_used_are_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    found = compared(monkeypatch, Process(("done", [{"inputs": "no such file"}, ANSWER])), 2)
    assert isinstance(found[0], InputsError)
    assert isinstance(found[1], Comparison)


def test_a_crash_is_tried_again_in_fp32_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process(("crashed", [ANSWER]), ("done", [ANSWER]), ("done", [ANSWER]))
    found = compared(monkeypatch, process, 3)
    assert process.asked == [(3, False, 10.0), (1, True, 9.0), (1, False, 8.0)]
    assert [said.endswith(", both in FP32") for said in words(found)] == [False, True, False]


def test_a_crash_in_both_types_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process(("crashed", []), ("crashed", []), ("done", [ANSWER]))
    found = compared(monkeypatch, process, 2)
    assert process.asked == [(2, False, 10.0), (1, True, 9.0), (1, False, 8.0)]
    assert words(found)[0] == "the process that ran ONNX Runtime crashed"
    assert len(found) == 2


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        ("time", "the comparison exceeded the limit of 10 s"),
        ("memory", "the comparison exceeded the memory limit of 3 GB"),
        ("failed", "the process that ran ONNX Runtime failed"),
    ],
)
def test_other_ends_are_not_tried_again(cause: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process((cause, []), ("done", [ANSWER]))
    found = compared(monkeypatch, process, 2)
    assert process.asked == [(2, False, 10.0), (1, False, 9.0)]
    assert words(found)[0] == said


def test_what_is_wide_already_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process(("crashed", []), ("done", [ANSWER]))
    found = compared(monkeypatch, process, 2, wide=True)
    assert process.asked == [(2, True, 10.0), (1, True, 9.0)]
    assert words(found)[1].endswith(", both in FP32")


def test_when_time_is_up_nothing_more_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process(("crashed", []), seconds=10.0)
    found = compared(monkeypatch, process, 3)
    assert process.asked == [(3, False, 10.0)]
    assert words(found) == [
        "the process that ran ONNX Runtime crashed",
        *["the comparison exceeded the limit of 10 s"] * 2,
    ]
    assert [each.equal for each in found if isinstance(each, Comparison)] == [None] * 3


def test_without_onnx_runtime_nothing_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "available", lambda: False)
    assert list(compare_all([PAIR] * 2)) == [Comparison(None, comparison.missing())] * 2
