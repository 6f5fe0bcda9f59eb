"""Tests of words that are both options and file names."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from trtlint.commands.group import _refuse_ambiguous


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        (["--fix"], True),
        (["a", "--fix"], True),
        (["--fix", "--"], True),
        (["--", "--fix"], False),
        (["a", "--", "--fix"], False),
        (["--other", "a", "-"], False),
        ([], False),
    ],
)
def test_a_word_that_is_also_a_file_is_refused(
    words: list[str], refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "--fix", "-"):
        (tmp_path / name).touch()
    if refused:
        with pytest.raises(click.UsageError):
            _refuse_ambiguous(words)
    else:
        _refuse_ambiguous(words)
