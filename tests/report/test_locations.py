"""Tests of the order and places of findings in machine-readable reports."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.report.handmade import CLIP, FLAG, SCALE, clean_model, site, unreadable
from trtlint.engine.finding import Finding, ModelReport, Report
from trtlint.model.source import Source
from trtlint.report.locations import Place, overview, relative


def at(finding: Finding, *lines: int | None, path: str = "net.py", found: bool = True) -> Finding:
    """Return a finding with a site on each line; None for a site without a line."""
    sites = tuple(
        replace(site(number), source=None if line is None else Source(path, line, "forward", found=found))
        for number, line in enumerate(lines)
    )
    return replace(finding, sites=sites)


def places(report: Report, *, show_conditional: bool = False) -> list[tuple[str, str, int | None, int]]:
    """Return the rule, file, line and number of sites of each spot."""
    found = overview(report, None, show_conditional=show_conditional)
    return [
        (spot.finding.rule, spot.place.path, spot.place.line, len(spot.finding.sites)) for spot in found.spots
    ]


def test_the_most_severe_come_first_then_files_and_lines() -> None:
    open_ = at(replace(FLAG, rule="ACC100"), 1)
    one = ModelReport(
        "b.onnx",
        "TensorRT 10.7",
        (at(CLIP, 9, None, 100, 9), at(SCALE, 30, 4), replace(at(SCALE, 30), rule="ACC001")),
        conditional=(open_,),
    )
    other = ModelReport("a.onnx", "TensorRT 10.7", (at(SCALE, None), at(CLIP, 2, path="a.py")))
    expected = [
        ("ACC102", "a.onnx", None, 1),
        ("ACC102", "net.py", 4, 1),
        ("ACC001", "net.py", 30, 1),
        ("ACC102", "net.py", 30, 1),
        ("ACC104", "a.py", 2, 1),
        ("ACC104", "b.onnx", None, 1),
        ("ACC104", "net.py", 9, 2),
        ("ACC104", "net.py", 100, 1),
    ]
    assert places(Report((one, other))) == expected
    assert places(Report((other, one))) == expected
    shown = places(Report((one, other)), show_conditional=True)
    assert shown == [*expected[:4], ("ACC100", "net.py", 1, 1), *expected[4:]]


def test_lines_of_the_script_itself_and_lines_that_were_not_found() -> None:
    script = ModelReport("dir/run.py", "TensorRT 10.7", (at(CLIP, 3, path="dir/run.py", found=False),))
    assert places(Report((script,))) == [("ACC104", "dir/run.py", 3, 1)]
    model = ModelReport("m.onnx", "TensorRT 10.7", (at(CLIP, 3, found=False), replace(SCALE, sites=())))
    assert places(Report((model,))) == [("ACC102", "m.onnx", None, 0), ("ACC104", "m.onnx", None, 1)]
    (spot,) = overview(Report((replace(model, findings=(at(CLIP, 3),)),)), None).spots
    assert spot.place == Place("net.py", 3, "forward")


def test_the_parts_of_an_overview() -> None:
    accepted = replace(CLIP, rule="ACC105")
    linted = ModelReport(
        "a.onnx",
        "TensorRT 10.7",
        (SCALE,),
        suppressed=(accepted, replace(accepted, rule="ACC106", depends=("--fp16",))),
        notes=("first", "second"),
    )
    later = replace(linted, target="TensorRT 10.8", notes=("second",))
    half = replace(clean_model("c.onnx"), skipped=True)
    skipped = replace(clean_model("d.onnx"), skipped=True)
    models = (linted, later, unreadable("b.onnx"), half, clean_model("c.onnx"), skipped)
    found = overview(Report(models, notes=("of the run", "of the run")), None)
    assert found.models == ("a.onnx", "b.onnx", "c.onnx", "d.onnx")
    assert found.notes == (("", "of the run"), ("a.onnx", "first"), ("a.onnx", "second"))
    assert found.skipped == {"d.onnx"}
    assert [problem.path for problem in found.problems] == ["b.onnx"]
    assert {spot.finding.rule for spot in found.suppressed} == {"ACC105"}
    assert {spot.targets for spot in found.spots} == {("TensorRT 10.7", "TensorRT 10.8")}
    assert sum(found.forms.values()) == 4


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("models/a.onnx", "work/models/a.onnx"),
        ("../a.onnx", "a.onnx"),
        ("../../a.onnx", "../../a.onnx"),
        ("/elsewhere/a.onnx", "/elsewhere/a.onnx"),
        ("https://host/a.onnx", "https://host/a.onnx"),
    ],
)
def test_paths(path: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    assert relative(path, tmp_path) == shown
    assert relative(path, None) == path
