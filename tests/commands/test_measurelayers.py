"""Tests of the layers in a measurement: source build, and messages without layers."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.graphs import model_of
from trtlint.buildfiles.layers import layers_from_json
from trtlint.buildfiles.record import FileContents, together
from trtlint.commands.measure import MeasureOptions, layers_of
from trtlint.dry_build import drybuild
from trtlint.dry_build.errors import DryBuildError, WheelError
from trtlint.dry_build.result import DryBuild, DryBuildResult
from trtlint.errors import SettingError
from trtlint.measurement.fusion import FusedLayers
from trtlint.target.target import Target

MODEL = model_of(
    """< ir_version: 8, opset_import: ["" : 17] > g (float[4] x) => (float[4] y)
    { [a] p = Relu (x)  [b] q = Exp (p)  [c] y = Neg (q) }"""
)


def layers(*names: str) -> dict[str, Any]:
    """Return the layers of an engine."""
    tensor = {"Name": "t", "Dimensions": [4], "Format/Datatype": "Float"}
    given = [
        {"Name": name, "LayerType": "PointWise", "Inputs": [tensor], "Outputs": [tensor]} for name in names
    ]
    return {"Layers": given, "Bindings": []}


def found(targets: tuple[Target, ...] = (), **options: str | None) -> FusedLayers | None:
    """Return the layers selected by options."""
    given = SimpleNamespace(**{"model": "model.onnx", "layers": None, "dry_build": None, **options})
    return layers_of(cast("MeasureOptions", given), MODEL, targets)


def said(**options: str | None) -> str:
    """Return the reason for missing layers."""
    with pytest.raises(SettingError) as caught:
        found((), **options)
    return str(caught.value)


BUILT = DryBuildResult("1.7.1", parsed=True, built=True)


class DryBuilds:
    """Recorded dry builds with a given outcome."""

    def __init__(self, *names: str, result: DryBuildResult = BUILT, record: bool = True) -> None:
        read = [FileContents("layers.json", layers_from_json(layers(*names)))]
        self.end = DryBuild(result, together(read) if record else None)
        self.asked: list[tuple[str, str | None, int | None]] = []

    def __call__(self, model: Path, *, version: str | None, sm: int | None) -> DryBuild:
        self.asked.append((str(model), version, sm))
        return self.end


def test_without_an_option_no_layers_are_known() -> None:
    assert found() is None


def test_two_sources_are_refused() -> None:
    assert said(layers="a.json", dry_build="") == (
        "--layers cannot be used with --dry-build; keep --layers, which is more exact"
    )


def test_layers_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "layers.json"
    file.write_text(json.dumps(layers("a + b", "c")), "utf-8")
    assert found(layers=str(file)) == FusedLayers(str(file), 2, 3, frozenset({"q", "y"}))
    file.write_text(json.dumps(layers("other")), "utf-8")
    assert said(layers=str(file)) == (
        f"{file}: no layer belongs to a node of {MODEL.path}; pass the layer information of "
        "this model's build"
    )
    assert "none.json" in said(layers=str(tmp_path / "none.json"))


@pytest.mark.parametrize(
    ("wanted", "version", "sms", "sm"),
    [
        ("", None, (), None),
        ("1.7", "1.7", (None,), None),
        ("zzz", "zzz", (None, 89, 120), 89),
        ("", None, (75,), 75),
    ],
)
def test_layers_of_a_dry_build(
    wanted: str,
    version: str | None,
    sms: tuple[int | None, ...],
    sm: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    builds = DryBuilds("a", "b + c")
    monkeypatch.setattr(drybuild, "dry_build", builds)
    label = "dry build, TensorRT-RTX 1.7.1, SM 8.9"
    targets = tuple(Target(sm=each) for each in sms)
    assert found(targets, dry_build=wanted) == FusedLayers(label, 2, 3, frozenset({"p", "y"}))
    assert builds.asked == [("model.onnx", version, sm)]


@pytest.mark.parametrize(
    "builds",
    [DryBuilds("a", record=False), DryBuilds("a", result=DryBuildResult("1.7.1", parsed=True, built=False))],
)
def test_a_dry_build_without_an_engine(builds: DryBuilds, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drybuild, "dry_build", builds)
    label = "dry build, TensorRT-RTX 1.7.1, SM 8.9"
    assert said(dry_build="") == f"--dry-build: {label}: the model was not built"


@pytest.mark.parametrize("error", [WheelError, DryBuildError])
def test_a_dry_build_that_fails(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error("no wheels")

    monkeypatch.setattr(drybuild, "dry_build", fails)
    assert said(dry_build="1.7") == "--dry-build: no wheels"
