"""Tests of several outputs of one run, and of their destinations."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.report import handmade
from trtlint import __version__
from trtlint.engine.finding import Finding, Report
from trtlint.errors import SettingError
from trtlint.report.formats import OVERLAYS, TEXTS, Style, known
from trtlint.report.outputs import Outputs, ReportOutput, parse


@pytest.mark.parametrize(
    ("words", "format", "outputs"),
    [
        ([], None, [ReportOutput("full")]),
        ([], "json", [ReportOutput("json")]),
        (["github"], None, [ReportOutput("github")]),
        (["github:-"], None, [ReportOutput("github")]),
        (["sarif:a.sarif"], None, [ReportOutput("full"), ReportOutput("sarif", Path("a.sarif"))]),
        (["sarif:a.sarif"], "concise", [ReportOutput("concise"), ReportOutput("sarif", Path("a.sarif"))]),
        (
            ["sarif:a:b.sarif", "github"],
            None,
            [ReportOutput("sarif", Path("a:b.sarif")), ReportOutput("github")],
        ),
    ],
)
def test_parse(words: list[str], format: str | None, outputs: list[ReportOutput]) -> None:
    assert parse(words, format) == outputs


def test_quiet_writes_no_text_that_was_not_asked_for() -> None:
    assert parse(["sarif:a.sarif"], None, quiet=True) == [ReportOutput("sarif", Path("a.sarif"))]
    assert parse([], None, quiet=True) == [ReportOutput("full")]


@pytest.mark.parametrize(
    ("words", "format", "message"),
    [
        (["sarf"], None, "unknown format 'sarf'; did you mean 'sarif'?"),
        (["xyz:a"], None, "unknown format 'xyz'; the formats are full, concise"),
        (["github", "gitlab"], None, "two outputs go to standard output"),
        (["github"], "json", "two outputs go to standard output"),
        (["sarif:a", "junit:./a"], None, "two outputs go to a"),
    ],
)
def test_what_cannot_be(words: list[str], format: str | None, message: str) -> None:
    with pytest.raises(SettingError, match=r"^.*" + message.replace("?", r"\?")):
        parse(words, format)


def test_an_unknown_format_is_an_error_wherever_it_is_given() -> None:
    with pytest.raises(SettingError, match=r"^unknown format 'sarf'; did you mean 'sarif'\?$"):
        known("sarf")
    with pytest.raises(SettingError, match=r"^unknown format 'x'; the formats are full, concise"):
        parse([], "x")


def fails(finding: Finding) -> bool:
    return finding.severity == "error"


def write(
    outputs: list[ReportOutput], report: Report, *, quiet: bool = False, statistics: bool = False
) -> str:
    """Write a report and return the standard output."""
    stdout = io.StringIO()
    style = Style(files=1, rules=(), root=None, quiet=quiet, statistics=statistics)
    writers = Outputs(outputs, style, stdout)
    for model in report.models:
        writers.add([model], fails)
    writers.close(report.notes)
    return stdout.getvalue()


def test_every_format_from_one_run(tmp_path: Path) -> None:
    outputs = [ReportOutput(name, tmp_path / f"{name}.json") for name in TEXTS]
    assert write(outputs, handmade.one_model()) == ""
    for name in TEXTS:
        text = (tmp_path / f"{name}.json").read_text(encoding="utf-8")
        assert "ACC102" in text, name
        assert text == text.rstrip("\n") + "\n", name


def test_a_file_says_the_same_as_standard_output(tmp_path: Path) -> None:
    for name in TEXTS:
        text = write([ReportOutput(name)], handmade.one_model())
        write([ReportOutput(name, tmp_path / "out.json")], handmade.one_model())
        assert (tmp_path / "out.json").read_text(encoding="utf-8") == text, name


@pytest.mark.parametrize("name", sorted(OVERLAYS))
def test_an_overlay_is_for_one_model_and_a_viewer(name: str, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=f"{name} needs a file name that ends in .json$"):
        write([ReportOutput(name, tmp_path / "findings.txt")], handmade.one_model())
    style = Style(files=2, rules=(), root=None)
    with pytest.raises(SettingError, match=f"^{name} is for one model, but 2 models are given$"):
        Outputs([ReportOutput(name)], style, io.StringIO())


def test_files_are_written_at_the_end(tmp_path: Path) -> None:
    file = tmp_path / "out.sarif"
    style = Style(files=1, rules=(), root=None)
    writers = Outputs([ReportOutput("sarif", file)], style, io.StringIO())
    writers.add(handmade.one_model().models, fails)
    assert not file.exists()
    writers.close()
    assert json.loads(file.read_text(encoding="utf-8"))["version"] == "2.1.0"


@pytest.mark.parametrize("name", ["full", "concise"])
def test_quiet_is_findings_and_errors_only(name: str) -> None:
    report = Report(
        (*handmade.one_model().models, handmade.unreadable(), handmade.clean_model()), ("a note",)
    )
    loud = write([ReportOutput(name)], report)
    text = write([ReportOutput(name)], report, quiet=True)
    assert "ACC102" in text
    assert "broken.onnx" in text
    for word in ("note: ", "conditional", "clean.onnx", "could not be linted", "trtlint rule"):
        assert word not in text.replace("note[", ""), word
    assert "a note" in loud
    assert "conditional" in loud


def test_errors_are_shown_if_only_files_get_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = Report((*handmade.one_model().models, handmade.unreadable()))
    outputs = [ReportOutput("jsonl", tmp_path / "out.jsonl")]
    write(outputs, report, quiet=True)
    assert capsys.readouterr().err == "error: broken.onnx: the file ends within a field at byte 117\n"
    write([*outputs, ReportOutput("full")], report)
    assert capsys.readouterr().err == ""


def test_statistics_follow_the_findings() -> None:
    text = write([ReportOutput("concise")], handmade.one_model(), statistics=True)
    findings, _, counts = text.partition("\n\n")
    assert "error[ACC102]" in findings
    assert "sdpa-scale-on-both-operands        1       12" in counts


def test_statistics_do_not_spoil_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(write([ReportOutput("json")], handmade.one_model(), statistics=True))
    assert "sdpa-scale-on-both-operands" in capsys.readouterr().err


@pytest.mark.parametrize("name", TEXTS)
def test_what_every_format_looks_like(name: str, snapshot: SnapshotAssertion) -> None:
    text = write([ReportOutput(name)], handmade.one_model()).replace(__version__, "VERSION")
    # This test ignores the style of the page and its digest.
    text = re.sub(r"(<style>).*(</style>)|sha256-[\w+/=]+", r"\1\2", text, flags=re.DOTALL)
    assert text == snapshot
