"""Tests of the Python functions that do the same as commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

import trtlint
from tests.conftest import REPOSITORY
from trtlint.cli import run
from trtlint.facts.of_model.attention import Attention

VIT = REPOSITORY / "examples" / "vit.onnx"
TRT = {"trt": "10.7", "gpu": "L4", "fp16": True}
WORDS = ["--trt", "10.7", "--gpu", "L4", "--fp16", "--isolated", "--no-cache"]


def test_facts_of_a_kind() -> None:
    found = trtlint.find_facts(VIT, "attention")
    assert len(found) == 2
    assert all(isinstance(fact, Attention) for fact in found)
    kinds = {fact.kind for fact in trtlint.find_facts(onnx.load(VIT))}
    assert "attention" in kinds
    assert "weights" not in kinds
    assert {fact.kind for fact in trtlint.find_facts(VIT, "weights")} <= {"weights"}
    with pytest.raises(
        trtlint.ArgumentError, match="unknown kind of facts 'atention'; did you mean 'attention'"
    ):
        trtlint.find_facts(VIT, "atention")


def test_a_missed_finding_is_explained_as_by_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    node = trtlint.find_facts(VIT, "normalization")[0].node
    assert node is not None
    assert run([str(VIT), *WORDS, "--explain-miss", "ACC102", node.path]) == 0
    _, *lines = capsys.readouterr().out.splitlines()
    found = trtlint.explain_miss(VIT, "ACC102", node.path, trt="10.7", gpu="L4", fp16=True)
    assert [f"  {line}" for line in found] == lines
    with pytest.raises(trtlint.SettingError, match="no rule 'ACC999'"):
        trtlint.explain_miss(VIT, "ACC999", node.path)


@pytest.mark.parametrize("format", ["json", "sarif", "jsonl", "markdown"])
def test_a_report_is_written_as_by_the_command(format: str, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    trtlint.write_report(trtlint.lint(VIT, trt="10.7", gpu="L4", fp16=True), format, here)
    run([str(VIT), *WORDS, "--output", f"{format}:{there}"])
    if format == "sarif":  # the command lists only the selected rules
        one, other = (json.loads(file.read_text("utf-8"))["runs"][0]["results"] for file in (here, there))
        assert [each["ruleId"] for each in one] == [each["ruleId"] for each in other] == ["ACC102"]
    elif format == "jsonl":  # the command adds the revision of the model
        one, other = (json.loads(file.read_text("utf-8").splitlines()[0]) for file in (here, there))
        assert one["fingerprint"] == other["fingerprint"]
    else:
        assert here.read_text("utf-8") == there.read_text("utf-8")


def test_a_report_that_cannot_be_written(tmp_path: Path) -> None:
    report = trtlint.lint(VIT)
    with pytest.raises(trtlint.SettingError, match="unknown format 'pdf'"):
        trtlint.write_report(report, "pdf", tmp_path / "x")
    with pytest.raises(trtlint.SettingError, match="is read in this run"):
        trtlint.write_report(report, "json", VIT)


def test_a_suppression_in_a_copy(tmp_path: Path) -> None:
    out = trtlint.suppress(VIT, "ACC102", reason="measured", out=tmp_path / "copy.onnx")
    (report,) = trtlint.lint(out, trt="10.7").models
    assert [finding.rule for finding in report.suppressed] == ["ACC102"]
    with pytest.raises(trtlint.SettingError, match=r"^node: 'nothing' matches no node$"):
        trtlint.suppress(VIT, "ACC102", reason="measured", out=out, node="nothing")
    with pytest.raises(trtlint.SettingError, match=r"^expires: 'soon' is not a date such as 2027-03-31$"):
        trtlint.suppress(VIT, "ACC102", reason="measured", out=out, expires="soon")


def test_a_copy_without_weights(tmp_path: Path) -> None:
    out = trtlint.skeleton(VIT, tmp_path / "skeleton.onnx")
    assert out.stat().st_size < VIT.stat().st_size
    (report,) = trtlint.lint(out, trt="10.7").models
    assert [finding.rule for finding in report.findings] == ["ACC102"]
    with pytest.raises(trtlint.FileError):
        trtlint.skeleton(REPOSITORY / "README.md", tmp_path / "other.onnx")


def test_a_trend_of_two_scans(tmp_path: Path) -> None:
    earlier, later = tmp_path / "earlier.jsonl", tmp_path / "later.jsonl"
    trtlint.write_report(trtlint.lint(VIT, trt="10.8"), "jsonl", earlier)
    trtlint.write_report(trtlint.lint(VIT, trt="10.7"), "jsonl", later)
    assert trtlint.trend(later, later).new == ()
    assert len(trtlint.trend(later, later).still) == 1
    with pytest.raises(trtlint.FileError):
        trtlint.trend(VIT, later)
    later.write_text("\n{}\n")
    with pytest.raises(trtlint.FileError, match=r"later\.jsonl: not a row that trtlint lint .* \(line 2\)$"):
        trtlint.trend(earlier, later)


WRONG: tuple[Callable[[], object], ...] = (
    lambda: trtlint.find_facts(VIT, 3),  # type: ignore[arg-type]
    lambda: trtlint.explain_miss(VIT, "ACC102", None),  # type: ignore[arg-type]
    lambda: trtlint.suppress(VIT, 3, reason="x", out="x.onnx"),  # type: ignore[arg-type]
    lambda: trtlint.suppress(VIT, "ACC102", reason=None, out="x.onnx"),  # type: ignore[arg-type]
    lambda: trtlint.skeleton(VIT, "x.onnx", hide_names="no"),  # type: ignore[arg-type]
    lambda: trtlint.write_report(None, "json", "x"),  # type: ignore[arg-type]
)


@pytest.mark.parametrize("call", WRONG)
def test_arguments_of_a_wrong_type(call: Callable[[], object]) -> None:
    with pytest.raises(trtlint.ArgumentError):
        call()


def test_errors_name_the_file(tmp_path: Path) -> None:
    for call in (
        lambda: trtlint.find_facts(VIT, log="missing.x"),
        lambda: trtlint.find_facts("missing.x"),
        lambda: trtlint.explain_miss("missing.x", "ACC102", "n"),
        lambda: trtlint.skeleton("missing.x", tmp_path / "x.onnx"),
        lambda: trtlint.trend("missing.x", VIT),
    ):
        with pytest.raises(trtlint.FileError, match=r"^missing\.x: "):
            call()
    Path(tmp_path, "build.log").write_text("[I] TensorRT version: 10.7.0\n")
    with pytest.raises(trtlint.FileError, match=r"^missing\.x: "):
        trtlint.find_facts([], log=tmp_path / "build.log", layers="missing.x")
    with pytest.raises(trtlint.SettingError, match="save the exported program"):
        trtlint.find_facts(object(), torch_tensorrt="2.13")
    with pytest.raises(trtlint.SettingError, match="cannot write the skeleton to"):
        trtlint.skeleton(VIT, VIT)


def test_findings_of_a_baseline_are_fixed_all_the_same(tmp_path: Path) -> None:
    known = tmp_path / "known.json"
    run([str(VIT), *WORDS, "--write-baseline", str(known)])
    found = trtlint.fix(VIT, trt="10.7", gpu="L4", fp16=True, baseline=known, out=tmp_path / "fixed.onnx")
    assert "ACC102" in {applied.rule for applied in found.applied}
