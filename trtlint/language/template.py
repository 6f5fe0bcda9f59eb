"""Texts of a rule that contain ``{expression}``, such as its message."""

from __future__ import annotations

import re
from collections.abc import Mapping

from trtlint.files.problem import shorten
from trtlint.language.expression import Expression, ExpressionError, Scope, compile_expression
from trtlint.model.graph import Node, Value

_BRACES = {"{{": "{", "}}": "}"}
_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


class Template:
    """A text that contains ``{expression}``. ``{{`` and ``}}`` stand for literal braces.

    Args:
        text: the text.
        scope: the names that the expressions may use; None if the expressions were already checked. With a
            scope, the expressions are checked and compiled immediately.

    Raises:
        ExpressionError: an expression is wrong, or a brace is unmatched.
    """

    def __init__(self, text: str, scope: Scope | None = None) -> None:
        pieces: list[str | Expression] = []
        end = 0
        for match in _PIECE.finditer(text):
            pieces.append(text[end : match.start()])
            end = match.end()
            found = match[0]
            if found in _BRACES:
                pieces.append(_BRACES[found])
            elif match[1] is None:
                raise ExpressionError(f"unmatched brace {found!r}", match.start() + 1)
            else:
                written = match[1].strip()
                before = match.start(1) + len(match[1]) - len(match[1].lstrip())
                try:
                    made = Expression(written) if scope is None else compile_expression(written, scope)
                except ExpressionError as error:
                    raise ExpressionError(f"in {found}: {error.message}", before + error.column) from None
                pieces.append(made)
        pieces.append(text[end:])
        self.pieces = tuple(piece for piece in pieces if piece != "")

    def fill(self, names: Mapping[str, object]) -> str:
        """Replace each expression by its value.  Long values are shortened."""
        return "".join(p if isinstance(p, str) else shorten(in_words(p.value(names))) for p in self.pieces)


_LISTED = 12


def in_words(value: object) -> str:
    """Format a value for a message.

    - Numbers have up to four digits.
    - A tensor is shown as its type, and an unknown value as ``?``.
    - A list is shown with its first twelve elements.
    """
    match value:
        case None:
            return "?"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.4g}"
        case Node():
            return value.path
        case Value():
            return value.type_text or value.name
        case tuple() | list() | frozenset():
            items = sorted(value, key=str) if isinstance(value, frozenset) else value
            more = f" and {len(items) - _LISTED} more" if len(items) > _LISTED else ""
            return ", ".join(map(in_words, items[:_LISTED])) + more
        case _:
            return str(value)
