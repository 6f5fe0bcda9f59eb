"""Tests of source lines: a real dynamo export in the repository of its code, as in CI."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY
from tests.inprocess import printed

EXAMPLE = REPOSITORY / "examples" / "attention"
CODE = "F.scaled_dot_product_attention("
SELECT = ("--trt", "10.7", "--select", "ACC102", "--isolated")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a repository with a remote, whose code is not at the exporter's path."""
    root = tmp_path / "project"
    (root / "attention").mkdir(parents=True)
    (root / "models").mkdir()
    shutil.copy(EXAMPLE / "model.py", root / "attention" / "model.py")
    shutil.copy(EXAMPLE / "attention.onnx", root / "models")
    git(root, "init", "--quiet", "--initial-branch", "main")
    git(root, "remote", "add", "origin", "https://user:s3cret@example.org/team/project.git")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "Add the model")
    return root


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    return subprocess.run([*command, *arguments], check=True, capture_output=True, text=True).stdout.strip()


def lint(folder: Path, *arguments: str, code: int = 1) -> str:
    """Run the command in a folder and return its output."""
    found = printed(folder, *arguments, *SELECT)
    assert found.code == code, found.err
    return found.out


def lint_anew(folder: Path, *arguments: str) -> str:
    """Run the command in a new process, which has other string hashes."""
    done = subprocess.run(
        [sys.executable, "-m", "trtlint", *arguments, *SELECT, "--no-cache"],
        cwd=folder,
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(REPOSITORY), "PYTHONUTF8": "1"},
        check=False,
    )
    assert done.returncode == 1, done.stderr
    return done.stdout


def right_line(file: Path) -> int:
    """Return the line of the attention in a file."""
    (line,) = (i for i, text in enumerate(file.read_text(encoding="utf-8").splitlines(), 1) if CODE in text)
    return line


def sarif_place(document: str) -> tuple[str, int]:
    (result,) = json.loads(document)["runs"][0]["results"]
    location: dict[str, Any] = result["locations"][0]["physicalLocation"]
    return location["artifactLocation"]["uri"], location["region"]["startLine"]


def test_text_names_the_line(project: Path) -> None:
    text = lint(project, "models")
    assert "error[ACC102]" in text
    assert (
        f"exported from attention/model.py:{right_line(project / 'attention' / 'model.py')} in forward"
        in text
    )
    assert "dynamo=True" not in text


def test_sarif_and_github_name_the_line(project: Path) -> None:
    line = right_line(project / "attention" / "model.py")
    out = lint(project, "models", "--output", "github", "--output", "sarif:out.sarif")
    (annotation,) = out.splitlines()
    assert annotation.startswith(f"::error file=attention/model.py,line={line},title=ACC102 ")
    document = (project / "out.sarif").read_text(encoding="utf-8")
    assert sarif_place(document) == ("attention/model.py", line)
    run = json.loads(document)["runs"][0]
    assert run["versionControlProvenance"] == [
        {
            "repositoryUri": "https://example.org/team/project.git",
            "revisionId": git(project, "rev-parse", "HEAD"),
            "branch": "main",
            "mappedTo": {"uriBaseId": "SRCROOT"},
        }
    ]
    location = run["results"][0]["locations"][0]
    modules = {entry["fullyQualifiedName"] for entry in location["logicalLocations"]}
    assert {"blocks.0", "blocks.1"} <= modules


@pytest.mark.parametrize(
    ("format", "pattern"),
    [
        ("gitlab", r'"path": "attention/model.py",\s+"lines": {{\s+"begin": {line}\b'),
        ("rdjson", r'"path": "attention/model.py",\s+"range": {{\s+"start": {{\s+"line": {line}\b'),
        ("junit", r"attention/model.py:{line}: "),
        ("markdown", r"`attention/model.py:{line}`"),
        ("json", r'"path": "attention/model.py",\s+"line": {line}\b'),
    ],
)
def test_every_format_names_the_line(project: Path, format: str, pattern: str) -> None:
    out = lint(project, "models", "--format", format)
    assert re.search(pattern.format(line=right_line(project / "attention" / "model.py")), out)


def test_from_a_folder_below(project: Path) -> None:
    out = lint(project / "models", "attention.onnx", "--format", "github")
    assert out.startswith("::error file=attention/model.py,line=")
    assert "models/attention.onnx at blocks.0" in out


def test_code_that_moved_since_the_export(project: Path) -> None:
    file = project / "attention" / "model.py"
    before = right_line(file)
    file.write_text("# a new line\n\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    assert right_line(file) == before + 2
    assert sarif_place(lint(project, "models", "--format", "sarif")) == ("attention/model.py", before + 2)


def test_without_the_code_the_model_is_the_place(project: Path) -> None:
    (project / "attention" / "model.py").unlink()
    document = lint(project, "models", "--format", "sarif")
    assert sarif_place(document) == ("models/attention.onnx", 1)
    assert "blocks.0" in document


def test_source_root(project: Path) -> None:
    git(project, "mv", "attention/model.py", "renamed.py")
    (project / "src" / "deep" / "attention").mkdir(parents=True)
    git(project, "mv", "renamed.py", "src/deep/attention/model.py")
    assert sarif_place(lint(project, "models", "--format", "sarif"))[0] == "models/attention.onnx"
    mapped = lint(project, "models", "--format", "sarif", "--source-root", "src/deep")
    assert sarif_place(mapped)[0] == "src/deep/attention/model.py"
    lint(project, "models", "--source-root", "/", code=2)


def test_nothing_outside_the_repository_is_named(project: Path) -> None:
    formats = ("json", "sarif", "github", "gitlab", "junit", "rdjson", "markdown", "full", "concise")
    for name in formats:
        out = lint(project, "models", "--format", name)
        for word in (str(project.parent), "/home/", "site-packages", "s3cret"):
            assert word not in out, name


@pytest.mark.slow
def test_the_same_from_run_to_run(project: Path, tmp_path: Path) -> None:
    shutil.copy(project / "models" / "attention.onnx", project / "models" / "twin.onnx")
    written: list[list[str]] = []
    for run in ("first", "second"):
        files = [tmp_path / f"{run}.{name}" for name in ("sarif", "markdown", "full")]
        outputs = [word for file in files for word in ("--output", f"{file.suffix[1:]}:{file}")]
        lint_anew(project, "models", *outputs)
        written.append([file.read_text(encoding="utf-8") for file in files])
    assert all(written[0])
    assert written[0] == written[1]


def test_how_to_export_is_told_once(project: Path, tmp_path: Path) -> None:
    shutil.copy(REPOSITORY / "examples" / "unet_attention.onnx", tmp_path / "a.onnx")
    shutil.copy(tmp_path / "a.onnx", tmp_path / "b.onnx")
    assert lint(tmp_path, "a.onnx", "b.onnx").count("dynamo=True") == 1
    assert "dynamo=True" not in lint(tmp_path, "a.onnx", "--quiet")
    shutil.copy(REPOSITORY / "examples" / "nafnet.onnx", tmp_path / "clean.onnx")
    assert "dynamo=True" not in lint(tmp_path, "clean.onnx", code=0)
