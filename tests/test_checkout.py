"""Tests that tools skip models, environments and other projects in the checkout."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from tests.conftest import REPOSITORY

PROJECT: dict[str, Any] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
ALWAYS = {".gitignore", "LICENSE", "README.md", "pyproject.toml"}
"""Files that Hatchling puts into every source distribution."""


@pytest.fixture(scope="module")
def tracked() -> list[str]:
    """Return the files of the project, relative to the checkout."""
    if shutil.which("git") is None or not (REPOSITORY / ".git").exists():
        pytest.skip("this is no checkout")
    command = ["git", "-C", str(REPOSITORY), "ls-files", "-z"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [file for file in listed.split("\0") if file]


def commands(goal: str) -> list[list[str]]:
    """Return the commands of a Makefile target without running them."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    command = ["make", "--dry-run", "--always-make", goal]
    printed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    return [shlex.split(line) for line in printed.splitlines()]


@pytest.mark.parametrize("goal", ["test", "check"])
def test_ruff_reads_each_folder_with_code_and_no_other(goal: str, tracked: list[str]) -> None:
    code = {file.partition("/")[0] for file in tracked if file.endswith(".py")}
    found = [words for words in commands(goal) if words[0].endswith("/ruff")]
    assert [words[1] for words in found] == ["check", "format"]
    for words in found:
        assert {word for word in words[2:] if not word.startswith("-")} == code


def test_mypy_and_pytest_read_folders_of_their_own() -> None:
    (types,) = (words for words in commands("test") if any(word.endswith("/mypy") for word in words))
    assert types[-1].endswith("/mypy")
    assert set(PROJECT["tool"]["mypy"]["files"]) == {"trtlint", "tests", "benchmarks", "scripts", "fuzzing"}
    assert PROJECT["tool"]["pytest"]["ini_options"]["testpaths"] == ["tests"]


def test_every_test_is_slow_or_runs_with_make_test() -> None:
    found = [
        words[1:] for goal in ("test", "slow") for words in commands(goal) if words[0].endswith("/pytest")
    ]
    assert found == [["-n", "auto", "--dist", "worksteal", "-m", chosen] for chosen in ("not slow", "slow")]


def test_a_source_distribution_holds_the_project_and_nothing_else(tracked: list[str]) -> None:
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"]
    assert {Path(file).parts[0] for file in tracked} == {*included, *ALWAYS}
