"""Tests of rounding in the models for a simulation, without runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from trtlint.measurement.band import Band, BuildBand, within
from trtlint.measurement.chosen import ChoiceShares
from trtlint.measurement.formats import BF16, FP16, TF32, Format
from trtlint.measurement.fusion import FusedLayers
from trtlint.measurement.narrowing import Narrowing
from trtlint.measurement.rehearsing import Rehearsal, rehearse
from trtlint.measurement.trial import NarrowRun, Trial

LAYERS = FusedLayers("layers.json", 7, 9, frozenset({"t"}))
BEYOND = frozenset({"c"})


class Runs:
    """Fake runs whose results contain their settings."""

    def __init__(self, sums: bool, judged: bool, typed: bool) -> None:
        self.sums = sums
        self.judged = frozenset({"y"}) if judged else frozenset[str]()
        self.model = SimpleNamespace(typed=typed)
        self.probed: list[str] = []

    def accumulates(self, narrowing: Narrowing) -> bool:
        assert narrowing.accumulate
        return self.sums

    def rehearse(self, narrowing: Narrowing, *, probed: bool = False) -> NarrowRun:
        if probed:
            self.probed.append(words(narrowing))
        return NarrowRun({words(narrowing): 0.0})


def words(narrowing: Narrowing) -> str:
    """Return the settings of a run."""
    settings = {
        "fused": narrowing.fused,
        "stored": narrowing.stored == LAYERS.stored,
        "sums": narrowing.accumulate,
        "clamped": narrowing.clamped == BEYOND,
    }
    return " ".join(name for name, given in settings.items() if given) or "plain"


def named(result: NarrowRun | None) -> str | None:
    """Return the settings of the run of a result."""
    return None if result is None else next(iter(result.errors))


def rehearsed(
    format_: Format,
    *,
    beyond: bool = False,
    layers: bool = False,
    sums: bool = True,
    judged: bool = True,
    typed: bool = False,
) -> tuple[Rehearsal, list[str], Runs]:
    """Return the runs of a model, and the names of the rounding schemes in order."""
    said: list[str] = []
    runs = Runs(sums, judged, typed)
    constants = BEYOND if beyond else frozenset[str]()
    found = rehearse(cast("Trial", runs), format_, constants, LAYERS if layers else None, said.append)
    return found, said, runs


@pytest.mark.parametrize(
    ("format_", "settings", "fields", "ways", "said"),
    [
        (FP16, {}, ("plain", "fused", "sums", None), ["plain", "fused", "sums"], "fused accumulated"),
        (
            FP16,
            {"sums": False},
            ("plain", "fused", "plain", None),
            ["plain", "fused", "sums: plain"],
            "fused accumulated",
        ),
        (FP16, {"judged": False}, ("plain", "plain", "plain", None), ["plain"], ""),
        (BF16, {}, ("plain", "fused", "plain", None), ["plain", "fused"], "fused"),
        (TF32, {}, ("plain", "plain", "plain", None), ["plain"], ""),
        (TF32, {"layers": True}, ("plain", "plain", "plain", None), ["plain"], ""),
        (
            FP16,
            {"layers": True},
            ("plain", "fused", "sums", None),
            ["fused stored", "fused stored sums"],
            "fused accumulated build",
        ),
        (
            FP16,
            {"layers": True, "sums": False},
            ("plain", "fused", "plain", None),
            ["fused stored", "fused stored sums: fused stored"],
            "fused accumulated build",
        ),
        (
            BF16,
            {"layers": True},
            ("plain", "fused", "plain", None),
            ["fused stored"],
            "fused build",
        ),
        (
            BF16,
            {"beyond": True},
            ("clamped", "fused clamped", "clamped", "plain"),
            ["clamped", "fused clamped", "plain"],
            "fused",
        ),
        (
            BF16,
            {"beyond": True, "typed": True},
            ("clamped", "fused clamped", "clamped", None),
            ["clamped", "fused clamped"],
            "fused",
        ),
        (
            BF16,
            {"beyond": True, "layers": True},
            ("clamped", "fused clamped", "clamped", "plain"),
            ["fused stored clamped", "fused stored"],
            "fused build",
        ),
    ],
)
def test_the_runs_of_a_model(
    format_: Format, settings: dict[str, bool], fields: tuple[Any, ...], ways: list[str], said: str
) -> None:
    found, begun, runs = rehearsed(format_, **settings)
    results = (found.plain, found.fused, found.accumulated, found.unclamped)
    assert tuple(map(named, results)) == fields
    pairs = [(words(way), named(result)) for way, result in found.runs]
    assert [way if way == result else f"{way}: {result}" for way, result in pairs] == ways
    assert begun == ["rehearsal", *said.split()]
    assert runs.probed == [fields[0]]
    build = BuildBand("layers.json", 7, 9, 0.0, 0.0)
    assert found.build == (build if "build" in said else None)
    assert all(way.format is format_ for way, _ in found.runs)


def result(*errors: float | None) -> NarrowRun:
    """Return a result with the errors of some outputs."""
    return NarrowRun({f"y{index}": error for index, error in enumerate(errors)})


def test_errors_of_a_rehearsal() -> None:
    narrowing = Narrowing(FP16)
    plain, fused, summed, built = result(0.5, 0.25), result(0.125, None), result(1.0, 2.0), result(0.75, 3.0)
    found = Rehearsal(plain, fused, summed, None, None, ((narrowing, plain), (narrowing, built)))
    assert found.bands() == {"y0": Band(0.5, 0.125, 1.0), "y1": Band(0.25, None, 2.0)}
    assert [found.is_good(bound) for bound in (0.5, 2.9, 3.0, 3.1)] == [False, False, True, True]


@pytest.mark.parametrize(("format_", "accumulated"), [(FP16, 3.0), (BF16, 0.75)])
def test_the_error_of_a_build(format_: Format, accumulated: float) -> None:
    trial: Any = Runs(sums=True, judged=True, typed=False)
    trial.rehearse = lambda way, **_: result(0.5, 3.0 if way.accumulate else 0.75 if way.stored else 0.25)
    found = rehearse(trial, format_, BEYOND, LAYERS, lambda _: None)
    assert found.build == BuildBand("layers.json", 7, 9, 0.75, accumulated)


@pytest.mark.parametrize(
    ("errors", "good"), [((), True), ((0.5,), True), ((0.5, 0.51), False), ((None,), False)]
)
def test_errors_within_a_limit(errors: tuple[float | None, ...], good: bool) -> None:
    assert within(result(*errors).worst, 0.5) is good


def test_the_smallest_share_of_equal_choices_in_all_runs() -> None:
    def run(*choices: ChoiceShares) -> tuple[Narrowing, NarrowRun]:
        return Narrowing(FP16), NarrowRun({"y": 0.0}, choices=choices)

    same, changed, other = (
        ChoiceShares("top", 1, 1),
        ChoiceShares("top", 1, 0.5),
        ChoiceShares("nms", 0.9, 0.9),
    )
    runs = run(same), run(changed, other), run(same)
    found = Rehearsal(runs[0][1], runs[1][1], runs[2][1], None, None, runs)
    assert found.choices() == (changed, other)
