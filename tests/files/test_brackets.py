"""Depth of nested brackets."""

from __future__ import annotations

import pytest

from trtlint.files.brackets import depth


@pytest.mark.parametrize(
    ("text", "deepest"),
    [("", 0), ("a", 0), ("(a)(b)", 1), ("([)]", 2), ("(((", 3), ("))((", 2), ('("(")', 2)],
)
def test_the_deepest_bracket_counts(text: str, deepest: int) -> None:
    assert depth(text, "([", ")]") == deepest
