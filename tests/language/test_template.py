"""Tests of texts with expressions in braces: results, and positions of errors."""

# ruff: noqa: E501 - a graph, a message or a case in one line is read at once

from __future__ import annotations

from typing import Any

import pytest

from tests.graphs import model_of
from trtlint.language.expression import ExpressionError
from trtlint.language.template import _LISTED, Template, in_words

SCOPE = {"heads": int | None, "name": str, "sizes": tuple[int, ...]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ""),
        ("plain", "plain"),
        ("{heads}", "8"),
        ("{ heads } of {name}.", "8 of n."),
        ("{{heads}}", "{heads}"),
        ("{{{heads}}}", "{8}"),
        ("a }} b {{ c", "a } b { c"),
        ("{sizes}", "1, 2"),
        ("{heads + 1}", "9"),
        ("{sizes[7]}", "?"),
    ],
)
def test_a_text_with_values(text: str, words: str) -> None:
    names = {"heads": 8, "name": "n", "sizes": (1, 2)}
    assert Template(text).fill(names) == Template(text, SCOPE).fill(names) == words


def test_pieces_of_a_text() -> None:
    assert [
        piece if isinstance(piece, str) else piece.text for piece in Template("a{ heads }{{b").pieces
    ] == [
        "a",
        "heads",
        "{",
        "b",
    ]
    assert Template("{nothing}").pieces  # without a scope, names are checked elsewhere


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("}", "unmatched brace '}'", 1),
        ("ab {", "unmatched brace '{'", 4),
        ("{a {heads}", "unmatched brace '{'", 1),
        ("{nothing}", "in {nothing}: unknown name 'nothing'", 2),
        ("heads: {heads ==}", "in {heads ==}: invalid syntax", 16),
        ("{  nothing }", "in {  nothing }: unknown name 'nothing'", 4),
        ("{}", "in {}: the expression is empty", 2),
    ],
)
def test_mistakes_have_a_column(text: str, message: str, column: int) -> None:
    with pytest.raises(ExpressionError) as raised:
        Template(text, SCOPE)
    assert raised.value.message.startswith(message)
    assert raised.value.column == column


MODEL = model_of(
    '< ir_version: 8, opset_import: ["" : 17] > g (float[2] x, bool c) => (float[2] y) { [n] y = Neg (x) }'
)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "?"),
        (True, "yes"),
        (False, "no"),
        (7, "7"),
        (0.123456, "0.1235"),
        (2.0, "2"),
        ("text", "text"),
        (MODEL.graph.nodes[0], "n"),
        (MODEL.graph.inputs[0], "f32[2]"),
        ((), ""),
        ([1, None], "1, ?"),
        (frozenset({"b", "a", "c"}), "a, b, c"),
        (tuple(range(_LISTED)), ", ".join(map(str, range(_LISTED)))),
        (tuple(range(_LISTED + 2)), f"{', '.join(map(str, range(_LISTED)))} and 2 more"),
        (((1, 2), 3.5), "1, 2, 3.5"),
    ],
)
def test_values_in_words(value: Any, words: str) -> None:
    assert in_words(value) == words


def test_a_list_names_twelve_elements() -> None:
    assert in_words((0,) * 13).count("0") == 12


def test_a_tensor_without_a_type_has_its_name() -> None:
    model = model_of(
        '< ir_version: 8, opset_import: ["" : 17, "my" : 1] > g (float[2] x) => (float[2] y) { a = my.Odd (x)  y = Neg (x) }'
    )
    assert in_words(model.graph.nodes[0].output) == "a"
