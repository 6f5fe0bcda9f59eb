"""Many models on one screen."""

from __future__ import annotations

import io
from dataclasses import replace

from syrupy.assertion import SnapshotAssertion

from tests.report import handmade
from trtlint.engine.finding import ModelReport, Suppression
from trtlint.report.summary import SCREEN, Summary


def write(models: list[ModelReport], *, height: int | None = SCREEN) -> list[str]:
    summary = Summary()
    for model in models:
        summary.add([model])
    file = io.StringIO()
    summary.write(file, height=height)
    return file.getvalue().splitlines()


def model(number: int, rules: int) -> ModelReport:
    """A model in which so many rules find something at three places."""
    findings = tuple(
        replace(handmade.SCALE, rule=f"T{rule:03}", sites=handmade.SCALE.sites[:3]) for rule in range(rules)
    )
    return ModelReport(f"m{number}.onnx", "TensorRT 10.7", findings)


def test_summary(snapshot: SnapshotAssertion) -> None:
    accepted = replace(handmade.CLIP, suppression=Suppression("baseline", "trtlint-baseline.json"))
    models = [
        *handmade.one_model().models,
        handmade.clean_model(),
        handmade.unreadable(),
        replace(handmade.clean_model("b.onnx"), findings=(handmade.CLIP,), suppressed=(accepted,)),
    ]
    assert "\n".join(write(models)) == snapshot


def test_worst_first() -> None:
    lines = write([model(i, 4 - i) for i in range(4)] + list(handmade.one_model().models))
    order = [line.split("[")[1].split("]")[0] for line in lines if "[" in line]
    assert order == ["T000", "T001", "T002", "ACC102", "T003", "ACC104"]


def test_a_screen_is_enough() -> None:
    broken = [handmade.unreadable(f"broken{i}.onnx") for i in range(30)]
    lines = write([model(i, 60) for i in range(500)] + broken)
    assert len(lines) < SCREEN
    assert any("30 files could not be linted" in line for line in lines)
    assert any("rarer rules at" in line and "--statistics" in line for line in lines)


def test_everything_where_asked_for() -> None:
    broken = [handmade.unreadable(f"broken{i}.onnx") for i in range(30)]
    lines = write([model(0, 60), *broken], height=None)
    assert sum("sdpa-scale" in line for line in lines) == 60
    assert sum("broken" in line for line in lines) == 30


def test_several_targets_count_once() -> None:
    summary = Summary()
    summary.add(handmade.several_targets().models)
    file = io.StringIO()
    summary.write(file)
    assert "1 error, 1 warning, 1 note in 1 model for TensorRT 10.6 to 11.0" in file.getvalue()


def test_nothing_found() -> None:
    assert write([handmade.clean_model()]) == ["no findings in 1 model for TensorRT 10.7"]
