"""Tests of logs from public threads: failed builds give errors, successful builds give none."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.field_logs import GOALS, Answer, answer, share, truths
from tests.inprocess import printed
from tests.sampling import sample


def lint(*arguments: str) -> tuple[int, str]:
    """Run the command in this process."""
    return printed(Path.cwd(), *arguments)[:2]


@pytest.fixture(scope="module")
def answers(shared: Path) -> list[Answer]:
    folder = shared / "data" / "field-logs"
    if not (folder / "truth.jsonl").is_file():
        pytest.skip(f"no excerpts at {folder}")
    return [answer(folder, truth, lint) for truth in sample(truths(folder), one_of=5)]


@pytest.mark.parametrize("question", GOALS)
def test_what_is_found(answers: list[Answer], question: str) -> None:
    right, asked = share(answers, question)
    assert right >= GOALS[question] * asked


def test_an_excerpt_is_scored_by_what_it_gets(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("Begin\n[E] [TRT] Target GPU SM 60 is not supported by this release.\n")
    truth = {"file": "a.log", "status": "failed", "decisive": [2], "must_name": ["SM 60"]}
    found = answer(tmp_path, truth, lint)
    assert (found.loud, found.quiet, found.cited, found.named, found.exit) == (True, None, True, True, 1)
    silent = answer(tmp_path, {**truth, "decisive": [1], "must_name": ["SM 61"], "status": "benign"}, lint)
    assert (silent.loud, silent.quiet, silent.cited, silent.named) == (None, False, None, None)
    missed = answer(tmp_path, {**truth, "decisive": [1], "must_name": ["SM 61"]}, lint)
    assert (missed.cited, missed.named) == (False, False)
