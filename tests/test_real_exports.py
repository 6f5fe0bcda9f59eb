"""Tests of real exported models against the verdicts of NVIDIA's parser."""

from __future__ import annotations

import json
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.linting import lint_file
from tests.sampling import sample
from trtlint.engine.finding import ModelReport
from trtlint.engine.rulebook import load_builtin
from trtlint.target.target import Target

RELEASES = ("10.0", "10.7", "10.10")
MERGED = "optimum_whisper_decoder_model_merged"
"""Both branches of its ``If`` use the same value names."""


@pytest.fixture(scope="module")
def archive(shared: Path) -> Path:
    folder = shared / "data" / "real-exports"
    if not (folder / "models.zip").is_file():
        pytest.skip(f"no real exports at {folder}")
    return folder / "models.zip"


def linted(archive: Path, model: str, releases: tuple[str, ...], folder: Path) -> list[ModelReport]:
    with ZipFile(archive) as models:
        path = Path(models.extract(f"{model}.onnx", folder))
    return list(lint_file(path, [Target(version=release) for release in releases], load_builtin()))


def errors(report: ModelReport) -> list[str]:
    """Return the errors that predict a refusal, except those of low confidence."""
    found = (finding for finding in report.findings if finding.rule.startswith(("BLD", "PORT")))
    return [each.message for each in found if each.severity == "error" and each.confidence != "low"]


@pytest.mark.slow
def test_a_model_that_the_parser_takes_has_no_error(archive: Path, tmp_path: Path) -> None:
    lines = archive.with_name("parse.jsonl").read_text().splitlines()
    for entry in sample(list(map(json.loads, lines)), one_of=5):
        reports = linted(archive, entry["model"], RELEASES, tmp_path)
        for release, report in zip(RELEASES, reports, strict=True):
            if entry["parse"][release]:
                assert not errors(report), (entry["model"], release)


def test_a_merged_decoder_has_no_error(archive: Path, tmp_path: Path) -> None:
    for report in linted(archive, MERGED, (*RELEASES, "11.4"), tmp_path):
        assert not [finding for finding in report.findings if finding.severity == "error"]


def test_a_norm_without_an_epsilon_in_the_source_is_no_finding(archive: Path, tmp_path: Path) -> None:
    (report,) = linted(archive, "hf_clip_dyn18", ("10.10",), tmp_path)
    assert "ACC108" not in {finding.rule for finding in report.findings}
