"""Tests of the wheel in an empty environment outside the checkout."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.version import Version

from tests.conftest import REPOSITORY
from tests.dependencies import link_dependencies
from tests.pages import Session, blocks, commands
from tests.test_documentation import check_command
from trtlint import __version__
from trtlint.engine.rulebook import rule_files

RULES = sorted(file.relative_to(REPOSITORY).as_posix() for file in rule_files(REPOSITORY / "rules"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", folder, REPOSITORY],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def trtlint(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    python = folder / "bin" / "python"
    # To install pip takes as long as to install trtlint: if possible, use this environment's pip.
    elsewhere = Version(metadata.version("pip")) >= Version("22.3")
    venv.create(folder, with_pip=not elsewhere)
    (packages,) = folder.glob("lib/*/site-packages")
    (packages / "dependencies.pth").write_text(f"{link_dependencies(folder / 'dependencies')}\n")
    pip = [sys.executable, "-m", "pip", "--python", str(python)] if elsewhere else [str(python), "-m", "pip"]
    subprocess.run([*pip, "install", "--quiet", "--no-compile", str(wheel)], check=True)
    return folder / "bin" / "trtlint"


def run(command: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([command, *arguments], cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_wheel_holds_every_rule_and_data_file(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {f"trtlint/{rule}" for rule in RULES} <= set(names)
    data = {"py.typed", "knowledge/versions.yaml", "knowledge/gpus.yaml"}
    assert {f"trtlint/{name}" for name in data} <= set(names)
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/"))]


@pytest.mark.slow
def test_it_finds_every_rule_when_installed(trtlint: Path, tmp_path: Path) -> None:
    listed = run(trtlint, "rules", cwd=tmp_path)
    assert listed.returncode == 0, listed.stderr
    for rule in RULES:
        assert Path(rule).name.split("-")[0] in listed.stdout
    assert run(trtlint, "--version", cwd=tmp_path).stdout.strip().endswith(__version__)


@pytest.mark.slow
def test_it_lints_when_installed(trtlint: Path, tmp_path: Path) -> None:
    linted = run(trtlint, str(REPOSITORY / "examples" / "vit.onnx"), "--trt", "10.7", cwd=tmp_path)
    assert linted.returncode == 1
    assert "ACC102" in linted.stdout


@pytest.mark.slow
def test_examples_of_rules_hold_when_installed(trtlint: Path, tmp_path: Path) -> None:
    (rules,) = trtlint.parent.parent.glob("lib/*/site-packages/trtlint/rules")
    tested = run(trtlint, "test", *map(str, rules.rglob("ACC102-*.md")), cwd=tmp_path)
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_the_tutorial_works_when_installed(
    trtlint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session = Session(tmp_path, installed=trtlint)
    session.prepare()
    for block in blocks((REPOSITORY / "docs" / "tutorial.md").read_text(encoding="utf-8")):
        if block.title:
            session.write(block.title, block.text)
        for command in commands(block):
            check_command(command.text, command, session)
    assert session.folder != tmp_path  # into which the tutorial goes
