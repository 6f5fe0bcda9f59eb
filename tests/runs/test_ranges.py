"""Tests of measurement files as input of other commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trtlint.measurement.measurement import UnusableMeasurementError
from trtlint.model.errors import ModelError
from trtlint.report.measureadvice import to_keep
from trtlint.runs import ranges
from trtlint.runs.ranges import RangeReader


@dataclass(frozen=True)
class Found:
    """A measurement."""

    digest: str
    path: str = "was.onnx"


def ranged(monkeypatch: pytest.MonkeyPatch, digests: Mapping[str, str | Exception], *files: str) -> list[Any]:
    """Return the measurement of each model; the digests of measurements are their names."""

    def digest(path: Path) -> str:
        found = digests[path.name]
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(ranges, "digest", digest)
    monkeypatch.setattr(ranges, "measurement_of", lambda name: (name, Found(name)))
    reader = RangeReader(files)
    evidence = [reader.evidence_for(Path(name)) for name in digests]
    reader.close()
    return [None if each is None else each.data for each in evidence]


def test_each_model_gets_its_own_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    found = ranged(monkeypatch, {"a.onnx": "one", "b.onnx": "two", "c.onnx": "three"}, "two", "one")
    assert [each and each.digest for each in found] == ["one", "two", None]


@pytest.mark.parametrize("error", [ModelError("broken"), OSError("gone")])
def test_a_model_that_cannot_be_read_is_left_to_others(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = ranged(monkeypatch, {"a.onnx": error, "b.onnx": "two"}, "two")
    assert [each is not None for each in found] == [False, True]


def test_a_model_in_memory_gets_the_last_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "measurement_of", lambda name: (name, Found(name)))
    reader = RangeReader(("one", "two"))
    evidence: Any = reader.evidence_for(None)
    assert evidence.data == Found("two")
    reader.close()


def test_a_measurement_may_be_about_a_model_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ranged(monkeypatch, {"a.onnx": ModelError("broken")}, "two") == [None]


def test_a_measurement_of_no_model_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        UnusableMeasurementError,
        match=r"other: this is a measurement of another model, or of an older version of was",
    ):
        ranged(monkeypatch, {"a.onnx": "one"}, "one", "other")


def test_without_measurements_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ranged(monkeypatch, {"a.onnx": "one"}) == [None]


def found(*nodes: str, verified: bool = True, **settings: Any) -> Any:
    """Return a measurement of an FP16 model that recommends some operators to keep."""
    kept = SimpleNamespace(nodes=nodes, verified=verified)
    values = {"rehearsed": True, "kept": kept, "fits": True, "typed": True, "type": "fp16"}
    values |= {"path": "m.onnx", "files": (), **settings}
    return SimpleNamespace(**values)


def test_operators_to_keep() -> None:
    assert to_keep(found("a", "b")) == ("a", "b")
    assert to_keep(found()) == ()
    assert to_keep(found(kept=None)) == ()
    for broken, why in (
        (found("a", rehearsed=False), "--no-rehearse"),
        (found("a", verified=False), "the search found no set of nodes"),
        (found(typed=False), "the model is an FP32 model"),
        (found(kept=None, typed=False), "the model is an FP32 model"),
    ):
        with pytest.raises(UnusableMeasurementError, match=why):
            to_keep(broken)
