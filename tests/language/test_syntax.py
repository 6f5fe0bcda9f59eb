"""Tests of expression syntax: limits, and columns of errors."""

from __future__ import annotations

import ast

import pytest

from trtlint.language import syntax
from trtlint.language.syntax import ExpressionError, column, parse


def mistake(text: str) -> tuple[str, int]:
    with pytest.raises(ExpressionError) as raised:
        parse(text)
    return raised.value.message, raised.value.column


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ("the expression is empty", 1)),
        (" \n ", ("the expression is empty", 1)),
        ("a && b", ("write 'and' for '&&'", 3)),
        ("a || b", ("write 'or' for '||'", 3)),
        ("!a", ("write 'not' for '!'", 1)),
        ("a != !b", ("write 'not' for '!'", 6)),
        ("a &&\nb || c", ("write 'and' for '&&'", 3)),
        ("a +", ("invalid syntax", 3)),
        ("a b", ("invalid syntax. Perhaps you forgot a comma?", 1)),
        ("a\n= 1", ("invalid syntax. Maybe you meant '==' or ':=' instead of '='?", 1)),
        ("(a", ("'(' was never closed", 1)),
        ("a)", ("unmatched ')'", 2)),
        ("a $ b", ("invalid syntax", 3)),
        ("a +\n\n", ("invalid syntax", 5)),
        ("'\ud800'", ("cannot parse the expression", 1)),
    ],
)
def test_mistakes_have_a_column(text: str, expected: tuple[str, int]) -> None:
    assert mistake(text) == expected


def test_the_length_is_limited() -> None:
    """The limit is part of the language, because users share rule files."""
    longest = "1" + " " * (2_000 - 1)
    assert ast.unparse(parse(longest)) == "1"
    assert mistake(longest + " ") == ("the expression is longer than 2000 characters", 2_000)


def test_the_number_of_operations_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syntax, "MAX_NODES", 3)
    assert isinstance(parse("-1"), ast.UnaryOp)
    assert mistake("1 + 1") == ("the expression has more than 3 parts", 1)


def test_the_depth_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syntax, "MAX_DEPTH", 3)
    assert ast.unparse(parse("1 + (2 + 3)")) == "1 + (2 + 3)"
    assert mistake("1 + (2 + (3 + 4))") == ("the expression is nested deeper than 3 levels", 11)


def test_form_feeds_and_carriage_returns_are_blanks() -> None:
    assert ast.unparse(parse("a\r+\f b")) == "a + b"


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("abc + d", "abc", 1),
        ("abc + d", "d", 7),
        ("é + d", "d", 5),
        ("a +\nb +\n  d", "b", 5),
        ("a +\nb +\n  d", "d", 11),
    ],
)
def test_the_column_of_a_name(text: str, name: str, expected: int) -> None:
    (node,) = (node for node in ast.walk(parse(text)) if isinstance(node, ast.Name) and node.id == name)
    assert column(text, node) == expected


def test_the_column_of_what_has_no_place() -> None:
    assert column("a + b", ast.Load()) == 1
