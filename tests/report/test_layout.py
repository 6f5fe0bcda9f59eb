"""Tests of shortened names and wrapped lines."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from rich.text import Text

from trtlint.report.layout import hang, shorten


def hung(first: str, body: str, width: int | None, rest: str | None = None) -> list[str]:
    """Return the lines of a wrapped text."""
    further = None if rest is None else Text(rest)
    return [line.plain for line in hang(Text(first), Text(body), width, rest=further)]


LONG = "/model/encoder/layers.0/attention/self/MatMul"


@pytest.mark.parametrize(
    ("width", "short"),
    [
        (None, LONG),
        (45, LONG),
        (44, "/model/…/layers.0/attention/self/MatMul"),
        (39, "/model/…/layers.0/attention/self/MatMul"),
        (38, "/model/…/attention/self/MatMul"),
        (30, "/model/…/attention/self/MatMul"),
        (29, "/model/…/self/MatMul"),
        (20, "/model/…/self/MatMul"),
        (19, "/model/…/MatMul"),
        (15, "/model/…/MatMul"),
        (14, "…/self/MatMul"),
        (13, "…/self/MatMul"),
        (12, "…/MatMul"),
        (8, "…/MatMul"),
        (7, "MatMul"),
        (6, "MatMul"),
        (5, "Ma…ul"),
        (4, "Ma…l"),
        (3, "M…l"),
        (2, "M…l"),
    ],
)
def test_a_name_is_shortened_in_the_middle(width: int | None, short: str) -> None:
    assert shorten([LONG], width) == [short]


@pytest.mark.parametrize(
    ("names", "width", "short"),
    [
        (["model.encoder.layer.Op"], 12, ["model.…er.Op"]),
        (["model/encoder/layer/Op"], 12, ["model/…/Op"]),
        (["/a/b/c/d/MatMul", "/a/b/c/d/Add"], 12, ["/a/…/MatMul", "/a/…/Add"]),
        (["/a/b/MatMul", "/b"], 11, ["/a/b/MatMul", "/b"]),
        (["/測試測試/測試測試/Op"], 14, ["/測試測試/…/Op"]),
        (["Softmax" * 4], 11, ["Softm…ftmax"]),
        (["測試測試測試測試"], 9, ["測試…測試"]),
        ([], 5, []),
    ],
)
def test_names_are_shortened(names: Sequence[str], width: int, short: Sequence[str]) -> None:
    assert shorten(names, width) == short


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (None, ["= a: one two three four five six seven"]),
        (38, ["= a: one two three four five six seven"]),
        (37, ["= a: one two three four five six", "     seven"]),
        (25, ["= a: one two three four", "     five six seven"]),
        # The text needs 20 cells beside its mark, or it is below the mark.
        (24, ["= a: ", "     one two three four", "     five six seven"]),
    ],
)
def test_a_text_is_wrapped_below_itself(width: int | None, lines: list[str]) -> None:
    assert hung("= a: ", "one two three four five six seven", width) == lines


def test_further_lines_may_have_a_mark_of_their_own() -> None:
    words = "one two three four five six seven"
    assert hung("  + ", words, 30, "  | ") == ["  + one two three four five", "  | six seven"]
    # Below a long mark, lines are indented by 8 cells of the mark for further lines.
    assert hung(12 * "+", words, 30, 12 * "|") == [
        12 * "+",
        8 * "|" + "one two three four",
        8 * "|" + "five six seven",
    ]
    assert hung(4 * "+", words, 23, 4 * "|") == [
        4 * "+",
        4 * "|" + "one two three four",
        4 * "|" + "five six seven",
    ]
    assert hung(12 * "+", words, 10)[1:] == ["        one two three four", "        five six seven"]


def test_a_word_is_never_broken() -> None:
    url = "https://example.org/" + "x" * 40
    assert hung("= ", f"at {url} or there, see below", 24) == [
        "= at",
        f"  {url}",
        "  or there, see below",
    ]
    assert hung("= ", url, 24) == [f"= {url}"]
    assert hung("= ", "a  b " + "c" * 19, 24) == ["= a  b", "  " + "c" * 19]
    assert hung("= ", "測" * 5 + " " + "試" * 5 + " x", 23) == ["= " + "測" * 5 + " " + "試" * 5, "  x"]
    assert hung("= ", "", 10) == ["= "]
