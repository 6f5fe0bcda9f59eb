"""Tests of suggestions for misspelt words."""

from __future__ import annotations

import pytest

from trtlint.knowledge.nearest import did_you_mean, nearest

WORDS = ("fp16", "bf16", "strongly-typed", "int8")


@pytest.mark.parametrize(
    ("word", "count", "cutoff", "found"),
    [
        ("fp61", 1, 0.5, ("fp16",)),
        ("fp61", 2, 0.5, ("fp16", "bf16")),
        ("FP16", 1, 1.0, ("fp16",)),
        ("Strongly_Typed", 3, 1.0, ("strongly-typed",)),
        ("fp61", 3, 0.76, ()),
        ("fp61", 3, 0.75, ("fp16",)),
        ("zzzz", 3, 0.5, ()),
    ],
)
def test_the_most_similar_words(word: str, count: int, cutoff: float, found: tuple[str, ...]) -> None:
    assert nearest(word, WORDS, count=count, cutoff=cutoff) == found


def test_one_word_at_least_half_alike_is_the_default() -> None:
    assert nearest("abxy", ("abcd", "abce")) == ("abce",)
    assert nearest("axyz", ("abcd",)) == ()
    assert nearest("Ab_c", ("aB-C",)) == ("aB-C",)


def test_the_end_of_a_message() -> None:
    assert did_you_mean("fp61", WORDS) == "; did you mean 'fp16'?"
    assert did_you_mean("zzzz", WORDS) == ""
    assert did_you_mean("zzzz", WORDS, otherwise="; see the manual") == "; see the manual"
    assert did_you_mean("fp61", WORDS, otherwise="; see the manual") == "; did you mean 'fp16'?"
