"""Tests of the summary of several upgrades, with one line per model."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tests.report.handmade import CLIP, FLAG, GPU, SCALE
from trtlint.engine.finding import Finding
from trtlint.engine.rule import Concern
from trtlint.engine.upgrade import ReleaseAssessment, SafestRelease, Upgrade, UpgradeFinding
from trtlint.report.upgradedecision import conditional_rows, rows, shared


def line(name: str, *, supported: bool = True, **risks: int) -> ReleaseAssessment:
    """Return a release line."""
    counted: Any = risks
    return ReleaseAssessment(name, f"{name}.1", f"TensorRT {name}", supported, counted, (), 0)


def listed(
    finding: Finding, lines: tuple[int, ...], concern: Concern = "command", advice: str = ""
) -> UpgradeFinding:
    """Return a finding of an upgrade."""
    return UpgradeFinding(finding, concern, lines, ((advice, lines),))


def upgrade(
    path: str,
    lines: tuple[ReleaseAssessment, ...],
    *findings: UpgradeFinding,
    safest: int | None = None,
    **more: Any,
) -> Upgrade:
    """Return the upgrade of a model."""
    model: Any = None
    best = None if safest is None else SafestRelease(safest, (safest,), (), ())
    given: dict[str, Any] = {"steps": (), "conditional": (), "notes": (), **more}
    return Upgrade(path, "tensorrt", "", "", model, (), (), lines, findings, safest=best, **given)


LINES = (line("10.6", error=3), line("10.7", note=2, error=1, warning=4), line("10.8", error=0))


def test_one_row_for_each_model() -> None:
    unsupported = (*LINES, line("11.0", supported=False), line("11.1", supported=False, warning=1))
    assert list(
        rows(
            [
                upgrade("a.onnx", LINES, safest=2),
                upgrade("b.onnx", LINES[:2], safest=0),
                upgrade("c.onnx", unsupported),
                upgrade("d.onnx", unsupported[:4], safest=1),
            ]
        )
    ) == [
        ("a.onnx", "10.8", "no known risks"),
        ("b.onnx", "10.6", "1 error, 4 warnings, 2 notes"),
        ("c.onnx", "none", "1 warning; the GPU is not supported"),
        ("d.onnx", "10.7", "no known risks; the GPU is not supported"),
    ]


def test_equal_findings_of_several_models_are_one() -> None:
    first = upgrade(
        "dir/a.onnx",
        LINES,
        listed(SCALE, (2,), advice="fix a.onnx"),
        listed(CLIP, (1, 2)),
        listed(FLAG, (0,), "graph"),
        listed(GPU, (0,), "code"),
    )
    second = upgrade(
        "other/b.onnx",
        LINES,
        listed(replace(SCALE, sites=()), (2,), advice="fix b.onnx"),
        listed(CLIP, (0, 2)),
        listed(replace(SCALE, message="another"), (2,)),
        listed(SCALE, (2,), advice="another"),
    )
    found = shared([first, second], "command")
    assert [(each.item.finding.rule, each.item.lines, each.models) for each in found] == [
        ("ACC104", (0, 2), ["other/b.onnx"]),
        ("ACC104", (1, 2), ["dir/a.onnx"]),
        ("ACC102", (2,), ["dir/a.onnx", "other/b.onnx"]),
        ("ACC102", (2,), ["other/b.onnx"]),
        ("ACC102", (2,), ["other/b.onnx"]),
    ]
    assert found[2].upgrade is first
    assert [each.item.finding.rule for each in shared([first, second], "code")] == ["ACC199"]
    assert shared([], "command") == []


def test_findings_that_depend_on_unset_options() -> None:
    both = replace(FLAG, depends=("--fp16", "--gpu"))
    found = conditional_rows(
        [
            upgrade("a.onnx", LINES, conditional=(FLAG, GPU, FLAG)),
            upgrade("b.onnx", LINES, conditional=(FLAG, both)),
        ]
    )
    assert list(found) == [
        "warning[ACC101] fp16-decomposed-norm (--fp16): 2 models",
        "warning[ACC199] gpu-only (--gpu): 1 model",
        "warning[ACC101] fp16-decomposed-norm (--fp16, --gpu): 1 model",
    ]
