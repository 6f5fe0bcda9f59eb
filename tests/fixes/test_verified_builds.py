"""Tests of NVIDIA's builder on a fixed model, against its result for the source."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trtlint.buildfiles.layers import EngineLayer
from trtlint.dry_build import drybuild
from trtlint.dry_build.result import DryBuild, DryBuildResult
from trtlint.fixes import verification

BUILT: dict[str, Any] = {"parsed": True, "built": True}
STOPPED: dict[str, Any] = {"parsed": True, "cause": "time"}
AT_PARSER: dict[str, Any] = {"parsed": False}
AT_BUILDER: dict[str, Any] = {"parsed": True, "built": False}


def ended(fused: int = 0, warnings: int = 0, **how: Any) -> DryBuild:
    layers = SimpleNamespace(layers=[EngineLayer(0, "_gemm_mha_v2")] * fused)
    record: Any = SimpleNamespace(layers=layers, log=SimpleNamespace(severities={"W": warnings}))
    return DryBuild(DryBuildResult("1.7.1", **how), record)


def judged(before: DryBuild, after: DryBuild, monkeypatch: pytest.MonkeyPatch) -> verification.CheckResult:
    builds = iter([before, after])
    monkeypatch.setattr(drybuild, "dry_build", lambda *_, **__: next(builds))
    return verification.build(Path("a.onnx"), Path("b.onnx"), None)


@pytest.mark.parametrize(
    ("before", "after", "good"),
    [
        (ended(**AT_PARSER), ended(**BUILT), True),
        (ended(**AT_PARSER), ended(**AT_PARSER), True),
        (ended(**AT_PARSER), ended(**AT_BUILDER), True),
        (ended(**AT_BUILDER), ended(**AT_PARSER), False),
        (ended(**BUILT), ended(**AT_BUILDER), False),
        (ended(**BUILT), ended(**STOPPED), False),
        (ended(**STOPPED), ended(**BUILT), True),
        (ended(**STOPPED), ended(**AT_BUILDER), None),
        (ended(**AT_PARSER), ended(**STOPPED), None),
        (ended(1, 0, **BUILT), ended(0, 0, **BUILT), False),
        (ended(0, 2, **BUILT), ended(0, 0, **BUILT), True),
        (ended(0, 0, **BUILT), ended(0, 2, **BUILT), False),
        (ended(0, 0, **BUILT), ended(4, 2, **BUILT), True),
    ],
)
def test_nothing_may_be_worse(
    before: DryBuild, after: DryBuild, good: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert judged(before, after, monkeypatch).good is good


def test_the_figures_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    found = judged(ended(0, 2, **BUILT), ended(3, 0, **BUILT), monkeypatch)
    assert found.words == (
        "TensorRT-RTX 1.7.1: built before, built after; fused attention 0 before, 3 after;"
        " warnings 2 before, 0 after"
    )
    stopped = judged(ended(**STOPPED), ended(**AT_PARSER), monkeypatch)
    assert "not built (stopped at the time limit) before, rejected by the parser after" in stopped.words
