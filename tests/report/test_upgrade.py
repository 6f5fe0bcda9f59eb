"""Tests of the terminal report on an upgrade, line by line."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from tests.report.handmade import CLIP, FLAG, GPU, SCALE
from tests.report.screen import stream
from tests.report.test_upgradesummary import line, listed, upgrade
from trtlint.engine.caveats import Caveat
from trtlint.engine.upgrade import CONCERNS, ReleaseAssessment, SafestRelease, Upgrade, UpgradeStep
from trtlint.files.problem import Problem
from trtlint.report.upgrade import UpgradeReport

LINES = (line("10.6", error=1), line("10.7", warning=2), line("10.8", error=2, warning=1))
COMMAND = replace(CLIP, rule="CMD1", name="old-flag", message="--fp16 is gone", severity="error")
CODE = replace(
    CLIP,
    rule="COD1",
    name="old-call",
    message="bindings are gone",
    severity="warning",
    references=("https://a.org",),
)
FIXED = replace(CLIP, fixes=("a-fix",), options=("--trt", "10.8"))
FINDINGS = (
    listed(SCALE, (0, 2), "graph", "Upgrade."),
    listed(FIXED, (1, 2), "graph", "Move it."),
    listed(FIXED, (1, 2), "graph", "Move it."),
    listed(CODE, (2,), "code", "Change it."),
    listed(COMMAND, (1,), "command", "Drop it."),
)
STEPS = (UpgradeStep("10.6", "10.7", (0,), (1, 2, 4)), UpgradeStep("10.7", "10.8", (4,), (0, 3)))
MODEL: Any = SimpleNamespace(opset=17, exporter="dynamo", float_type="f16", quantized=True, nodes=12)
PLAIN: Any = SimpleNamespace(opset=None, exporter="other", float_type=None, quantized=False, nodes=1)


def full(path: str = "a.onnx", lines: tuple[ReleaseAssessment, ...] = LINES, **more: Any) -> Upgrade:
    """Return the upgrade of a model."""
    given: dict[str, Any] = {"steps": STEPS, "conditional": (FLAG, GPU), "notes": ("one note",), **more}
    found = upgrade(path, lines, *given.pop("findings", FINDINGS), **given)
    return replace(
        found,
        model=MODEL,
        inputs=("x f32[4]", "y f32[4]", "z f32[4]", "w f32[4]"),
        outputs=("o f32[4]",),
        safest=SafestRelease(1, (1,), (0,), (0,)),
        setting="FP16",
        command="trtexec --fp16",
    )


def shown(*upgrades: Upgrade, problem: bool = False, width: int | None = None, **options: Any) -> str:
    """Return the text of a report."""
    with stream(width) as file:
        report = UpgradeReport(file, **options)
        if problem:
            report.problem(Problem("b.onnx", "the file is empty"))
        for each in upgrades:
            report.add(each)
        report.close()
    return file.getvalue()


@pytest.mark.parametrize("width", [None, 70, 130])
def test_one_model(width: int | None, snapshot: SnapshotAssertion) -> None:
    assert shown(full(), width=width) == snapshot


@pytest.mark.parametrize(
    ("name", "width", "table"),
    [
        ("short", 99, False),
        ("short", 100, True),
        # The first column takes 14 cells, and two columns for names of 39 characters take 88.
        ("n" * 39, 101, False),
        ("n" * 39, 102, True),
    ],
)
def test_steps_are_a_table_if_no_name_breaks(name: str, width: int, table: bool) -> None:
    items = (listed(replace(CLIP, name=name), (1,), "graph"), listed(replace(COMMAND, name=name), (1,)))
    steps = (UpgradeStep("10.6", "10.7", (), (0, 1)), UpgradeStep("10.7", "10.8", (), ()))
    text = shown(replace(full(findings=items, steps=steps), safest=None), width=width)
    assert (" Step " in text, "Build command\n" in text) == (table, not table)
    assert f"  {name}" in text if table else f"+ note ACC104 {name}" in text
    assert "no change within 10.7 to 10.8" in text


def test_a_model_with_little_to_say() -> None:
    bare = upgrade("a.onnx", LINES[1:2])
    assert shown(replace(bare, model=PLAIN)).splitlines() == [
        "a.onnx: TensorRT 10.7 to 10.7",
        "  model: no opset, other, no floats, 1 node",
        "  inputs: none",
        "  outputs: none",
        "  safest version: none: no version in the range supports this GPU",
        "",
        "No known changes between these versions.",
    ]


def test_conditional_findings(snapshot: SnapshotAssertion) -> None:
    caveat = Caveat("unsearched", "the search for ACC1 did not finish", "warning")
    few = replace(full(findings=(), steps=(), caveats=(caveat,)), safest=SafestRelease(1, (1,), (), ()))
    assert shown(few, few, show_conditional=True, problem=True) == snapshot
    assert "Depends on unset options" not in shown(replace(few, conditional=()), show_conditional=True)


def test_a_quiet_report(snapshot: SnapshotAssertion) -> None:
    assert shown(full(), full("b.onnx"), quiet=True) == snapshot


REFUSING = (replace(LINES[0], refused=3), LINES[1], replace(LINES[2], refused=12, found=(0, 3)))


@pytest.mark.parametrize("conditional", [False, True])
def test_several_models(conditional: bool, snapshot: SnapshotAssertion) -> None:
    caveat = Caveat("unsearched", "the search for ACC1 did not finish", "warning")
    models = [
        full("a.onnx", caveats=(caveat,)),
        full("long/name/b.onnx", REFUSING),
        full("c.onnx", findings=(*FINDINGS[:3], listed(CODE, (1,), "code", "Change it."))),
    ]
    assert shown(*models, several=True, show_conditional=conditional, width=100) == snapshot


def test_several_models_quietly(snapshot: SnapshotAssertion) -> None:
    assert shown(full(), full("b.onnx", REFUSING), several=True, quiet=True) == snapshot


def test_one_model_of_several() -> None:
    assert shown(full(), several=True) == shown(full())
    assert shown(full("a.onnx", REFUSING), several=True) == shown(full("a.onnx", REFUSING))


def test_no_models() -> None:
    assert shown() == shown(several=True) == ""
    assert shown(problem=True) == "error: b.onnx: the file is empty\n"


def test_tasks_have_the_order_of_versions() -> None:
    """Findings about the graph keep their order."""
    findings = [
        listed(replace(CLIP, message=f"{concern} {at}"), lines, concern)
        for concern in CONCERNS
        for at, lines in enumerate(((2,), (0, 2), (1,), (0,)))
    ]
    text = shown(full(findings=findings, steps=(), conditional=()))
    found = re.findall(r"(?:graph|command|code) \d", text)
    order = {"graph": (0, 1, 2, 3), "command": (1, 3, 2, 0), "code": (1, 3, 2, 0)}
    assert found == [f"{concern} {at}" for concern, numbers in order.items() for at in numbers]
