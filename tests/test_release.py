"""Tests of releases: notes for the tag, oldest versions, and file formats that GitHub reads."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts.oldest import constraints, oldest
from scripts.release_notes import CHANGELOG, NotesError, notes
from tests.conftest import REPOSITORY

CHANGES = """# Changes

## [Unreleased]

## [1.2.3] - 2026-12-01

### Added

- This.

## [1.2.2] - 2026-11-01

- That.
"""


def test_notes_of_a_release() -> None:
    assert notes("v1.2.3", "1.2.3", CHANGES) == "### Added\n\n- This."
    assert notes("v1.2.2", "1.2.2", CHANGES) == "- That."


@pytest.mark.parametrize(
    ("tag", "version", "changes", "says"),
    [
        ("v1.2.4", "1.2.3", CHANGES, "the tag v1.2.4 is not v1.2.3"),
        ("v1.2.4", "1.2.4", CHANGES, "no section"),
        ("v1.0.0", "1.0.0", "## [1.0.0] - 2026-12-01\n\n## [0.9.0] - 2026-11-01\n- That.", "is empty"),
    ],
)
def test_a_tag_that_does_not_fit(tag: str, version: str, changes: str, says: str) -> None:
    with pytest.raises(NotesError, match=re.escape(says)):
        notes(tag, version, changes)


def test_the_change_log_has_what_is_not_released() -> None:
    assert "\n## [Unreleased]\n" in CHANGELOG.read_text("utf-8")


def test_oldest_versions() -> None:
    assert list(oldest(["a>=1.2", "b==3; python_version < '3.11'", "c", "d>=1,<2"])) == [
        "a==1.2",
        'b==3; python_version < "3.11"',
        "d==1",
    ]
    project = {"project": {"dependencies": ["a>=1"], "optional-dependencies": {"x": ["a>=1", "b>=2"]}}}
    assert constraints(project, ["x"]) == ["a==1", "b==2"]


FORMS = sorted((REPOSITORY / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


@pytest.mark.parametrize("form", [form for form in FORMS if form.name != "config.yml"], ids=lambda f: f.stem)
def test_a_form_asks_for_facts_and_a_skeleton(form: Path) -> None:
    document: dict[str, Any] = yaml.safe_load(form.read_text("utf-8"))
    assert {"name", "description", "body"} <= document.keys()
    fields = {field["id"]: field for field in document["body"]}
    assert "trtlint facts" in fields["facts"]["attributes"]["description"]
    assert "trtlint skeleton" in fields["model"]["attributes"]["description"]


@pytest.mark.parametrize(
    "file",
    [
        "CITATION.cff",
        ".github/dependabot.yml",
        *(f".github/workflows/{path.name}" for path in (REPOSITORY / ".github/workflows").glob("*")),
    ],
)
def test_a_file_is_yaml(file: str) -> None:
    assert isinstance(yaml.safe_load((REPOSITORY / file).read_text("utf-8")), dict)


def test_the_container_is_no_root() -> None:
    steps = (REPOSITORY / "Containerfile").read_text("utf-8").splitlines()
    users = [line for line in steps if line.startswith("USER ")]
    assert users == ["USER 10001"]
    assert steps.index(users[0]) < next(i for i, line in enumerate(steps) if line.startswith("ENTRYPOINT"))
