"""Tests that the project's texts avoid phrases that confused readers."""

from __future__ import annotations

import re

import pytest

from tests.conftest import REPOSITORY

BANNED = (
    r"\btold\b",
    r"\bmend(s|ed|ing)?\b",
    r"nothing is said",
    r"what is said",
    r"\bsaid of\b",
    r"of which nothing",
    r"\b(leave|left) alone\b",
    r"\bsee to\b",
    r"\band no more\b",
    r"\bwhat it takes\b",
    r"\bwhatever is\b",
)
"""Regular expressions, each with a plainer wording: report, fix, unspecified, skip, accept."""
FILES = sorted(
    file
    for pattern in (
        "trtlint/**/*.py",
        "trtlint/**/*.yaml",
        "rules/**/*.md",
        "docs/**/*.md",
        "*.md",
        "pyproject.toml",
    )
    for file in REPOSITORY.glob(pattern)
    if file.name != "CHANGELOG.md"
)


def found(text: str, phrase: str) -> list[str]:
    """Return the lines of a text that contain a phrase."""
    return [line.strip() for line in text.splitlines() if re.search(phrase, line, re.IGNORECASE)]


@pytest.mark.slow
@pytest.mark.parametrize("phrase", BANNED)
def test_no_text_has_a_banned_phrase(phrase: str) -> None:
    assert FILES
    lines = {str(file): found(file.read_text(encoding="utf-8"), phrase) for file in FILES}
    assert {file: hits for file, hits in lines.items() if hits} == {}


def test_a_banned_phrase_is_found() -> None:
    assert found("The user is told so.\nThe report names it.", BANNED[0]) == ["The user is told so."]
