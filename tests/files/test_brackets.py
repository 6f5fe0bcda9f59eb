"""Tests of the depth of nested brackets."""

from __future__ import annotations

import pytest

from trtlint.files.brackets import deepest


@pytest.mark.parametrize(
    ("text", "most"),
    [("", 0), ("a", 0), ("(a)(b)", 1), ("([)]", 2), ("(((", 3), ("))((", 2), ('("(")', 2)],
)
def test_the_deepest_bracket_counts(text: str, most: int) -> None:
    assert deepest(text, "([", ")]")[0] == most


def test_the_line_of_the_deepest_bracket() -> None:
    assert deepest("(\n((a)\n(((", "(", ")") == (5, 3)
    assert deepest("", "(", ")") == (0, 1)
