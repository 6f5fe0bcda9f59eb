"""Tests of the counts in closing lines."""

from __future__ import annotations

from collections import Counter

import pytest

from trtlint.report.counts import by_severity, either, files_in_words, left_out, plural, settling


def test_an_option_is_named_as_a_user_gives_it() -> None:
    options = ("--trt", "--gpu", "--plugins", "--no-tf32")
    assert [either(option) for option in options] == list(options)
    assert either("--fp16") == "--fp16 or --no-fp16"


def test_the_option_that_settles_most_is_first() -> None:
    assert settling([("--gpu",), ("--trt", "--bf16"), ("--bf16",)]) == (
        "--bf16 or --no-bf16 (2), --gpu (1), --trt (1)"
    )


@pytest.mark.parametrize(
    ("number", "word", "words"),
    [
        (0, "error", "0 errors"),
        (1, "error", "1 error"),
        (2, "error", "2 errors"),
        (1000, "more node", "1,000 more nodes"),
        (1, "batch", "1 batch"),
        (2, "batch", "2 batches"),
    ],
)
def test_counts(number: int, word: str, words: str) -> None:
    assert plural(number, word) == words


@pytest.mark.parametrize(
    ("forms", "affected", "words"),
    [
        ({}, 0, "0 models"),
        ({"model": 1}, 0, "1 model"),
        ({"model": 2}, 1, "1 of 2 models"),
        ({"model": 2}, 2, "2 models"),
        ({"model": 2, "log": 1}, 0, "3 files (2 models, 1 log)"),
        ({"model": 2, "log": 1}, 2, "2 of 3 files (2 models, 1 log)"),
        ({"model": 2000, "log": 1}, 1001, "1,001 of 2,001 files (2,000 models, 1 log)"),
    ],
)
def test_files(forms: dict[str, int], affected: int, words: str) -> None:
    assert files_in_words(Counter(forms), affected) == words


@pytest.mark.parametrize(
    ("number", "lines"), [(3, []), (4, ["and 1 more finding"]), (1004, ["and 1,001 more findings"])]
)
def test_entries_that_a_list_omits(number: int, lines: list[str]) -> None:
    assert left_out(number, 3, "finding") == lines


def test_counts_by_severity() -> None:
    assert by_severity(Counter({"note": 1, "warning": 0, "error": 2})) == "2 errors, 1 note"
    assert by_severity(Counter()) == "no findings"
