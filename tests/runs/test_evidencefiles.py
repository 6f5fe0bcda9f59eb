"""Tests of the table of evidence that the user gives as files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from trtlint import arguments
from trtlint.runs.evidencefiles import EVIDENCE_FILES, EvidenceKeywords, FileReader

MODEL = REPOSITORY / "examples" / "nafnet.onnx"
EVIDENCE = """
from pathlib import Path
from msgspec import Struct
from trtlint.engine.evidence.base import Evidence, Verdict
from trtlint.errors import SettingError
from trtlint.runs.evidencefiles import FileReader

class TimesEvidence(Evidence, Struct, frozen=True):
    file: str
    kind = "layer_times"
    grounds = frozenset()
    files = property(lambda self: (self.file,))
    data = property(lambda self: None)
    summary = property(lambda self: None)

    def judge(self, question):
        return Verdict("confirmed", (f"{self.file}: slow",))

class Times(FileReader):
    def __init__(self, given):
        super().__init__(given)
        for file in given:
            if not Path(file).exists():
                raise SettingError(f"{file}: no such file")

    def evidence_for(self, model):
        return TimesEvidence(self._given[-1])
"""
BEGIN = """
import sys
sys.path.insert(0, ".")
from trtlint.runs import evidencefiles as table
table.EVIDENCE_FILES += (
    table.EvidenceFile("layer_times", "layertimes:Times", "Use these times.", "Fix with these times."),
)
table.EvidenceKeywords.__annotations__["layer_times"] = str
"""
COMMAND = """
from trtlint.cli import run
sys.exit(run(sys.argv[1:]))
"""
API = """
import trtlint
report = trtlint.lint(sys.argv[1], trt="10.0", fp16=True, layer_times="t.csv")
print([finding.standing for model in report.models for finding in model.findings][0])
try:
    trtlint.lint(sys.argv[1], layer_times=3)
except trtlint.ArgumentError as error:
    print(error)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "layertimes.py").write_text(EVIDENCE)
    (tmp_path / "t.csv").touch()
    return tmp_path


def ran(folder: Path, program: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a program with another kind of evidence in the table."""
    command = [sys.executable, "-c", BEGIN + program, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_every_kind_has_a_keyword_and_a_reader() -> None:
    assert {each.name for each in EVIDENCE_FILES} == set(EvidenceKeywords.__annotations__)
    for each in EVIDENCE_FILES:
        assert issubclass(each.load(), FileReader)
        assert each.name in arguments.ARGUMENTS


def test_a_row_makes_an_option(folder: Path) -> None:
    options = (str(MODEL), "--trt", "10.0", "--fp16", "--no-cache", "--format", "json")
    found = ran(folder, COMMAND, *options, "--layer-times", "t.csv")
    first = json.loads(found.stdout)["models"][0]["findings"][0]
    assert first["standing"] == "confirmed"
    missing = ran(folder, COMMAND, *options, "--layer-times", "u.csv")
    assert (missing.returncode, missing.stderr) == (2, "trtlint: u.csv: no such file\n")


def test_the_option_is_in_the_help(folder: Path) -> None:
    for command, words in (("lint", "Use these times."), ("fix", "Fix with these times.")):
        shown = ran(folder, COMMAND, command, "--help").stdout
        assert "--layer-times FILE" in shown
        assert words in shown


def test_a_row_makes_a_keyword(folder: Path) -> None:
    found = ran(folder, API, str(MODEL))
    assert found.stdout.splitlines() == ["confirmed", "layer_times=3: expected a path"], found.stderr
