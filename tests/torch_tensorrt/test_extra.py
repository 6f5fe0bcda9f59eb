"""Tests that the extra for dry builds of programs installs the documented packages."""

from __future__ import annotations

import sys

from packaging.requirements import Requirement

from tests.conftest import REPOSITORY

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def test_the_extra_has_the_packages_of_the_page() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    own = {Requirement(each).name for each in [*extras["torch-tensorrt"], *project["dependencies"]]}
    page = (REPOSITORY / "docs" / "how-to" / "torch-tensorrt.md").read_text(encoding="utf-8")
    line = next(each for each in page.splitlines() if "pip install numpy" in each)
    assert {*line.split()[2:], "torch"} <= own
    others = {Requirement(each).name for name in ("dev", "test") for each in extras[name]}
    assert not others & {"torch", "torch-tensorrt", "dllist"}
