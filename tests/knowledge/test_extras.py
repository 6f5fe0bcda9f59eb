"""Tests of the commands that install extras."""

from __future__ import annotations

import re
import sys
from importlib import metadata

import pytest
from packaging.requirements import Requirement

from tests.conftest import REPOSITORY
from trtlint.knowledge import extras
from trtlint.knowledge.extras import how_to_install, packages_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
USED = ("dask", "measure", "parquet", "remote", "rtx", "verify")


@pytest.mark.parametrize("extra", USED)
def test_the_command_names_the_packages_of_the_extra(extra: str) -> None:
    wanted = {Requirement(text).name.replace("_", "-") for text in PROJECT["optional-dependencies"][extra]}
    named = re.findall(r'"([\w.-]+)[^"]*"', how_to_install(extra))
    assert {name.replace("_", "-") for name in named} == wanted


def test_a_package_that_only_some_platforms_have_is_named_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    requirements = ['a>=1; (sys_platform == "win32" or sys_platform == "linux") and extra == "rtx"', "b"]
    monkeypatch.setattr(metadata, "requires", lambda _: requirements)
    assert packages_of("rtx") == ["a>=1"]
    assert how_to_install("rtx") == 'pip install "a>=1" (Linux and Windows on x86-64)'


def test_without_an_installation_the_checkout_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(metadata, "requires", missing)
    assert how_to_install("dask") == 'pip install ".[dask]" in the checkout of trtlint'


def test_plain_names_need_no_quotes() -> None:
    assert extras._quoted("tensorrt-rtx") == "tensorrt-rtx"
    assert extras._quoted("a<2,>=1") == '"a<2,>=1"'


def test_no_message_names_an_extra_of_an_index() -> None:
    files = [*(REPOSITORY / "trtlint").rglob("*.py"), *(REPOSITORY / "docs").rglob("*.md")]
    named = [f"{file}" for file in files if re.search(r"install '?trtlint\[", file.read_text("utf-8"))]
    # A requirement with a Git URL is installable.
    assert [name for name in named if not name.endswith("docs/installation.md")] == []
